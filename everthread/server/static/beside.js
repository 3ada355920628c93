// All that nobody waits for who comes to say something: the columns beside the talk, an earlier conversation in its place,
// and the windows above the page.

import { dropping, importCard, isCard } from "./characters.js";
import { MemoryColumn } from "./memory.js";
import { careful } from "./notices.js";
import { Reading } from "./reading.js";
import { Sessions } from "./sessions.js";
import { take } from "./settings.js";

export { another, banks } from "./banks.js";
export { face, gallery } from "./characters.js";
export { askKey, choose, receipt } from "./dialogs.js";
export { scene } from "./editor.js";
export { settings } from "./settings.js";

let made = null;

/** The columns beside this talk, made once; they are told what they have missed. */
export function columns(talk) {
  if (made) return made;
  made = { reading: new Reading(talk), memory: new MemoryColumn(talk), sessions: new Sessions() };
  dropping(document.body, careful(takeIn));
  talk.tellAgain();
  return made;
}

/** A card or a file of conversations may be dropped anywhere. */
async function takeIn(files) {
  for (const file of files) await ((await isCard(file)) ? importCard(file) : take(file));
}
