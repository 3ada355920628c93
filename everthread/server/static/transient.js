// Articles of the chat that are not lines: the question at its end, and a reply that is shown without being saved.

import { quotation } from "./answers.js";
import { chatPath, post } from "./api.js";
import { button, h, textElement } from "./dom.js";
import { emit } from "./events.js";
import { loadOverlays } from "./lazy.js";
import { memoryCount } from "./line.js";
import { t } from "./words.js";

/** Whether to remember the chat, asked after a goodbye. unclear: whether the last answer was neither yes nor no. */
export const endQuestion = (chat, unclear) =>
  h(
    "article",
    { class: "line from-character recall-only", "aria-label": t("ending.label") },
    textElement("div", `${t("ending.goodbye")} ${t("ending.question")}`, { class: "line-text" }),
    h("p", { class: "small label" }, t(unclear ? "ending.unclear" : "ending.hint")),
    h(
      "div",
      { class: "bar" },
      button(t("ending.remember"), () => chat.end(true), { class: "primary" }),
      button(t("ending.forget"), () => chat.end(false)),
    ),
  );

/** End the chat, after the questions that this needs. warning: a sentence for the one about forgetting. Resolves to
 * how it ended, or to null if the person cancels. */
export async function endChat(remember, warning) {
  const { askChoice, confirmForget } = await loadOverlays();
  if (remember === false && !(await confirmForget(warning))) return null;
  const ending = await post(chatPath("/end"), { remember });
  if (ending.remembered !== null || !ending.question) return ending;
  const agreed = await askChoice(t("ending.question"), t("chat.can_forget"), [
    [t("ending.remember"), true],
    [t("ending.forget"), false],
  ]);
  if (agreed === null || (!agreed && !(await confirmForget(warning)))) return null;
  return post(chatPath("/end"), { remember: agreed });
}

/** A reply that is shown without being saved. kind: `recall_only` where there is no model, `partial` for what arrived
 * before the connection was lost. answer: the line that is quoted, `unsure` whether in doubt. */
export function transientReply({ kind, text, context, answer, unsure }, chat) {
  const inspect = () => (emit("context", { context, of: null }), emit("view", "memory"));
  return h(
    "article",
    { class: `line from-character ${answer ? "recalled" : "recall-only"}`, "aria-label": t("transient.label") },
    kind === "partial" && h("p", { class: "small label" }, t("transient.partial")),
    answer ? quotation(answer, chat.state.character.person, !unsure) : textElement("div", text, { class: "line-text" }),
    h(
      "footer",
      { class: "actions" },
      context?.memories > 0 && button(memoryCount(context.memories), inspect, { class: "link recall-link" }),
      chat.model && button(t("composer.retry"), () => chat.answer(), { class: "link" }),
    ),
  );
}
