// Events between the parts of the page: "state" (of the chat), "bank", "route", "context", "forgotten", "pins", …

const target = new EventTarget();

/** Call a function with the detail of every event of this name. */
export const on = (name, act) => target.addEventListener(name, (event) => act(event.detail));

export const emit = (name, detail) => target.dispatchEvent(new CustomEvent(name, { detail }));

/** Emit "forgotten" with the seqs of all lines that a receipt of this bank names, such as all versions of a line; with
 * none if lines of other banks alone were forgotten. */
export function emitForgotten(receipt) {
  const seqs = receipt?.seqs.flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, n) => first + n));
  emit("forgotten", new Set(seqs));
}
