// Answers of a chat without a model: the line that answers best, quoted with its date, or what becomes of the message.

import { longDate } from "./dates.js";
import { h, textElement } from "./dom.js";
import { memoriesButton } from "./line.js";
import { t } from "./words.js";

/** The stored answer to a person's line. */
export const storedAnswer = (line, chat) =>
  answerElement(line.answer, t("answer.label"), [byline(line.answer.by), answerText(line.answer)], [memoriesButton(line, chat, line)]);

/** Who answered, in a chat with several characters. */
const byline = (name) => name && h("header", { class: "byline" }, textElement("span", name, { class: "speaker" }));

/** An answer with its actions. answer: null for a text that is none. */
export const answerElement = (answer, label, content, actions) =>
  h(
    "article",
    { class: `line from-character ${answer?.line ? "recalled" : "recall-only"}`, "aria-label": label },
    content,
    h("footer", { class: "actions" }, actions),
  );

/** What an answer says: the quoted line with its source, or a text. */
export function answerText(answer, text = t(`answer.${answer.kind}`)) {
  if (!answer?.line) return textElement("div", text, { class: "line-text" });
  return [
    textElement("p", doubt(sourceOf(answer), answer.sure), { class: "small source" }),
    textElement("blockquote", answer.line.text, { class: "line-text" }),
    answer.corrected && h("p", { class: "small" }, t("answer.corrected")),
  ];
}

/** A reply that has just arrived, in one text; without a model in the page's words, unless it lists the closest lines. */
export function textOf({ answer, text }) {
  if (answer?.line) return `${doubt(sourceOf(answer), answer.sure)} “${answer.line.text}”`;
  return !answer || answer.kind === "quote" || text.includes("\n") ? text : t(`answer.${answer.kind}`);
}

/** Lines whose answers quote a changed line as it is now. change: returns the changed line, null if it was forgotten. */
export const withQuoted = (lines, change) =>
  lines.map((line) => {
    const quoted = line.answer?.line;
    const now = quoted && change(quoted);
    return now === quoted ? line : { ...line, answer: { ...line.answer, line: now, corrected: now !== null } };
  });

/** A source ("On 3 May you told me:"), after a doubt unless it is sure to be relevant. */
export const doubt = (source, isSure) => (isSure ? source : t("answer.unsure", { source }));

function sourceOf({ line: { speaker, said_at, undated }, speech }) {
  const kind = `answer.${speech}`;
  if (undated) return t(`${kind}_undated`, { speaker });
  const date = longDate(said_at);
  return date === longDate(new Date()) ? t(`${kind}_today`, { speaker }) : t(kind, { speaker, date });
}
