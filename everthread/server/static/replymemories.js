// What one reply was given from memory: a card for each memory, quoted in full, with the reasons why it was found.

import { bufferPath, get, put } from "./api.js";
import { countOf, dateTime, longDate } from "./dates.js";
import { button, h, icon, textElement } from "./dom.js";
import { emit, on } from "./events.js";
import { mergeHits, withCorrection, withoutLines } from "./evidence.js";
import { memoryCount, quotedText } from "./line.js";
import { showNotice, withErrors } from "./notices.js";
import { reasonsInWords } from "./reasons.js";
import { relevanceDetails } from "./relevance.js";
import { promptPicture } from "./promptpicture.js";
import { rerender } from "./rerender.js";
import { hashOf } from "./router.js";
import { sharedMemories } from "./sharedmemories.js";

const RECALLED_AGAIN =
  "This reply was stored by a version that did not save its memories. These are found today, as of that time.";

const UNSAVED = "Nothing is saved in incognito: what this reply was given is known only until the page is reloaded.";

export class ReplyMemoriesPanel {
  constructor(chat) {
    this.chat = chat;
    this.context = null;
    this.of = null; // the seq of the reply
    this.onChange = () => {};
    on("context", (detail) => ((this.of = detail?.of ?? null), this.setContext(detail?.context ?? null)));
    on("pins", () => this.onChange());
    on("forgotten", (seqs) => this.context && this.setContext(withoutLines(this.context, seqs)));
    on("corrected", ({ old, line }) => this.context && this.setContext(withCorrection(this.context, old, line)));
  }

  setContext(context) {
    this.context = context;
    this.onChange();
  }

  show(panel) {
    const { context } = this;
    rerender(panel, context ? [this.memories(), sharedMemories(context.shared), promptPicture(context, this.of)] : emptyPanel());
  }

  memories() {
    const { hits, kept, recalledAgain, corrects } = this.context;
    return [
      h("p", { class: "small" }, summaryOf(this.context)),
      recalledAgain && h("p", { class: "small" }, RECALLED_AGAIN),
      hits.length > 0 &&
        h(
          "ol",
          { class: "hits" },
          mergeHits(hits, corrects ?? {}).map((card) => this.card(card)),
        ),
      kept.length > 0 && [h("h3", {}, "Kept from earlier replies"), neighbours(kept)],
    ];
  }

  card({ hits, passage }) {
    const [hit] = hits;
    const { line } = hit;
    const { corrections, question } = this.context;
    const current = corrections[line.seq] ?? line;
    const isLine = hit.kind === "line" && line.seq > 0; // general knowledge is not a line of the bank
    const pinned = isLine && this.chat.pins.has(current.seq);
    const around = passage.filter((other) => other.seq !== line.seq);
    return h(
      "li",
      { class: `hit${pinned ? " pinned" : ""}`, "data-card": `${hit.kind} ${line.seq}` },
      h("header", { class: "byline" }, whenLink(line), pinned && pinMark()),
      textElement("blockquote", line.text, { class: "match", title: dateTime(line.said_at) }),
      changeNote(hit, corrections),
      textElement("p", reasonsInWords(hit, question).join(" · "), { class: "small why" }),
      isLine && (!line.retracted_at || current !== line) && this.actions(current, pinned),
      around.length > 0 &&
        h("details", {}, h("summary", {}, `${countOf(around.length, "message")} around it`), neighbours(around, hits)),
      relevanceDetails(hit),
    );
  }

  actions(line, pinned) {
    return h(
      "footer",
      { class: "actions always-visible", role: "group", "aria-label": "Actions for this memory" },
      button(pinned ? "Pinned" : "Pin", () => this.chat.togglePin(line), {
        class: "link",
        "aria-pressed": String(pinned),
        title: "In context in every chat, until you unpin it",
      }),
      button("Correct", () => this.chat.correctLine(line), { class: "link" }),
      button("Forget", () => this.chat.forgetLine(line), { class: "link" }),
      button("Keep in context", () => keepInContext(line, this.chat.state.session), {
        class: "link",
        title: "In context for the rest of this chat",
      }),
    );
  }
}

/** How many memories a reply was given, and where those are that are not shown. */
function summaryOf({ hits, corrects, forgotten, others, shared, unsaved }) {
  if (unsaved) return UNSAVED;
  const shown = mergeHits(hits, corrects ?? {}).length;
  const hidden = Object.entries(others).filter(([bank]) => !shared.some((other) => other.bank === bank));
  const parts = [
    shown > 0 && memoryCount(shown),
    ...hidden.map(([bank, count]) => `${memoryCount(count)} from ${bank}, which is not shared any more`),
    forgotten > 0 && `${memoryCount(forgotten)} forgotten since`,
  ].filter(Boolean);
  return parts.join(" · ") || (shared.length ? "" : "This reply was given no memories.");
}

const emptyPanel = () =>
  h(
    "div",
    { class: "empty" },
    h("p", {}, "The memories behind each reply appear here: quoted, dated, and with the reason."),
    h("p", { class: "small" }, "Choose “memories” under any reply that has some."),
  );

const whenLink = (line) => {
  const href = hashOf({ view: "read", session: line.session, seq: line.seq });
  return h("a", { href, title: "Open the chat at this message" }, longDate(line.said_at));
};

const pinMark = () => h("span", { class: "pin" }, icon("pin"), h("span", { class: "visually-hidden" }, "pinned"));

/** What happened to a memory since the reply; null if nothing did. */
function changeNote({ kind, line }, corrections) {
  const correction = corrections[line.seq];
  if (!line.retracted_at) return null;
  if (!correction) return h("p", { class: "small changed" }, kind === "line" ? "Set aside since" : "Rewritten since");
  return h("p", { class: "small changed" }, "Corrected since: ", textElement("q", correction.text));
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
  showNotice("It stays in context for the rest of this chat. See “Pinned” for everything that does.");
});
