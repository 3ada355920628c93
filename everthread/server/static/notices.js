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
let awaitsServer = false; // the notice says that it can't be reached, or can't answer now
let polling = false;

on("view", placeNotices);
on("loaded", () => awaitsServer && clearNotice());
on("forgotten", () => byId("announcer").replaceChildren());

/** Show a notice. It disappears by itself unless it is lasting. title: what a pointer shows in addition. */
export function showNotice(text, { lasting = false, title = null } = {}) {
  clearTimeout(hideTimer);
  awaitsServer = false;
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

/** Whether it passes by itself: the server, or what it needs, can't be reached for now. */
export const isPassing = ({ kind, status }) => kind === "unreachable" || (status >= 502 && status <= 504);

/** Show an error. If the server can't be reached, check until it is back. */
export function showError(error) {
  if (error.name === "AbortError") return;
  if (!showInDialog(error.message, "alert")) showNotice(error.message, { lasting: true, title: error.detail });
  if (error.kind === "unreachable") retryLater();
}

/** Show why the page can't be loaded, and load it again when the server answers, if the error is one that passes. */
export function showLoadingError(error) {
  showError(error);
  if (isPassing(error)) retryLater();
}

function retryLater() {
  awaitsServer = true;
  waitForServer();
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

/** Have a screen reader read a text. It is removed afterwards, since it may be forgotten later. */
export function announce(text) {
  byId("announcer").textContent = text;
  clearTimeout(announceTimer);
  announceTimer = setTimeout(() => byId("announcer").replaceChildren(), ANNOUNCEMENT_MS);
}
