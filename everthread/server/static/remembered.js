// What was remembered for one reply: passages with their dates and relevance, and what to do about each.

import { get, inBank, patch, put } from "./api.js";
import { on, tell } from "./bus.js";
import { day, full } from "./dates.js";
import { button, cut, fill, h, icon, said } from "./dom.js";
import { address } from "./here.js";
import { windows } from "./later.js";
import { called } from "./line.js";
import { careful, notice } from "./notices.js";
import { refill } from "./refill.js";
import { why } from "./why.js";

const QUOTED = 2_000; // characters of a line of a passage; all of it stands in its conversation

export class Remembered {
  constructor(talk) {
    this.talk = talk;
    this.context = null;
    this.chosen = new Set(); // of each passage the line that was chosen, by its seq
    this.changed = () => {};
    on("context", (told) => this.take(told?.context ?? null));
    on("pins", () => this.changed());
    on("forgotten", (seqs) => this.without(seqs));
    on("corrected", ({ old, line }) => this.corrected(old, line));
  }

  take(context) {
    if (context !== this.context) this.chosen.clear();
    this.context = context;
    this.changed();
  }

  show(panel) {
    refill(panel, this.context ? this.passages() : this.empty());
  }

  empty() {
    return h(
      "div",
      { class: "nothing" },
      h("p", {}, "What was remembered for a reply stands here: where it was said, when, and how sure the memory is."),
      h("p", { class: "small" }, "Choose “Remembered” under any reply."),
    );
  }

  passages() {
    const { hits, tokens, again } = this.context;
    if (!hits.length) return h("p", { class: "nothing" }, "Nothing earlier was remembered for this reply.");
    const cards = merged(hits);
    const many = cards.length === 1 ? "1 passage" : `${cards.length} passages`;
    return [
      h(
        "p",
        { class: "small" },
        again ? `${many}, as they are found for that moment` : `${many}, ${tokens} tokens of the prompt`,
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
    const place = address({ view: "read", session: line.session, seq: line.seq });
    return h(
      "li",
      { class: "hit", "data-card": line.seq },
      h(
        "header",
        { class: "by" },
        h("a", { href: place, title: "Open the conversation there" }, day(line.said_at)),
        relevance(hits[0]),
      ),
      ...this.lines(passage, hits),
      why(hits),
    );
  }

  /** The passage, in which one of the lines that were found is chosen, and what can be done about that one. */
  lines(passage, hits) {
    const found = hits.map((hit) => hit.line);
    const choice = found.find((line) => this.chosen.has(line.seq)) ?? found[0];
    const acts = h("div", {}, this.acts(choice));
    const choose = (line) => {
      for (const each of found) this.chosen.delete(each.seq);
      this.chosen.add(line.seq);
      fill(acts, this.acts(line));
    };
    const rows = passage.map((line) =>
      passageLine(line, { found, choice, choose, pinned: this.talk.pins.has(line.seq) }),
    );
    return [h("div", { class: "passage" }, rows), acts];
  }

  acts(line) {
    if (!line.seq) return null; // general knowledge is of no line
    const pinned = this.talk.pins.has(line.seq);
    return h(
      "footer",
      { class: "acts steady", role: "group", "aria-label": "About this memory" },
      button(pinned ? "Pinned" : "Pin", () => this.talk.pin(line), {
        class: "link",
        "aria-pressed": String(pinned),
        title: "Always before the character, in every conversation, until it is unpinned",
      }),
      button("Correct", () => correct(line), { class: "link" }),
      button("Forget", () => this.talk.forget(line), { class: "link" }),
      button("Keep in view", () => keepInView(line, this.talk.state.session), {
        class: "link",
        title: "Before the character for as long as this conversation lasts",
      }),
    );
  }

  without(seqs) {
    if (!this.context) return;
    const stands = (hit) => !seqs.has(hit.line.seq);
    const passage = (hit) => ({ ...hit, passage: hit.passage.filter((line) => !seqs.has(line.seq)) });
    this.context = { ...this.context, hits: this.context.hits.filter(stands).map(passage) };
    this.changed();
  }

  corrected(old, line) {
    if (!this.context) return;
    if (this.chosen.delete(old)) this.chosen.add(line.seq);
    const now = (each) => (each.seq === old ? line : each);
    const hits = this.context.hits.map((hit) => ({ ...hit, line: now(hit.line), passage: hit.passage.map(now) }));
    this.context = { ...this.context, hits };
    this.changed();
  }
}

function relevance({ relevance: sure, kind }) {
  const percent = `${Math.round(sure * 100)}%`;
  const bar = h("span", { class: "bar-of", "aria-hidden": "true" }, h("span", {}));
  bar.firstChild.style.setProperty("inline-size", percent);
  const title = "The chance that this bears on what was said";
  return h(
    "span",
    { class: "relevance", title },
    kind !== "line" && h("span", {}, kind),
    bar,
    h("span", {}, percent),
    h("span", { class: "hidden" }, " relevant"),
  );
}

/** A line of a passage; one that was found can be chosen, where there are several. */
function passageLine(line, { found, choice, choose, pinned }) {
  const among = found.some((each) => each.seq === line.seq);
  const props = { class: `${among ? "found" : ""}${pinned ? " pinned" : ""}`, title: full(line.said_at) };
  const sign = pinned && h("span", { class: "pin" }, icon("pin"), h("span", { class: "hidden" }, "pinned "));
  const text = [sign, said("b", called(line)), " ", said("span", cut(line.text, QUOTED))];
  if (found.length < 2 || !among) return h("p", props, text);
  const mark = { type: "radio", name: `line-of-${found[0].seq}`, checked: line.seq === choice.seq };
  return h("label", props, h("input", { ...mark, on: { change: () => choose(line) } }), h("span", {}, text));
}

/** The number of the place where a line stands: a corrected one stands where the line stood that it corrects. */
const stands = ({ seq, metadata }) => metadata?.["everthread.corrects"] ?? seq;

/** Hits whose passages share a line stand on one card, the best first. */
export function merged(hits) {
  const cards = [];
  for (const hit of hits) {
    const around = hit.passage.length ? hit.passage : [hit.line];
    const seqs = new Set(around.map((line) => line.seq));
    const card = cards.find(({ passage }) => passage.some((line) => seqs.has(line.seq)));
    if (!card) cards.push({ hits: [hit], passage: [...around] });
    else {
      card.hits.push(hit);
      const strange = around.filter((line) => !card.passage.some((each) => each.seq === line.seq));
      card.passage = [...card.passage, ...strange].sort((a, b) => stands(a) - stands(b));
    }
  }
  return cards;
}

/** Put another text in a line's place: what was wrong is retracted. */
export const correct = careful(async (line) => {
  const hint = "What stood there is set aside and never remembered again; this stands in its place, at its time.";
  const { rewrite } = await windows();
  const text = await rewrite("Correct this memory", line, hint);
  if (text === null || text === line.text) return;
  const now = await patch(inBank(`/lines/${line.seq}`), { text });
  tell("corrected", { old: line.seq, line: now });
  notice("Corrected. From now on it is remembered so.");
});

/** Keep a line in what the character has before it in this conversation. */
const keepInView = careful(async (line, session) => {
  const path = inBank(`/sessions/${encodeURIComponent(session)}/buffer`);
  const { items } = await get(path);
  const spans = items.map((item) => [item.first_seq, item.last_seq]);
  tell("buffer", (await put(path, { spans: [...spans, [line.seq, line.seq]] })).items);
  notice("It stays before the character for this conversation. “In view” shows all of it.");
});
