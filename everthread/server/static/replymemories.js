// What one reply was given from memory: a card for each memory, quoted in full, with the reasons why it was found.

import { bankPath, bufferPath, get, put } from "./api.js";
import { dateTime, longDate } from "./dates.js";
import { button, fill, h, icon, textElement } from "./dom.js";
import { emit, on } from "./events.js";
import { mergeHits, readEvidence, withCorrection, withoutLines } from "./evidence.js";
import { memoryCount, quotedText } from "./line.js";
import { showError, showNotice, withErrors } from "./notices.js";
import { reasonsInWords } from "./reasons.js";
import { relevanceDetails } from "./relevance.js";
import { promptPicture } from "./promptpicture.js";
import { rerender } from "./rerender.js";
import { hashOf, route } from "./router.js";
import { toolbar } from "./toolbar.js";
import { parts, t } from "./words.js";

const characters = new Map(); // promises of the names of banks' characters, by the banks' ids

const MIN_SHARE = 0.25; // of the best memory's relevance, for one that is shown at once; as in chat/offline_answer.py

export class ReplyMemoriesPanel {
  constructor(chat) {
    this.chat = chat;
    this.context = null;
    this.of = null; // the seq of the reply
    this.otherPins = new Set(); // of the context's bank, where another one is shown
    this.onChange = () => {};
    on("context", (detail) => ((this.of = detail?.of ?? null), this.setContext(detail?.context ?? null)));
    on("pins", () => this.onChange());
    on("other-pins", (lines) => ((this.otherPins = new Set(lines.map(({ seq }) => seq))), this.onChange()));
    on("forgotten", (seqs) => (seqs.has(this.of) ? this.setContext(null) : this.update((context) => withoutLines(context, seqs))));
    on("corrected", ({ old, line }) => this.update((context) => withCorrection(context, old, line)));
    const leaves = ({ view, bank, seq }) =>
      view === "read" && !(this.context?.bank === bank && this.context.hits.some(({ line }) => line.seq === seq));
    on("route", (place) => leaves(place) && this.setContext(null)); // not where the reader follows a memory
    on("bank", (bank) => ((this.of = null), this.context?.bank !== bank && this.setContext(null)));
  }

  /** Whether the memories are of another character than the chat's. */
  get isOther() {
    return this.context.bank !== route.bank;
  }

  setContext(context) {
    this.context = context;
    this.onChange();
    if (context && this.isOther) this.readPins().catch(showError);
  }

  async readPins() {
    const { bank } = this.context;
    const { items } = await get(bankPath("/pins", bank));
    if (bank === this.context?.bank) emit("other-pins", items);
  }

  /** Show what a change has made of the memories. Those of another bank are read again. */
  async update(change) {
    const { context } = this;
    if (!context) return;
    if (!this.isOther) return this.setContext(change(context));
    const { bank, seq, question } = context;
    const read = seq && (await readEvidence(bank, seq).catch(() => null)); // the reply may be gone there
    if (context === this.context) this.setContext(read && { ...read, question });
  }

  /** Show the memories of the reply that was chosen or of the latest one, unless some are shown. */
  async showLatest() {
    const { chat } = this;
    const { place, state } = chat;
    if (this.context || !state || route.view !== "talk") return;
    const hasMemories = ({ role, answer, memories }) => role === "assistant" || (answer?.line && memories > 0);
    const isChosen = (line) => (chat.inspected ? line.seq === chat.inspected : hasMemories(line));
    const reply = state.lines.findLast(isChosen);
    const prompt = reply?.role === "assistant" ? chat.promptOf(reply) : reply;
    const context = prompt && (await chat.loadContext(reply, prompt));
    if (context && !this.context && chat.place === place) chat.selectReply(reply.seq, context);
  }

  show(panel) {
    const { context } = this;
    rerender(panel, context ? [this.memories(), sharedMemories(context.shared), promptPicture(context)] : emptyPanel());
  }

  memories() {
    const { hits, kept, recalledAgain, corrects } = this.context;
    return [
      this.isOther && bankHeading(this.context.bank),
      h("p", { class: "small" }, summaryOf(this.context, this.sawEarlier())),
      recalledAgain && h("p", { class: "small" }, t("memory.recalled_again")),
      this.cards(mergeHits(hits, corrects ?? {})),
      kept.length > 0 && [h("h2", {}, t("memory.kept")), neighbours(kept)],
    ];
  }

  /** The cards, and folded those that are much less relevant than the best one. */
  cards(cards) {
    const bound = MIN_SHARE * Math.max(...cards.map(relevanceOf));
    const list = (shown) => shown.length > 0 && h("ol", { class: "hits" }, shown.map((card) => this.card(card)));
    const weak = cards.filter((card) => relevanceOf(card) < bound);
    return [
      list(cards.filter((card) => !weak.includes(card))),
      weak.length > 0 && h("details", { "data-card": "weak" }, h("summary", {}, t("memory.weak", { count: weak.length })), list(weak)),
    ];
  }

  /** Whether the prompt held earlier messages that the person wrote in this chat. */
  sawEarlier() {
    const own = this.chat.state?.lines.filter(({ role }) => role === "user") ?? [];
    const asked = this.of === null ? own.at(-1) : this.chat.promptOf({ seq: this.of });
    return Boolean(this.context.prompt?.window) && own.indexOf(asked) > 0;
  }

