// The columns beside the talk, and the face above it.

import { MemoryColumn } from "./memory.js";
import { Sessions } from "./sessions.js";

export { face } from "./faces.js";

let made = null;

/** The columns beside this talk: made once, and told what they have missed. */
export function beside(talk) {
  if (made) return made;
  made = { memory: new MemoryColumn(talk), sessions: new Sessions() };
  talk.tellAgain();
  return made;
}
