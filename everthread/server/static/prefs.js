// What this browser remembers: how the person likes the page (for good), and what is being typed (for this tab).

const NAME = "everthread";
const SAMPLING = ["model", "temperature", "top_p", "frequency_penalty", "presence_penalty", "max_tokens", "budget"];

function read() {
  try {
    return JSON.parse(localStorage.getItem(NAME) ?? "{}");
  } catch {
    return {};
  }
}

/** A preference, null where there is none. */
export const pref = (name) => read()[name] ?? null;

/** Set a preference; null takes it back. */
export function prefer(name, value) {
  const all = read();
  if (value === null) delete all[name];
  else all[name] = value;
  try {
    localStorage.setItem(NAME, JSON.stringify(all));
  } catch {
    // Without storage it holds until the page is left.
  }
}

/** How replies are to be made, as far as that was set. */
export function options() {
  const all = read();
  return Object.fromEntries(SAMPLING.filter((name) => name in all).map((name) => [name, all[name]]));
}

/** What was being typed at this place. */
export const draft = (place) => sessionStorage.getItem(`draft ${place}`) ?? "";

/** The conversations of a bank, by the names in their addresses, in which the person takes it that nothing is written. */
export const unwritten = (bank) => JSON.parse(sessionStorage.getItem(`unwritten ${bank}`) ?? "[]");

/** Keep them, so that no reload makes one of them an open one without a word. */
export function keepUnwritten(bank, sessions) {
  if (sessions.length) sessionStorage.setItem(`unwritten ${bank}`, JSON.stringify(sessions));
  else sessionStorage.removeItem(`unwritten ${bank}`);
}

/** Keep what is being typed, so that no reload loses it. */
export function keepDraft(place, text) {
  if (text) sessionStorage.setItem(`draft ${place}`, text);
  else sessionStorage.removeItem(`draft ${place}`);
}
