// Where the page is, as its address tells: #/BANK, #/BANK/talk/SESSION, #/BANK/read/SESSION/SEQ.

import { tell } from "./bus.js";
import { pref, prefer } from "./prefs.js";

export const here = { bank: "default", view: "talk", session: "current", seq: null };

/** The conversation whose state the page shows: beside an earlier one that is read, the one that goes on. */
export const conversation = () => (here.view === "talk" ? here.session : "current");

function parse() {
  const [bank, view, session, seq] = location.hash.replace(/^#\/?/, "").split("/").map(unescape);
  return {
    bank: bank || pref("bank") || "default",
    view: view === "read" && session ? "read" : "talk",
    session: session || "current",
    seq: Number(seq) || null,
  };
}

function unescape(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The address of a place; what isn't given is as the page begins. */
export function address({ bank = here.bank, view = "talk", session = "current", seq = null } = {}) {
  const parts =
    view === "talk" && session === "current" ? [bank] : [bank, view, session, ...(seq ? [String(seq)] : [])];
  return `#/${parts.map(encodeURIComponent).join("/")}`;
}

/** Go there. Going to where one is already goes there anew. */
export function go(place) {
  const to = address(place);
  if (to === location.hash) arrive();
  else location.hash = to;
}

/** Take the place from the address, and tell. */
export function arrive() {
  const before = here.bank;
  Object.assign(here, parse());
  prefer("bank", here.bank);
  if (before !== here.bank) tell("bank", here.bank);
  tell("place", here);
}

Object.assign(here, parse());
