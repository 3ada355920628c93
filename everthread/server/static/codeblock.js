// A block of code: its language, a button that copies it, and its colours once highlight.js is loaded.

import { copyText } from "./clipboard.js";
import { button, h } from "./dom.js";
import { t } from "./words.js";

const MAX_HIGHLIGHTED_CHARS = 20_000;
const MAX_NAME_CHARS = 30;
const COPIED_MS = 2_000;
const SANITIZED = { ALLOWED_TAGS: ["span"], ALLOWED_ATTR: ["class"], RETURN_DOM_FRAGMENT: true };

let highlighter = null; // the library, once it is loaded
let loading = null;

/** The box of a `code` element, whose class names its language. */
export function codeBlock(code) {
  const language = (/language-(\S+)/.exec(code.className)?.[1] ?? "").slice(0, MAX_NAME_CHARS);
  const copy = button(t("code.copy"), async () => {
    copy.textContent = (await copyText(code.textContent)) ? t("code.copied") : t("code.not_copied");
    setTimeout(() => (copy.textContent = t("code.copy")), COPIED_MS);
  });
  copy.setAttribute("aria-label", language ? t("code.copy_language", { language }) : t("code.copy_code"));
  return h(
    "figure",
    { class: "code", dir: "ltr" },
    h("figcaption", {}, h("span", { class: "small" }, language), copy),
    h("pre", { tabindex: "0" }, code),
  );
}

/** Colour all code in a fragment whose language is known; if the library isn't loaded yet, later. */
export function highlight(fragment) {
  const blocks = [...fragment.querySelectorAll("pre > code[class]")];
  if (!blocks.length) return;
  if (highlighter) return blocks.forEach(colour);
  loading ??= import("./vendor/highlight/highlight.min.js");
  loading.then(
    (module) => ((highlighter = module.default), blocks.forEach(colour)),
    () => (loading = null),
  );
}

function colour(code) {
  const language = /language-(\S+)/.exec(code.className)?.[1];
  const { textContent } = code;
  if (!language || !highlighter.getLanguage(language) || textContent.length > MAX_HIGHLIGHTED_CHARS) return;
  const { value } = highlighter.highlight(textContent, { language, ignoreIllegals: true });
  code.replaceChildren(globalThis.DOMPurify.sanitize(value, SANITIZED));
}
