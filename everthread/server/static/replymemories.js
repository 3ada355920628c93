// The memories that one reply was given: passages with dates and relevance, and the actions for each.

import { bufferPath, get, put } from "./api.js";
import { countOf, dateTime, longDate } from "./dates.js";
import { button, fill, h, icon } from "./dom.js";
import { emit, on } from "./events.js";
import { quotedText } from "./line.js";
import { showNotice, withErrors } from "./notices.js";
import { relevanceDetails, relevanceMeter } from "./relevance.js";
import { rerender } from "./rerender.js";
import { hashOf } from "./router.js";
import { sharedMemories } from "./sharedmemories.js";

export class ReplyMemoriesPanel {
  constructor(chat) {
    this.chat = chat;
    this.context = null;
    this.selected = new Set(); // the seq of the line that was selected in each passage
    this.onChange = () => {};
    on("context", (detail) => this.setContext(detail?.context ?? null));
    on("pins", () => this.onChange());
    on("forgotten", (seqs) => this.removeLines(seqs));
    on("corrected", ({ old, line }) => this.replaceLine(old, line));
  }

  setContext(context) {
    if (context !== this.context) this.selected.clear();
    this.context = context;
    this.onChange();
  }

  show(panel) {
    rerender(panel, this.context ? [this.passages(), sharedMemories(this.context)] : emptyPanel());
  }

  passages() {
    const { hits, tokens, recalledAgain, corrects } = this.context;
    if (!hits.length && this.context.others?.length) return null;
    if (!hits.length) return h("p", { class: "empty" }, "No earlier memories were used for this reply.");
    const cards = mergeHits(hits, corrects);
    const count = countOf(cards.length, "passage");
    return [
      h(
        "p",
        { class: "small" },
        recalledAgain ? `${count}, recalled again as of that moment` : `${count}, ${tokens} tokens of the prompt`,
      ),
      h(
        "ol",
        { class: "hits" },
        cards.map((card) => this.card(card)),
      ),
    ];
  }

  card({ hits, passage }) {
    const [{ line }] = hits;
    const href = hashOf({ view: "read", session: line.session, seq: line.seq });
    return h(
      "li",
      { class: "hit", "data-card": line.seq },
      h(
        "header",
        { class: "byline" },
        h("a", { href, title: "Open the chat at this message" }, longDate(line.said_at)),
        relevanceMeter(hits[0]),
      ),
      ...this.lines(passage, hits),
      relevanceDetails(hits),
    );
  }

  /** The lines of a passage, and the actions for the selected one of those that were found. */
  lines(passage, hits) {
    const found = hits.map((hit) => hit.line);
    const selected = found.find((line) => this.selected.has(line.seq)) ?? found[0];
    const actions = h("div", {}, this.actions(selected));
    const select = (line) => {
      for (const other of found) this.selected.delete(other.seq);
      this.selected.add(line.seq);
      fill(actions, this.actions(line));
    };
    const rows = passage.map((line) =>
      passageLine(line, { found, selected, select, pinned: this.chat.pins.has(line.seq) }),
    );
    return [h("div", { class: "passage" }, rows), actions];
  }

  actions(line) {
    if (!line.seq) return null; // general knowledge is not a line of the bank
    const pinned = this.chat.pins.has(line.seq);
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

  removeLines(seqs) {
    if (!this.context) return;
    const hits = this.context.hits
      .filter((hit) => !seqs.has(hit.line.seq))
      .map((hit) => ({ ...hit, passage: hit.passage.filter((line) => !seqs.has(line.seq)) }));
    this.context = { ...this.context, hits };
    this.onChange();
  }

  replaceLine(old, line) {
    if (!this.context) return;
    if (this.selected.delete(old)) this.selected.add(line.seq);
    const swap = (shown) => (shown.seq === old ? line : shown);
    const hits = this.context.hits.map((hit) => ({ ...hit, line: swap(hit.line), passage: hit.passage.map(swap) }));
    const corrects = { ...this.context.corrects, [line.seq]: this.context.corrects[old] ?? old };
    this.context = { ...this.context, hits, corrects };
    this.onChange();
  }
}

const emptyPanel = () =>
  h(
    "div",
    { class: "empty" },
    h("p", {}, "The memories that each reply was given appear here, with their dates and how relevant they are."),
    h("p", { class: "small" }, "Choose “Memories” under any reply."),
  );

/** A line of a passage. If several of its lines were found, they can be selected. */
function passageLine(line, { found, selected, select, pinned }) {
  const wasFound = found.some((other) => other.seq === line.seq);
  const props = { class: `${wasFound ? "match" : ""}${pinned ? " pinned" : ""}`, title: dateTime(line.said_at) };
  const mark = pinned && h("span", { class: "pin" }, icon("pin"), h("span", { class: "visually-hidden" }, "pinned "));
  const text = [mark, quotedText(line)];
  if (found.length < 2 || !wasFound) return h("p", props, text);
  const radio = { type: "radio", name: `line-of-${found[0].seq}`, checked: line.seq === selected.seq };
  return h("label", props, h("input", { ...radio, on: { change: () => select(line) } }), h("span", {}, text));
}

/** Merge hits whose passages share a line, the best first. corrects: for each corrected line, by seq, the line whose
 * position it takes. */
export function mergeHits(hits, corrects) {
  const positionOf = ({ seq }) => corrects[seq] ?? seq;
  const cards = [];
  for (const hit of hits) {
    const passage = hit.passage.length ? hit.passage : [hit.line];
    const seqs = new Set(passage.map((line) => line.seq));
    const card = cards.find((other) => other.passage.some((line) => seqs.has(line.seq)));
    if (!card) cards.push({ hits: [hit], passage: [...passage] });
    else {
      card.hits.push(hit);
      const added = passage.filter((line) => !card.passage.some((known) => known.seq === line.seq));
      card.passage = [...card.passage, ...added].sort((a, b) => positionOf(a) - positionOf(b));
    }
  }
  return cards;
}

/** Keep a line in context for the rest of a conversation. */
const keepInContext = withErrors(async (line, session) => {
  const path = bufferPath(session);
  const { items } = await get(path);
  const spans = items.map((item) => [item.first_seq, item.last_seq]);
  emit("buffer", (await put(path, { spans: [...spans, [line.seq, line.seq]] })).items);
  showNotice("It stays in context for the rest of this chat. See “Pinned” for everything that does.");
});
