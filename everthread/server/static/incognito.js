// Incognito: turning it on and off, and the ribbon that shows it. If it has ended although this tab did not turn it
// off, the ribbon says so until the person chooses; until then the server refuses messages (chat.js).

import { chatPath, post } from "./api.js";
import { button, byId, fill } from "./dom.js";
import { on } from "./events.js";
import { showNotice, withErrors } from "./notices.js";
import { shownSession } from "./router.js";
import { t } from "./words.js";

/** Turn incognito on or off. Turning it off discards what was said in it. */
export const setIncognito = withErrors(async (chat, enabled) => {
  const lost = !enabled && chat.state.lines.some((line) => line.seq < 0);
  const change = post(chatPath("/incognito", shownSession()), { on: enabled });
  chat.incognitoChange = change.finally(() => (chat.incognitoChange = null));
  const state = await chat.incognitoChange;
  if (!enabled) chat.leaveIncognito();
  chat.setState(state);
  if (lost) showNotice(t("incognito.lost"));
});

/** Keep the ribbon above the chat up to date. available: returns whether the server offers incognito. */
export function mountRibbon(chat, available) {
  const box = byId("incognito");
  let shown = "";
  on("state", ({ incognito }) => {
    const ended = !incognito && chat.assumesIncognito;
    const now = JSON.stringify([incognito, ended, ended && available()]);
    if (shown === now) return; // redrawing would take the focus off its buttons
    shown = now;
    box.hidden = !incognito && !ended;
    fill(box, incognito && t("incognito.on"), ended && [t("incognito.ended"), " ", ribbonChoices(chat, available())]);
  });
}

const ribbonChoices = (chat, available) => [
  button(
    t("incognito.continue"),
    () => (chat.leaveIncognito(), chat.setState(chat.state), byId("message").focus()),
    { class: "link" },
  ),
  available && [
    " · ",
    button(t("incognito.again"), async () => (await setIncognito(chat, true), byId("message").focus()), {
      class: "link",
    }),
  ],
];
