// Incognito: switched on and off, and told. Where it is over though nobody here switched it off, that is told until the
// person chooses; until then the server refuses what is said (chat.js).

import { inChat, post } from "./api.js";
import { on } from "./bus.js";
import { at, button, fill } from "./dom.js";
import { conversation } from "./here.js";
import { careful, notice } from "./notices.js";

const ON = "Incognito: nothing that is said now is written down.";
const OVER =
  "Incognito is over: the server was started anew, or it was switched off elsewhere. What was said in it is gone. " +
  "Nothing more is sent until you choose. ";

/** Switch it. What was said in it goes with it. */
export const hide = careful(async (talk, to) => {
  const lost = !to && talk.state.lines.some((line) => line.seq < 0);
  const state = await post(inChat("/incognito", conversation()), { on: to });
  if (!to) talk.openly();
  talk.take(state);
  if (lost) notice("What was said in incognito is gone: it was never written down.");
});

/** Keep the line above the talk true. can: whether the server can do it at all. */
export function ribbon(talk, can) {
  const box = at("private");
  let told = "";
  on("state", ({ incognito }) => {
    const over = !incognito && talk.unwritten;
    const now = JSON.stringify([incognito, over, over && can()]);
    if (told === now) return; // who is about to choose has the focus there
    told = now;
    box.hidden = !incognito && !over;
    fill(box, incognito && ON, over && [OVER, choices(talk, can())]);
  });
}

const choices = (talk, can) => [
  button("Go on openly", () => (talk.openly(), talk.take(talk.state), at("say").focus()), { class: "link" }),
  can && [" · ", button("Incognito again", async () => (await hide(talk, true), at("say").focus()), { class: "link" })],
];
