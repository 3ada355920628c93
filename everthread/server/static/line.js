// A line of a conversation as an element, with its actions.

import { copyText } from "./clipboard.js";
import { clockTime, dateTime, longDate } from "./dates.js";
import { button, fill, h, iconButton, isEnter, textElement, truncate } from "./dom.js";
import { MarkdownStream, renderMarkdown } from "./markdown.js";
import { showNotice } from "./notices.js";
import { toolbar } from "./toolbar.js";
import { t } from "./words.js";

const FOLD_ABOVE_CHARS = 8_000; // longer texts are folded
const FOLDED_CHARS = 4_000; // of a folded text that are shown
const MAX_QUOTED_CHARS = 2_000; // in a list of memories; the conversation shows the whole line
const MAX_NAMED_CHARS = 60; // of a line in the name of its buttons
const unfolded = new Set(); // keys of long lines that are shown in full

/** A line's element. actions: the buttons below it; fromPerson: whether it is on the person's side. */
export function lineElement(line, actions = [], fromPerson = line.role !== "assistant") {
  const side = fromPerson ? "from-person" : "from-character";
  const unsaved = line.seq < 0 ? " unsaved" : "";
  const name = `${speakerName(line)}, ${dateTime(line.said_at)}`;
  return h(
    "article",
    { class: `line ${side}${unsaved}`, "data-seq": line.seq, "aria-label": name, tabindex: "-1" },
    lineHeader(line),
    lineText(line),
    toolbar(t("line.actions", { speaker: speakerName(line) }), actions),
  );
}

/** A line's text; of a very long one the beginning, with a button that shows the rest. */
function lineText(line) {
  const render = (part) => (line.role === "assistant" ? renderMarkdown(part) : part);
  const box = textElement("div", null, { class: "line-text" });
  if (line.text.length > FOLD_ABOVE_CHARS) box.classList.add("long");
  if (line.text.length <= FOLD_ABOVE_CHARS || unfolded.has(lineKey(line))) return (fill(box, render(line.text)), box);
  const beginning = line.text.slice(0, FOLDED_CHARS).replace(/[\ud800-\udbff]$/, "");
  const show = () => {
    unfold(line);
    fill(box, render(line.text));
    box.closest(".line").focus({ preventScroll: true });
  };
  const size = t("count.characters", { count: line.text.length });
  fill(box, render(`${beginning} …`), h("p", {}, button(t("line.show_all", { size }), show, { class: "link" })));
  return box;
}

/** Show a line in full from now on, however long it is. */
export const unfold = (line) => unfolded.add(lineKey(line));

const lineKey = (line) => `${line.session} ${line.seq}`;

/** A test whether a line is on the person's side. Where several people talked with each other, one is the person. */
export function personTest(lines, names) {
  const several = new Set(lines.filter((line) => line.role === "user").map((line) => line.speaker)).size > 1;
  return (line) => line.role !== "assistant" && (!several || names.includes(line.speaker));
}

/** A line in a list of memories: who said it, and its text. */
export const quotedText = (line) => [
  textElement("b", speakerName(line)),
  " ",
  textElement("span", truncate(line.text, MAX_QUOTED_CHARS)),
];

/** Whether a line was said by a person who has given no name. */
export const isUnnamed = (line) => line.role === "user" && line.speaker === "user";

/** A speaker's name; "You" for a person who has given none. */
export const speakerName = (line) => (isUnnamed(line) ? t("line.you") : line.speaker);

function lineHeader(line) {
  const when = h("time", { datetime: line.said_at, title: dateTime(line.said_at) }, clockTime(line.said_at));
  const marks = [line.seq < 0 && h("span", {}, t("line.incognito")), line.metadata?.partial && cutLabel(line.metadata.cut)];
  return h("header", { class: "byline" }, textElement("span", speakerName(line), { class: "speaker" }), when, marks);
}

const CUT_LABELS = {
  stopped: [t("line.stopped"), t("line.stopped_hint")],
  broken: [t("line.broken"), t("line.broken_hint")],
  length: [t("line.length"), t("line.length_hint")],
};

/** Why a reply is incomplete, as far as that was recorded. */
function cutLabel(cut) {
  const [name, title] = Object.hasOwn(CUT_LABELS, cut ?? "")
    ? CUT_LABELS[cut]
    : [t("line.cut"), t("line.cut_hint")];
  return h("span", { title }, name);
}

/** The element of a message that is on its way. */
export function sentMessage(text, speaker = "user") {
  const element = lineElement({ seq: 0, role: "user", speaker, text, said_at: new Date().toISOString(), metadata: {} });
  element.classList.add("sending");
  return element;
}

/** The date above a line that is the first of its day; null if there is none, as for today at the top of the chat. */
export function dateSeparator(line, before, cache) {
  const name = longDate(line.said_at);
  if (name === longDate(before?.said_at ?? new Date())) return null;
  const draw = () => h("p", { class: "date small" }, h("time", { datetime: line.said_at }, name));
  return cache.get(`date before ${line.seq}`, name, draw);
}

/** A requested reply of which nothing has arrived. message: the element of the person's message until it is stored. */
export const newPending = (message = null) => ({
  message,
  element: null,
  text: null,
  context: null,
  done: null,
  problem: null,
  ending: null,
  quotes: false, // whether it quotes a memory, without a model
  unclear: false,
  wantsForget: false,
});

