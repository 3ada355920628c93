// Answers of a chat without a model: the line that answers best, quoted with its date.

import { longDate } from "./dates.js";
import { h, textElement } from "./dom.js";
import { memoriesButton } from "./line.js";
import { t } from "./words.js";

/** The answer to a person's line. names: those of the person. */
export const recalledAnswer = (line, answer, chat, names) =>
  h(
    "article",
    { class: "line from-character recalled", "aria-label": t("answer.label") },
    quotation(answer, names, !chat.state.unsure.includes(line.seq)),
    h("footer", { class: "actions" }, memoriesButton(line, chat, line)),
  );

/** The line that answers, with its source. */
export const quotation = (answer, names, isSure) => [
  textElement("p", doubt(sourceOf(answer, names), isSure), { class: "small source" }),
  textElement("blockquote", answer.text, { class: "line-text" }),
];

/** What became of a line for which nothing was recalled. */
export const stateWithoutAnswer = (line, { elements }) =>
  line.role === "user" &&
  line.seq > 0 &&
  line.memories === 0 &&
  elements.get(`state of ${line.seq}`, line.text, () =>
    h("p", { class: "small state bar end" }, t(isQuestion(line.text) ? "answer.no_memory" : "answer.remembered")),
  );

/** The text of a reply; without a model, in the page's words. */
export function textOf({ kind, text, answer, unsure }, context, { incognito, person_names: names }) {
  if (answer) return `${doubt(sourceOf(answer, names), !unsure)} “${answer.text}”`;
  const isEmpty = context?.memories === 0 && Object.values(context.others).every((count) => !count);
  if (kind !== "recall_only" || !isEmpty) return text;
  return t(incognito || isQuestion(context.question ?? "") ? "answer.nothing" : "answer.will_remember");
}

/** A source ("On 3 May you told me:"), after a doubt unless it is sure to be relevant. */
export const doubt = (source, isSure) => (isSure ? source : t("answer.unsure", { source }));

const isQuestion = (text) => /[?？؟]\s*$/.test(text);

function sourceOf(line, names) {
  const { speaker, undated } = line;
  const kind = `answer.${kindOf(line, names)}`;
  if (undated) return t(`${kind}_undated`, { speaker });
  const date = longDate(line.said_at);
  return date === longDate(new Date()) ? t(`${kind}_today`, { speaker }) : t(kind, { speaker, date });
}

function kindOf(line, names) {
  if (line.role === "assistant") return "i_said";
  if (!names.includes(line.speaker)) return "they_said";
  return isQuestion(line.text) ? "you_asked" : "you_told";
}
