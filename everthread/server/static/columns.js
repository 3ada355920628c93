// The columns beside the chat, and the avatar above it. Loaded lazily.

import { MemoryColumn } from "./memory.js";
import { SessionList } from "./sessions.js";

export { avatar } from "./avatars.js";

let created = null;

/** Create the columns once, and give them the events that were emitted before they existed. */
export function createColumns(chat) {
  if (created) return created;
  created = { memory: new MemoryColumn(chat), sessions: new SessionList() };
  chat.replayEvents();
  return created;
}
