// Copies texts.

import { h } from "./dom.js";

/** Copy a text. Returns whether that succeeded. */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelection(text); // browsers have no clipboard for pages of other machines without HTTPS
  }
}

function copySelection(text) {
  const { activeElement } = document;
  const field = h("textarea", { class: "visually-hidden", value: text });
  (activeElement?.closest("dialog") ?? document.body).append(field);
  field.select();
  const copied = document.execCommand("copy");
  field.remove();
  activeElement?.focus({ preventScroll: true });
  return copied;
}