/** Note that the server asks whether to remember the chat, or whether a no to that is meant. */
export const noteQuestion = (pending, { confirm_forget: wantsForget = false }) =>
  Object.assign(pending, { unclear: pending.message !== null && !wantsForget, wantsForget, message: null });

/** A reply that is arriving: its element, and its text, which grows. */
export function streamingLine(speaker) {
  const text = new MarkdownStream();
  const element = h(
    "article",
    { class: "line from-character", "aria-label": speaker, "aria-busy": "true" },
    h("header", { class: "byline" }, textElement("span", speaker, { class: "speaker" })),
    h("div", { class: "line-text streaming", dir: "auto" }, text.element),
    h("footer", { class: "actions" }),
  );
  return { element, text };
}

/** A button with an icon that names the line it belongs to for screen readers. */
export const lineButton = (line, name, label, act, props = {}) =>
  iconButton(name, label, act, { "aria-label": `${label}: ${truncate(line.text, MAX_NAMED_CHARS)}`, ...props });

/** The switch that pins a line. For screen readers its name stays, since they say whether it is on. */
export function pinButton(line, label, chat) {
  const pinned = chat.pins.has(line.seq);
  const props = { "aria-pressed": String(pinned), title: pinned ? t("line.unpin") : label };
  return lineButton(line, "pin", label, () => chat.togglePin(line), props);
}

export function lineActions(line, { last, chat }) {
  const isReply = line.role === "assistant";
  const saved = line.seq > 0;
  return [
    isReply && chat.promptOf(line) && memoriesButton(line, chat),
    !isReply && line.memories > 0 && !line.answer && memoriesButton(line, chat, line), // it quoted another bank's line
    isReply && line.memories === 0 && line.metadata.model && promptButton(line, chat),
    last &&
      chat.canRegenerate(line) &&
      chat.state.swipes.length < 2 &&
      iconButton("regenerate", t("line.regenerate"), () => chat.regenerate()),
    isReply && lineButton(line, "copy", t("line.copy"), () => copyMessage(line)),
    lineButton(line, "edit", t("line.edit"), () => chat.edit(line)),
    !last && lineButton(line, "branch", t("line.branch"), () => chat.branch(line)),
    saved && pinButton(line, t("line.pin"), chat),
    saved && lineButton(line, "forget", t("line.forget"), () => chat.forgetLine(line)),
  ].filter(Boolean);
}

const copyMessage = async (line) =>
  showNotice((await copyText(line.text)) ? t("line.copied") : t("line.not_copied"));

/** The button that shows what a reply was given; null for a reply that was given nothing. isStored: whether that is stored,
 * in a group perhaps in another bank. */
export function memoriesButton(line, chat, prompt = chat.promptOf(line), isStored = line.memories || chat.isGroup) {
  if (line.memories === 0) return null;
  const label = line.memories ? memoryCount(line.memories) : t("line.memories");
  return button(label, () => chat.inspect(line, prompt), {
    class: "link recall-link",
    title: t(isStored ? "line.given" : "line.would_recall"),
    "aria-pressed": String(chat.inspected === line.seq),
  });
}

/** The button that shows the prompt of a reply that was given no memories. */
const promptButton = (line, chat) =>
  lineButton(line, "memory", t("line.inspect"), () => chat.inspect(line), {
    "aria-pressed": String(chat.inspected === line.seq),
  });

export const memoryCount = (number) => t("count.memories", { count: number });

/** ‹ 2/3 › for the versions of the last reply; null if there is only one. */
export function swipeControls(state, chat) {
  const last = state.lines.at(-1);
  const all = state.swipes ?? [];
  const index = all.findIndex((other) => other.seq === last?.seq);
  if (!last || last.role !== "assistant" || index < 0 || all.length < 2) return null;
  const arrow = (label, name, step) =>
    iconButton(name, label, () => chat.swipe(step), { disabled: step < 0 && index === 0 });
  return h(
    "span",
    { class: "swipes", role: "group", "aria-label": t("line.versions") },
    arrow(t("line.previous"), "previous", -1),
    h("span", { class: "count" }, `${index + 1}/${all.length}`),
    arrow(index === all.length - 1 ? t("line.regenerate") : t("line.next"), "next", 1),
  );
}

/** Edit a line's text in its place. hint: the effect of saving. typed: what the field has first. Resolves to the new text,
 * or to null. */
export function editInPlace(element, line, hint, typed) {
  return new Promise((resolve) => {
    const text = element.querySelector(".line-text");
    const field = h("textarea", { dir: "auto", class: "line-text", "aria-label": t("line.text"), value: typed });
    const opener = document.activeElement;
    const close = (outcome) => (box.replaceWith(text), opener.focus({ preventScroll: true }), resolve(outcome));
    const save = () => close(field.value.trim() && field.value !== line.text ? field.value.trim() : null);
    const box = h(
      "div",
      { class: "editing" },
      field,
      hint && h("p", { class: "small" }, hint),
      h(
        "div",
        { class: "bar end" },
        button(t("settings.cancel"), () => close(null)),
        button(t("dialog.save"), save, { class: "primary" }),
      ),
    );
    field.addEventListener("keydown", (event) => {
      if (event.key === "Escape") (event.stopPropagation(), close(null));
      if (isEnter(event)) (event.preventDefault(), save());
    });
    text.replaceWith(box);
    field.rows = Math.min(12, 2 + Math.ceil(line.text.length / 60));
    field.focus();
  });
}
