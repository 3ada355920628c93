// Answers of a chat without a model: the line that answers best, quoted with its date, facts with their lines, or what
// becomes of the message.

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
    { class: `line from-character ${answer?.line || answer?.facts.length ? "recalled" : "recall-only"}`, "aria-label": label },
    content,
    h("footer", { class: "actions" }, actions),
  );

/** What an answer says: the quoted line with its source, the list of facts, or a text. */
export function answerText(answer, text) {
  if (listsFacts(answer)) return factList(answer);
  if (!answer?.line) return textElement("div", text ?? t(`answer.${answer.kind}`), { class: "line-text" });
  return [
    acknowledges(answer) && textElement("p", t(`answer.${answer.kind}`)),
    textElement("p", doubt(sourceOf(answer), answer.sure), { class: "small source" }),
    textElement("blockquote", answer.line.text, { class: "line-text" }),
    answer.corrected && h("p", { class: "small" }, t("answer.corrected")),
    answer.outdated && textElement("p", `[${answer.outdated}]`, { class: "small" }),
  ];
}

/** Whether an answer says what becomes of the message before it quotes a line. */
const acknowledges = (answer) => ["remembered", "unsaved"].includes(answer.kind);

const listsFacts = (answer) => ["known", "changed"].includes(answer?.kind);

/** Facts, each with the line that states it. */
function factList({ kind, facts, more, since }) {
  if (!facts.length) return textElement("div", t("answer.quote"), { class: "line-text" });
  return [
    textElement("p", t(`answer.${kind}`, { date: since && longDate(since) }), { class: "line-text" }),
    h("ul", {}, facts.map((fact) => h("li", {}, textElement("span", fact.text), " ", textElement("span", `${sourceOf(fact)} “${fact.line.text}”`, { class: "small" })))),
    more && h("p", { class: "small" }, t("answer.known_more")),
  ];
}

/** A reply that has just arrived, in one text; without a model in the page's words, unless it lists the closest lines. */
export function textOf({ answer, text }) {
  if (answer?.line) {
    const start = acknowledges(answer) ? `${t(`answer.${answer.kind}`)} ` : "";
    const note = answer.outdated ? ` [${answer.outdated}]` : "";
    return `${start}${doubt(sourceOf(answer), answer.sure)} “${answer.line.text}”${note}`;
  }
  return !answer || answer.kind === "quote" || listsFacts(answer) || text.includes("\n") ? text : t(`answer.${answer.kind}`);
}

/** Lines whose answers quote a changed line as it is now, and list no facts of it. change: returns the changed line, null
 * if it was forgotten. */
export const withQuoted = (lines, change) =>
  lines.map((line) => {
    const answer = line.answer && changedAnswer(line.answer, change);
    return answer === line.answer ? line : { ...line, answer };
  });

function changedAnswer(answer, change) {
  const now = answer.line && change(answer.line);
  if (now !== answer.line) return { ...answer, line: now, corrected: now !== null, outdated: "" };
  const facts = answer.facts.filter(({ line }) => change(line) === line);
  const isSame = facts.length === answer.facts.length && !answer.outdated; // a note may be about the changed line
  return isSame ? answer : { ...answer, facts, outdated: "" };
}

/** A source ("On 3 May you told me:"), after a doubt unless it is sure to be relevant. */
export const doubt = (source, isSure) => (isSure ? source : t("answer.unsure", { source }));

function sourceOf({ line: { speaker, said_at, undated }, speech }) {
  const kind = `answer.${speech}`;
  if (undated) return t(`${kind}_undated`, { speaker });
  const date = longDate(said_at);
  return date === longDate(new Date()) ? t(`${kind}_today`, { speaker }) : t(kind, { speaker, date });
}
