// Answers of a chat without a model: the line that answers best, quoted with its date. What else was recalled is a click
// away.

import { longDate } from "./dates.js";
import { h, textElement } from "./dom.js";
import { memoriesButton, speakerName } from "./line.js";

/** The answer to a person's line. person: the name of the person. */
export const recalledAnswer = (line, answer, chat, person) =>
  h(
    "article",
    { class: "line from-character recalled", "aria-label": "From memory" },
    textElement("p", `${whenAndWho(answer, person)}:`, { class: "small source" }),
    textElement("blockquote", answer.text, { class: "line-text" }),
    h("footer", { class: "actions" }, memoriesButton(line, chat, line)),
  );

function whenAndWho(line, person) {
  const when = line.undated ? "Once" : `On ${longDate(line.said_at)}`;
  if (line.role === "assistant") return `${when} I said`;
  const isPerson = line.speaker === person || speakerName(line) === "You";
  const asked = /[?？؟]\s*$/.test(line.text);
  return `${when} ${isPerson ? (asked ? "you asked me" : "you told me") : `${line.speaker} said`}`;
}
