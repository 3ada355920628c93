// Articles of the chat that are not lines: the question at its end, and a reply that is shown without being saved.

import { chatPath, post } from "./api.js";
import { button, h, textElement } from "./dom.js";
import { emit } from "./events.js";
import { loadOverlays } from "./lazy.js";
import { memoryCount } from "./line.js";

const ANSWER_HINT = "You can also type yes or no. Anything else continues the chat.";
const UNCLEAR_ANSWER = "Please answer yes or no, or just continue the chat.";

/** Whether to remember the chat, asked after a goodbye. unclear: whether the last answer was neither yes nor no. */
export const endQuestion = (question, chat, unclear) =>
  h(
    "article",
    { class: "line from-character recall-only", "aria-label": "A question to you" },
    textElement("div", `Goodbye! ${question}`, { class: "line-text" }),
    h("p", { class: "small label" }, unclear ? UNCLEAR_ANSWER : ANSWER_HINT),
    h(
      "div",
      { class: "bar" },
      button("Remember it", () => chat.end(true), { class: "primary" }),
      button("Forget all of it", () => chat.end(false)),
    ),
  );

/** End the chat, after the questions that this needs. warning: a sentence for the one about forgetting. Resolves to
 * how it ended, or to null if the person cancels. */
export async function endChat(remember, warning) {
  const { askChoice, confirmForget } = await loadOverlays();
  if (remember === false && !(await confirmForget(warning))) return null;
  const ending = await post(chatPath("/end"), { remember });
  if (ending.remembered !== null || !ending.question) return ending;
  const agreed = await askChoice(ending.question, "You can also forget all of it, or single messages, later.", [
    ["Remember it", true],
    ["Forget all of it", false],
  ]);
  if (agreed === null || (!agreed && !(await confirmForget(warning)))) return null;
  return post(chatPath("/end"), { remember: agreed });
}

const LABELS = {
  partial: () => "The reply got this far.",
};

/** A reply that is shown without being saved. kind: `recall_only` where there is no model, `partial` for what arrived
 * before the connection was lost. */
export function transientReply({ kind, text, context }, chat) {
  const inspect = () => (emit("context", { context, of: null }), emit("view", "memory"));
  return h(
    "article",
    { class: "line from-character recall-only", "aria-label": "Unsaved reply" },
    LABELS[kind] && h("p", { class: "small label" }, LABELS[kind]()),
    textElement("div", text, { class: "line-text" }),
    h(
      "footer",
      { class: "actions" },
      context?.memories > 0 && button(memoryCount(context.memories), inspect, { class: "link recall-link" }),
      chat.model && button("Retry", () => chat.answer(), { class: "link" }),
    ),
  );
}
