// The figures behind a memory. What its percentage measures depends on the recipe; a hit's signals show which it is.

import { h } from "./dom.js";

const NEUTRAL_COSINE = 0.2; // about the mean of unrelated texts; also stands for an unknown cosine
const COSINE_TOLERANCE = 0.005;
const TIME_QUESTION_RELEVANCE = 0.9; // of every line that answers a question about nothing but a time

const MEASURES = {
  probability:
    "is the estimated probability that this memory is relevant to what you said, calibrated on conversations with " +
    "known answers. It is lower if nothing in this bank seems to fit, or if other messages fit as well.",
  time: "is a fixed value: you asked about a time, and this was said then.",
  confidence: "is a matching model's estimate that this answers you.",
  similarity: "is how similar in meaning it is to what you said. It is not a probability.",
  words: "of your main words occur in it. It is not a probability.",
  other: "is how well it matches, as this bank's recipe measures it.",
};

const SIGNAL_LABELS = {
  score: "overall score",
  cosine: "similar in meaning",
  cosine_near: "similar in meaning, with neighbouring messages",
  cosine_session: "similar in meaning, best message of its chat",
  bm25_window: "rare words in common, with neighbouring messages",
  bm25_session: "rare words in common, whole chat",
  share: "share of the question's words in it",
  share_window: "share of the question's words in it and its neighbours",
  empty: "only a question or small talk",
  asks: "asks a question",
  speaker: "said by the person in question; below 0, by someone else",
  person: "said by a person, not by the character",
  day: "said on the day in question",
  month: "said in the month in question",
  answers: "answers a question",
  time: "gives the time that was asked for",
  distance: "distance in meaning; smaller is closer",
  confidence: "confidence of the judge",
  keywords: "words in common",
  recency_importance: "recency and importance",
};

/** The figures behind a hit, folded. */
export function relevanceDetails(hit) {
  return h(
    "details",
    { class: "figures" },
    h("summary", {}, "Details"),
    h("p", { class: "small" }, h("strong", {}, percentOf(hit)), ` ${measureOf(hit)}`),
    reasonList(hit),
    signalTable(hit),
  );
}

const percentOf = ({ relevance }) => `${Math.round(relevance * 100)}%`;

function measureOf({ kind, relevance, signals }) {
  if (kind === "line" && "share_window" in signals)
    return relevance === TIME_QUESTION_RELEVANCE ? MEASURES.time : MEASURES.probability;
  if ("confidence" in signals) return MEASURES.confidence;
  if (kind === "line" && "keywords" in signals) return MEASURES.words;
  if ("cosine" in signals || "distance" in signals) return MEASURES.similarity;
  return "share" in signals || "words" in signals ? MEASURES.words : MEASURES.other;
}

/** What raised and what lowered a probability: signals that have the same effect in every kind of conversation. */
export function reasonsOf({ cosine, bm25_window, day, month, time, asks, empty, person }) {
  const isUnlike = cosine < NEUTRAL_COSINE - COSINE_TOLERANCE;
  const isAlike = cosine > NEUTRAL_COSINE + COSINE_TOLERANCE;
  const raised = [
    isAlike && "similar in meaning",
    bm25_window > 0 && "words in common",
    day > 0 ? "said on the day in question" : month > 0 && "said in the month in question",
    time > 0 && (isAlike || isUnlike) && "gives the time that was asked for", // has no weight without cosines
  ];
  const lowered = [
    isUnlike && "not similar in meaning",
    asks > 0 && "asks a question",
    empty > 0 && "only a question or small talk",
    person === 0 && "said by the character",
  ];
  return { raised: raised.filter(Boolean), lowered: lowered.filter(Boolean) };
}

function reasonList(hit) {
  if (measureOf(hit) !== MEASURES.probability) return null;
  const { raised, lowered } = reasonsOf(hit.signals);
  const row = (label, reasons) => [h("dt", {}, label), h("dd", {}, reasons.join(", ") || "nothing")];
  return h("dl", { class: "facts" }, row("Raised by", raised), row("Lowered by", lowered));
}

/** The score, the relevance and the signals that are not zero. A signal's name in the API is its tooltip. */
function signalTable({ score, relevance, signals }) {
  const rows = [["score", score], ["relevance", relevance], ...Object.entries(signals)]
    .map(([name, value]) => [name, Number(value).toFixed(3)])
    .filter(([, value]) => Number(value));
  return h(
    "table",
    { class: "signals" },
    h("caption", {}, "All measurements"),
    h(
      "tbody",
      {},
      rows.map(([name, value]) =>
        h("tr", { title: name }, h("th", { scope: "row" }, SIGNAL_LABELS[name] ?? name), h("td", {}, value)),
      ),
    ),
  );
}
