// Why a memory was found: the signals of its score, each with a description; its name in the API is the tooltip.

import { h, textElement, truncate } from "./dom.js";

const SIGNAL_LABELS = {
  score: "overall score",
  relevance: "estimated chance that it is relevant",
  cosine: "similar in meaning",
  cosine_near: "similar in meaning, with neighbouring messages",
  cosine_session: "similar in meaning, best message of its chat",
  bm25_window: "rare words in common, with neighbouring messages",
  bm25_session: "rare words in common, whole chat",
  share: "share of the question's words in it",
  share_window: "share of the question's words in it and its neighbours",
  empty: "only a question or small talk",
  asks: "asks a question",
  length: "length",
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

/** Folded tables with the signals of each hit that are not zero. */
export function signalDetails(hits) {
  const tables = hits.map(({ line, score, relevance, signals }) => {
    const all = [["score", score], ["relevance", relevance], ...Object.entries(signals)];
    const rows = all.map(([name, value]) => [name, Number(value).toFixed(3)]).filter(([, value]) => Number(value));
    const excerpt = hits.length > 1 && textElement("p", truncate(line.text, 40), { class: "small excerpt" });
    return [excerpt, h("table", { class: "signals" }, tableBody(rows))];
  });
  return h("details", {}, h("summary", {}, "Why it was found"), tables);
}

const tableBody = (rows) =>
  h(
    "tbody",
    {},
    rows.map(([name, value]) =>
      h("tr", { title: name }, h("th", { scope: "row" }, SIGNAL_LABELS[name] ?? name), h("td", {}, value)),
    ),
  );
