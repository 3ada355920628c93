// The whole prompt of a reply: a bar of its parts by their tokens, and under it a legend in which each part opens its
// text.

import { bankPath, get } from "./api.js";
import { button, fill, h, textElement, truncate } from "./dom.js";
import { withErrors } from "./notices.js";
import { joinList, t } from "./words.js";

const MAX_TEXT_CHARS = 40_000; // of a part

/** The picture of a prompt; null if its sizes are not known. context.seq: none until the reply is stored. */
export function promptPicture(context) {
  const { bank, seq } = context;
  const sizes = Object.entries(context.prompt ?? {});
  if (!sizes.length) return null;
  const total = sizes.reduce((sum, [, tokens]) => sum + tokens, 0);
  const cut = h("p", { class: "small" });
  const rows = sizes.map(([name, tokens]) => legendRow(name, tokens, total));
  const load = withErrors(async () => {
    if (!seq) return;
    if (seq < 0) return void rows.forEach(({ text }) => fill(text, note(t("prompt.unsaved"))));
    context.promptRead ??= get(bankPath(`/lines/${seq}/prompt`, bank)); // a promise, so that it is read once
    const prompt = await context.promptRead.catch((error) => {
      context.promptRead = null; // the next attempt reads it again
      throw error;
    });
    rows.forEach(({ name, text }) => fill(text, partText(prompt.parts.find((part) => part.name === name))));
    if (prompt.cut.length) fill(cut, t("prompt.shortened", { parts: joinList(prompt.cut.map(nameOf)) }));
  });
  for (const { details } of rows) details.addEventListener("toggle", () => details.open && load());
  return h(
    "section",
    { class: "prompt", "data-card": "prompt", "aria-label": t("prompt.title") },
    h("h2", {}, t("prompt.title")),
    h("p", { class: "small" }, t("prompt.total", { count: total })),
    promptBar(sizes, rows),
    h(
      "ul",
      { class: "prompt-parts" },
      rows.map(({ details }) => h("li", {}, details)),
    ),
    cut,
  );
}

/** The bar. It repeats the legend, which is what keyboards and screen readers use. */
function promptBar(sizes, rows) {
  const segments = sizes.map(([name, tokens], index) => {
    const { details, label } = rows[index];
    const open = () => ((details.open = !details.open), details.scrollIntoView({ block: "nearest" }));
    const segment = button("", open, { class: `part ${name}`, title: label, tabindex: "-1" });
    segment.style.flexGrow = tokens;
    return segment;
  });
  return h("div", { class: "prompt-bar", "aria-hidden": "true" }, segments);
}

function legendRow(name, tokens, total) {
  const label = nameOf(name);
  const size = t("prompt.size", { count: tokens, percent: Math.round((100 * tokens) / total) });
  const text = h("div", { class: "part-text" });
  const details = h(
    "details",
    {},
    h(
      "summary",
      {},
      h("span", { class: `part ${name}`, "aria-hidden": "true" }),
      h("span", {}, label),
      " ",
      h("span", { class: "size" }, size),
    ),
    text,
  );
  return { name, text, details, label: `${label}: ${size}` };
}

const nameOf = (part) => t(`prompt.${part}`);

const partText = (part) =>
  part?.text
    ? [textElement("p", truncate(part.text, MAX_TEXT_CHARS), { class: "part-words" }), part.is_current && note(t("prompt.of_today"))]
    : note(t("prompt.not_stored"));

const note = (text) => h("p", { class: "small" }, text);