  card({ hits, passage }) {
    const [hit] = hits;
    const { line } = hit;
    const { corrections, question, bank } = this.context;
    const current = corrections[line.seq] ?? line;
    const isLine = hit.kind === "line" && line.seq > 0; // general knowledge is not a line of the bank
    const pinned = isLine && (this.isOther ? this.otherPins : this.chat.pins).has(current.seq);
    const around = passage.filter((other) => other.seq !== line.seq);
    return h(
      "li",
      { class: `hit${pinned ? " pinned" : ""}`, "data-card": `${hit.kind} ${line.seq}` },
      h("header", { class: "byline" }, whenLink(line, bank), pinned && pinMark()),
      textElement("blockquote", line.text, { class: "match", title: dateTime(line.said_at) }),
      changeNote(hit, corrections),
      textElement("p", reasonsInWords(hit, question).join(" · "), { class: "small why" }),
      isLine && (!line.retracted_at || current !== line) && this.actions(current, pinned),
      around.length > 0 &&
        h("details", {}, h("summary", {}, t("memory.around", { count: around.length })), neighbours(around, hits)),
      relevanceDetails(hit),
    );
  }

  actions(line, pinned) {
    const actions = [
      ...lineChanges(line, pinned, this.chat, this.context.bank),
      !this.isOther && button(t("memory.keep"), () => keepInContext(line, this.chat.state.session), {
        class: "link",
        title: t("memory.keep_hint"),
      }),
    ];
    return toolbar(t("memory.actions"), actions, "actions always-visible");
  }
}

export const lineChanges = (line, pinned, chat, bank) => [
  button(pinned ? t("memory.pinned") : t("memory.pin"), () => chat.togglePin(line, pinned, bank), {
    class: "link",
    "aria-pressed": String(pinned),
    title: t("memory.pin_hint"),
  }),
  button(t("memory.correct"), () => chat.correctLine(line, bank), { class: "link" }),
  button(t("memory.forget"), () => chat.forgetLine(line, bank), { class: "link" }),
];

const relevanceOf = ({ hits }) => Math.max(...hits.map(({ relevance }) => relevance));

/** How many memories a reply was given, and where those are that are not shown. */
function summaryOf({ hits, corrects, forgotten, others, shared, unsaved }, sawEarlier) {
  if (unsaved) return t("memory.unsaved");
  const shown = mergeHits(hits, corrects ?? {}).length;
  const hidden = Object.entries(others).filter(([bank]) => !shared.some((other) => other.bank === bank));
  const parts = [
    shown > 0 && memoryCount(shown),
    ...hidden.map(([bank, count]) => t("memory.no_longer_shared", { memories: memoryCount(count), bank })),
    forgotten > 0 && t("memory.forgotten_since", { memories: memoryCount(forgotten) }),
  ].filter(Boolean);
  return parts.join(" · ") || (shared.length ? "" : t(sawEarlier ? "memory.none_earlier" : "memory.none"));
}

/** The memories from the chats with other characters: quoted, without actions. shared: the banks, each with its lines. */
const sharedMemories = (shared) =>
  shared.map(({ bank, lines }) => [
    bankHeading(bank),
    lines.length
      ? h("ol", { class: "hits" }, lines.map((line) => sharedMemory(line, bank)))
      : h("p", { class: "small" }, t("memory.forgotten_there")),
  ]);

const sharedMemory = (line, bank) =>
  h("li", { class: "hit" }, h("header", { class: "byline" }, whenLink(line, bank)), neighbours([line]), changeNote({ kind: "line", line }, {}));

function bankHeading(bank) {
  const heading = h("h2", { dir: "auto" }, t("memory.of_bank", { bank }));
  if (!characters.has(bank)) characters.set(bank, get(bankPath("/character", bank)));
  const named = ({ nickname, name }) => fill(heading, t("memory.of_character", { name: nickname || name }));
  characters.get(bank).then(named, () => null); // the id remains
  return heading;
}

const emptyPanel = () =>
  h(
    "div",
    { class: "empty" },
    h("p", {}, t("memory.empty")),
    h("p", { class: "small" }, t("memory.choose")),
  );

export const whenLink = (line, bank) => {
  const href = hashOf({ bank, view: "read", session: line.session, seq: line.seq });
  return h("a", { href, title: t("memory.open") }, longDate(line.said_at));
};

const pinMark = () => h("span", { class: "pin" }, icon("pin"), h("span", { class: "visually-hidden" }, t("memory.pin_mark")));

/** What happened to a memory since the reply; null if nothing did. */
function changeNote({ kind, line }, corrections) {
  const correction = corrections[line.seq];
  if (!line.retracted_at) return null;
  if (!correction) return h("p", { class: "small changed" }, kind === "line" ? t("memory.set_aside") : t("memory.rewritten"));
  return h("p", { class: "small changed" }, parts("memory.corrected", { text: textElement("q", correction.text) }));
}

/** Lines around a memory; those that were found, too, stand out. */
function neighbours(lines, hits = []) {
  const found = new Set(hits.map((hit) => hit.line.seq));
  const props = (line) => ({ class: found.has(line.seq) && "found", title: dateTime(line.said_at) });
  return h(
    "div",
    { class: "passage" },
    lines.map((line) => h("p", props(line), quotedText(line))),
  );
}

/** Keep a line in context for the rest of a conversation. */
const keepInContext = withErrors(async (line, session) => {
  const path = bufferPath(session);
  const { items } = await get(path);
  const spans = items.map((item) => [item.first_seq, item.last_seq]);
  emit("buffer", (await put(path, { spans: [...spans, [line.seq, line.seq]] })).items);
  showNotice(t("memory.stays"));
});
