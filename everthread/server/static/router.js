// The address of the page: #/BANK, #/BANK/talk/SESSION, #/BANK/read/SESSION/SEQ.

import { emit } from "./events.js";
import { getPref, setPref } from "./prefs.js";

// top: the line that was at the top of the box when the reader left this place of the history; null at the end of a chat.
export const route = { bank: "default", view: "talk", session: "current", seq: null, top: null };

/** The conversation whose state the page shows; next to a transcript that is the current one. */
export const shownSession = () => (route.view === "talk" ? route.session : "current");

function parseHash() {
  const [bank, view, session, seq] = location.hash.replace(/^#\/?/, "").split("/").map(decodeSegment);
  return {
    bank: bank || getPref("bank") || "default",
    view: view === "read" && session ? "read" : "talk",
    session: session || "current",
    seq: Number(seq) || null,
    top: history.state?.top ?? null,
  };
}

function decodeSegment(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The hash of a place; parts that are not given have their defaults. */
export function hashOf({ bank = route.bank, view = "talk", session = "current", seq = null } = {}) {
  const parts =
    view === "talk" && session === "current" ? [bank] : [bank, view, session, ...(seq ? [String(seq)] : [])];
  return `#/${parts.map(encodeURIComponent).join("/")}`;
}

/** Go to a place, and resolve when `route` is that place. The present place is opened again, as if it were new. */
export async function navigate(place) {
  const to = hashOf(place);
  if (to === location.hash) {
    history.replaceState(null, "");
    applyHash();
    return;
  }
  const arrived = new Promise((resolve) => addEventListener("hashchange", resolve, { once: true }));
  location.hash = to;
  await arrived;
}

/** Read the place from the address and emit "bank" and "route". */
export function applyHash() {
  const before = route.bank;
  Object.assign(route, parseHash());
  setPref("bank", route.bank);
  if (before !== route.bank) emit("bank", route.bank);
  emit("route", route);
}

Object.assign(route, parseHash());
