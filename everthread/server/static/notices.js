// One calm line on what happened and what to do about it, just above where the person types, and in the window that is
// open above the page.

import { get } from "./api.js";
import { on, tell } from "./bus.js";
import { at, button, fill, h } from "./dom.js";

const PAUSE = 3_000; // milliseconds between two questions whether the server is there again

const SPOKEN = 5_000; // milliseconds for a screen reader to take up what it is to say

let timer = 0;
let spoken = 0;
let away = false; // whether the line tells that the server is away
let waiting = false; // for the server to come back

on("view", settle);
on("back", () => away && clear());
on("forgotten", () => at("spoken").replaceChildren());

/** Show a line; with an act, something to do about it. It goes away of itself unless it is a problem. */
export function notice(text, { act = null, label = "", lasting = false } = {}) {
  clearTimeout(timer);
  away = false;
  above(text, "status");
  settle();
  const box = at("notices");
  const shown = [h("span", { dir: "auto" }, text)];
  if (act) shown.push(button(label, () => (clear(), act()), { class: "link" }));
  shown.push(button("×", clear, { class: "icon", "aria-label": "Close this message" }));
  fill(box, h("div", {}, shown));
  if (!lasting) timer = setTimeout(clear, 8_000);
}

export function clear() {
  clearTimeout(timer);
  at("notices").replaceChildren();
}

/** Where a narrow window shows another part of the page than the talk, the line stands below that one. */
function settle() {
  const place = at("talk").checkVisibility() ? at("compose") : at("views");
  if (at("notices").nextElementSibling !== place) place.before(at("notices"));
}

/** Tell it in the window that is open above the page, which hides the page. Whether there is one. */
function above(text, role) {
  const told = [...document.querySelectorAll("dialog[open] > .told")].at(-1);
  if (!told) return false;
  told.setAttribute("role", role);
  told.hidden = false;
  told.textContent = text;
  told.scrollIntoView({ block: "nearest" });
  return true;
}

/** Tell of a problem. */
export function failed(error) {
  if (error.name === "AbortError") return;
  if (!above(error.message, "alert")) notice(error.message, { lasting: true });
  away = error.kind === "unreachable";
  if (away) comeBack();
}

/** Ask quietly until the server is there again. */
async function comeBack() {
  if (waiting) return;
  waiting = true;
  do await new Promise((resolve) => setTimeout(resolve, PAUSE));
  while (!(await there()));
  waiting = false;
  tell("back");
}

async function there() {
  try {
    return Boolean(await get("/about"));
  } catch (error) {
    return error.kind !== "unreachable" && error.status < 500;
  }
}

/** A listener that tells of what goes wrong in it. */
export const careful =
  (act) =>
  async (...given) => {
    try {
      return await act(...given);
    } catch (error) {
      failed(error);
      return undefined;
    }
  };

/** Read this aloud to whoever doesn't see the page. */
export function speak(text) {
  at("spoken").textContent = text;
  clearTimeout(spoken);
  spoken = setTimeout(() => at("spoken").replaceChildren(), SPOKEN); // it may be forgotten meanwhile
}
