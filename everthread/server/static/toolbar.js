// Rows of buttons with one tab stop each; the arrow keys, Home and End move between the buttons.

import { h } from "./dom.js";

/** A toolbar. Buttons that are null or false are left out. */
export function toolbar(label, buttons, style = "actions") {
  const box = h("div", { class: style, role: "toolbar", "aria-label": label }, buttons);
  box.addEventListener("focusin", ({ target }) => setTabStop(box, target));
  box.addEventListener("keydown", (event) => moveFocus(box, event));
  setTabStop(box, buttonsOf(box)[0]);
  return box;
}

const buttonsOf = (box) => [...box.querySelectorAll("button:not(:disabled)")];

function setTabStop(box, chosen) {
  for (const each of buttonsOf(box)) each.tabIndex = each === chosen ? 0 : -1;
}

function moveFocus(box, event) {
  const all = buttonsOf(box);
  const index = all.indexOf(event.target);
  const [before, after] = box.matches(":dir(rtl)") ? ["ArrowRight", "ArrowLeft"] : ["ArrowLeft", "ArrowRight"];
  const next = { [before]: index - 1, [after]: (index + 1) % all.length, Home: 0, End: -1 }[event.key];
  if (next === undefined) return;
  event.preventDefault();
  all.at(next).focus();
}
