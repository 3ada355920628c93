// Browser storage: preferences (permanent), and drafts and incognito conversations (until the tab is closed).

const STORAGE_KEY = "everthread";
const REPLY_OPTIONS = [
  "model",
  "temperature",
  "top_p",
  "frequency_penalty",
  "presence_penalty",
  "max_tokens",
  "budget",
];
const PLACES = ["bank", "held", "known", "bankBeforeDemo", "beginning"];

function readPrefs() {
  try {
    return JSON.parse(localStorage.getItem(STORAGE_KEY) ?? "{}");
  } catch {
    return {};
  }
}

export const getPref = (name) => readPrefs()[name] ?? null;

/** Set a preference; null removes it. */
export function setPref(name, value) {
  const all = readPrefs();
  if (value === null) delete all[name];
  else all[name] = value;
  try {
    localStorage.setItem(STORAGE_KEY, JSON.stringify(all));
  } catch {
    // Storage is disabled: preferences are not saved.
  }
}

/** Remove what refers to a person's chats: places, drafts, access keys. Themes and options of replies stay. */
export function forgetPlaces() {
  for (const name of PLACES) setPref(name, null);
  sessionStorage.clear();
}

/** The options of a reply that the person has set. */
export function replyOptions() {
  const all = readPrefs();
  return Object.fromEntries(REPLY_OPTIONS.filter((name) => name in all).map((name) => [name, all[name]]));
}

export const getDraft = (place) => sessionStorage.getItem(`draft ${place}`) ?? "";

/** The conversations of a bank (as named in their addresses) that this tab assumes to be in incognito. */
export const getIncognitoSessions = (bank) => JSON.parse(sessionStorage.getItem(`unwritten ${bank}`) ?? "[]");

/** Save them, so that a reload can't turn an incognito conversation into an ordinary one unnoticed. */
export function saveIncognitoSessions(bank, sessions) {
  if (sessions.length) sessionStorage.setItem(`unwritten ${bank}`, JSON.stringify(sessions));
  else sessionStorage.removeItem(`unwritten ${bank}`);
}

/** Save an unsent text, so that a reload does not lose it. */
export function saveDraft(place, text) {
  if (text) sessionStorage.setItem(`draft ${place}`, text);
  else sessionStorage.removeItem(`draft ${place}`);
}

/** How a bank was opened in which nothing was said yet: {beside, name}, the bank beside it, and the character; or null. */
export const getOpening = (bank) => JSON.parse(sessionStorage.getItem(`opening ${bank}`));

export const saveOpening = (bank, opening) => sessionStorage.setItem(`opening ${bank}`, JSON.stringify(opening));

export const dropOpening = (bank) => sessionStorage.removeItem(`opening ${bank}`);

/** The characters of a group chat in which nothing was said yet; an empty list for any other chat. */
export const getNewGroup = (place) => JSON.parse(sessionStorage.getItem(`group ${place}`) ?? "[]");

export const saveNewGroup = (place, members) => sessionStorage.setItem(`group ${place}`, JSON.stringify(members));
