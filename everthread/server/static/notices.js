// One calm line on what happened and what to do about it, just above where the person types.

import { at, button, fill, h } from "./dom.js";

let timer = 0;

/** Show a line; with an act, something to do about it. It goes away of itself unless it is a problem. */
export function notice(text, { act = null, label = "", lasting = false } = {}) {
  clearTimeout(timer);
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

/** Tell of a problem. */
export function failed(error) {
  if (error.name === "AbortError") return;
  notice(error.message, { lasting: true });
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
export const speak = (text) => (at("spoken").textContent = text);
