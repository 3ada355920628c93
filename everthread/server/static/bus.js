// What one part of the page has to tell the others.

const target = new EventTarget();

/** Do this whenever it is told. */
export const on = (name, act) => target.addEventListener(name, (event) => act(event.detail));

/** Tell it: "state" (of the chat), "bank", "place", "context", "forgotten", "corrected", "pins", … */
export const tell = (name, detail) => target.dispatchEvent(new CustomEvent(name, { detail }));
