// What each reply was given from memory: as it arrived with the reply, as it is stored with it, or recalled again for a
// reply that an earlier version stored. Each has the bank of the character that gave the reply, and the reply's seq there.

import { bankPath, get, normalizeHits, post } from "./api.js";
import { replyOptions } from "./prefs.js";
import { route } from "./router.js";

const MAX_CONTEXTS = 200;

/** A line and its copies in the banks in which it was heard: [{bank, name, line}, …], its own bank's first. */
export const findCopies = async ({ seq }, bank) => (await get(bankPath(`/lines/${seq}/copies`, bank))).items;

/** The memories of a reply that is arriving. question: the person's message. */
export function arrivingContext(data, question, bank = route.bank) {
  const shown = new Set(data.hits.flatMap((hit) => (hit.passage ?? []).map((line) => line.seq)));
  const kept = data.lines.filter((line) => !shown.has(line.seq));
  const others = Object.fromEntries((data.others ?? []).map(({ bank, hits }) => [bank, hits.length]));
  const hits = normalizeHits(data.hits);
  const memories = mergeHits(hits, data.corrects).length;
  const shared = data.others ?? [];
  return { ...data, hits, memories, kept, others, shared, corrections: {}, forgotten: 0, question, bank };
}

export class EvidenceCache {
  constructor() {
    this.contexts = new Map(); // by the seq of the reply
  }

  get(seq) {
    return this.contexts.get(seq);
  }

  set(seq, context) {
    this.contexts.set(seq, context);
    if (this.contexts.size > MAX_CONTEXTS) this.contexts.delete(this.contexts.keys().next().value);
    return context;
  }

  clear() {
    this.contexts.clear();
  }

  /** Apply a change to all contexts; those of other banks are read again. */
  update(change) {
    for (const [seq, context] of this.contexts)
      if (context.bank === route.bank) this.contexts.set(seq, change(context));
      else this.contexts.delete(seq);
  }

  /** The memories of a reply. prompt: the person's message; lines: the chat, which is not recalled, unless it is a group's. */
  async load(reply, prompt, lines) {
    const known = this.contexts.get(reply.seq);
    if (known) return known;
    const { bank } = route;
    const found = await (reply.seq < 0 ? { unsaved: true } : find(reply, prompt, lines));
    const context = { ...NOTHING, bank, ...found, question: prompt?.text };
    return bank === route.bank ? this.set(reply.seq, context) : context;
  }
}

const NOTHING = { hits: [], kept: [], others: {}, shared: [], corrections: {}, forgotten: 0 };

async function find(reply, prompt, lines) {
  if (reply.memories !== null) return readEvidence(route.bank, reply.seq);
  const given = (await findCopies(reply)).find(({ line }) => line.memories !== null); // others only heard it
  return given ? readEvidence(given.bank, given.line.seq) : lines && recallAgain(prompt, lines);
}

/** The memories of a reply as they are stored with it. */
export async function readEvidence(bank, seq) {
  const evidence = await get(bankPath(`/lines/${seq}/evidence`, bank));
  const shared = Object.entries(evidence.shared).map(([bank, lines]) => ({ bank, lines }));
  return { ...evidence, hits: normalizeHits(evidence.hits), shared, bank };
}

/** What is recalled for a message today, as of its time. */
async function recallAgain(prompt, lines) {
  const exclude = lines.map((line) => line.seq).filter((seq) => seq > 0);
  const { budget } = replyOptions();
  const query = { query: prompt.text, as_of: prompt.said_at, exclude, ...(budget && { budget }) };
  const { hits, corrects } = await post(bankPath("/context"), query);
  return { hits: normalizeHits(hits), corrects, recalledAgain: true };
}

/** Merge hits whose passages share a line into one card, the best first. corrects: for each corrected line, by seq, the
 * line whose position it takes. */
export function mergeHits(hits, corrects) {
  const positionOf = ({ seq }) => corrects[seq] ?? seq;
  const cards = [];
  for (const hit of hits) {
    const passage = hit.passage.length ? hit.passage : [hit.line];
    const seqs = new Set(passage.map((line) => line.seq));
    const card = cards.find((other) => isPassage(hit) && isPassage(other.hits[0]) && other.passage.some(({ seq }) => seqs.has(seq)));
    if (!card) cards.push({ hits: [hit], passage: [...passage] });
    else {
      card.hits.push(hit);
      const added = passage.filter((line) => !card.passage.some((known) => known.seq === line.seq));
      card.passage = [...card.passage, ...added].sort((a, b) => positionOf(a) - positionOf(b));
    }
  }
  return cards;
}

const isPassage = (hit) => hit.passage.length > 0; // a unit has none

/** A context without forgotten lines. */
export function withoutLines(context, seqs) {
  const isLeft = (line) => !seqs.has(line.seq);
  const hits = context.hits
    .filter((hit) => hit.kind !== "line" || isLeft(hit.line))
    .map((hit) => ({ ...hit, passage: hit.passage.filter(isLeft) }));
  const kept = context.kept.filter(isLeft);
  const gone = context.hits.length - hits.length + context.kept.length - kept.length;
  return { ...context, hits, kept, forgotten: context.forgotten + gone, promptRead: undefined };
}

/** A context in which a line is marked as corrected. */
export function withCorrection(context, old, line) {
  const mark = (shown) => (shown.seq === old ? { ...shown, retracted_at: shown.retracted_at ?? line.said_at } : shown);
  const hits = context.hits.map((hit) => ({ ...hit, line: mark(hit.line), passage: hit.passage.map(mark) }));
  const corrections = Object.fromEntries(
    Object.entries(context.corrections).map(([seq, shown]) => [seq, shown.seq === old ? line : shown]),
  );
  const isShown = hits.some((hit) => hit.line.seq === old || hit.passage.some((shown) => shown.seq === old));
  return { ...context, hits, promptRead: undefined, corrections: isShown ? { ...corrections, [old]: line } : corrections };
}
