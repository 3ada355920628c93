// Notices: one calm line on what happened and what to do about it, above the message box and in an open dialog.

import { get } from "./api.js";
import { byId, fill, h, iconButton } from "./dom.js";
import { emit, on } from "./events.js";
import { t } from "./words.js";

const NOTICE_MS = 8_000;
const RETRY_DELAY_MS = 3_000; // between two checks whether the server is back
const ANNOUNCEMENT_MS = 5_000; // enough for a screen reader to pick up the text

let hideTimer = 0;
let announceTimer = 0;
let showsUnreachable = false;
let polling = false;

on("view", placeNotices);
on("reconnected", () => showsUnreachable && clearNotice());
on("forgotten", () => byId("announcer").replaceChildren());

/** Show a notice. It disappears by itself unless it is lasting. title: what a pointer shows in addition. */
export function showNotice(text, { lasting = false, title = null } = {}) {
  clearTimeout(hideTimer);
  showsUnreachable = false;
  showInDialog(text, "status");
  placeNotices();
  const dismiss = iconButton("close", t("dialog.dismiss"), clearNotice);
  fill(byId("notices"), h("div", {}, h("span", { dir: "auto", title }, text), dismiss));
  if (!lasting) hideTimer = setTimeout(clearNotice, NOTICE_MS);
}

export function clearNotice() {
  clearTimeout(hideTimer);
  byId("notices").replaceChildren();
}

/** Where a narrow window shows another column than the chat, put the notices below that one. */
function placeNotices() {
  const next = byId("chat").checkVisibility() ? byId("composer") : byId("views");
  if (byId("notices").nextElementSibling !== next) next.before(byId("notices"));
}

/** Show a text in the topmost dialog, which covers the page. Returns whether one is open. */
function showInDialog(text, role) {
  const box = [...document.querySelectorAll("dialog[open] > .dialog-notice")].at(-1);
  if (!box) return false;
  box.setAttribute("role", role);
  box.hidden = false;
  box.textContent = text;
  box.scrollIntoView({ block: "nearest" });
  return true;
}

/** Whether the server, or what it needs, can't be reached for now, so that `reconnected` will follow. */
export const isWaiting = () => polling;

/** Show an error. If the server can't be reached, or nothing can be loaded from it yet, check until it answers. */
export function showError(error) {
  if (error.name === "AbortError") return;
  if (!showInDialog(error.message, "alert")) showNotice(error.message, { lasting: true, title: error.detail });
  showsUnreachable = error.kind === "unreachable" || (error.status === 503 && document.documentElement.dataset.ready === undefined);
  if (showsUnreachable) waitForServer();
}

async function waitForServer() {
  if (polling) return;
  polling = true;
  do await new Promise((resolve) => setTimeout(resolve, RETRY_DELAY_MS));
  while (!(await isReachable()));
  polling = false;
  emit("reconnected");
}

async function isReachable() {
  try {
    return Boolean(await get("/about"));
  } catch (error) {
    return error.kind !== "unreachable" && error.status < 500;
  }
}

/** Wrap a listener so that its errors are shown. It returns undefined then. */
export const withErrors =
  (act) =>
  async (...args) => {
    try {
      return await act(...args);
    } catch (error) {
      showError(error);
      return undefined;
    }
  };

/** Have methods of an object show their errors. */
export function withErrorsOf(object, ...names) {
  for (const name of names) object[name] = withErrors(object[name].bind(object));
}

/** Have a screen reader read a text. It is removed afterwards, since it may be forgotten later. */
export function announce(text) {
  byId("announcer").textContent = text;
  clearTimeout(announceTimer);
  announceTimer = setTimeout(() => byId("announcer").replaceChildren(), ANNOUNCEMENT_MS);
}
