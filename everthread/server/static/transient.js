// What the chat shows that are not stored lines: a reply that is arriving or is not saved, and the question at the end.

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
    answer ? quotation(answer, chat.state.person_names, !unsure) : textElement("div", text, { class: "line-text" }),
    h(
      "footer",
      { class: "actions" },
      context?.memories > 0 && button(memoryCount(context.memories), inspect, { class: "link recall-link" }),
      chat.model && button(t("composer.retry"), () => chat.answer(), { class: "link" }),
    ),
  );
}

/** A state with this reply added, for when the server's state can't be read. */
export function stateWith(state, line) {
  if (!line || state.lines.some((other) => other.seq === line.seq)) return state;
  const parent = state.lines.findIndex((other) => other.seq === line.parent);
  return { ...state, lines: [...(parent < 0 ? state.lines : state.lines.slice(0, parent + 1)), line] };
}

/** The lines of a state with the person's line after the one that it answers, which may be a greeting that was stored
 * just now. In incognito lines have no parent. read: reads the state again. */
export async function linesWith({ lines }, line, read) {
  const parent = lines.findIndex((other) => other.seq === line.parent);
  const isFirst = line.parent === null && line.seq > 0;
  if (parent >= 0 || isFirst) return [...lines.slice(0, parent + 1), line];
  const stored = await read().then((state) => state.lines, () => lines); // the line is stored in any case
  const index = stored.findIndex((other) => other.seq === line.seq);
  return [...(index < 0 ? stored : stored.slice(0, index)), line];
}
