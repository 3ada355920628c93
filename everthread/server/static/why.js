// Why a memory was found: the numbers behind it, each in plain words; what it is called in the code is its title.

import { cut, h, said } from "./dom.js";

const MEANINGS = {
  score: "score: all of it together",
  relevance: "relevance: the chance that it bears on it",
  cosine: "near in meaning",
  cosine_near: "near in meaning, with the lines beside it",
  cosine_session: "near in meaning, the best of its conversation",
  bm25_window: "rare words in common, with the lines beside it",
  bm25_session: "rare words in common, its whole conversation",
  share: "how much of what was asked stands in it",
  share_window: "how much of it stands in it and beside it",
  empty: "it only asks, or is small talk",
  asks: "it asks something",
  length: "how long it is",
  speaker: "said by whom the question names; below 0, by another",
  person: "said by a person, not by the character",
  day: "said on the day that is asked about",
  month: "said in the month that is asked about",
  answers: "it answers a question",
  time: "it tells the time that is asked for",
  distance: "how far it is in meaning; nearer is less",
  confidence: "how sure the judge of it is",
  keywords: "words in common",
  recency_importance: "how new and how weighty it is",
};

/** The numbers that made it be found, folded away; those that are zero say nothing. */
export function why(hits) {
  const tables = hits.map(({ line, score, relevance, signals }) => {
    const all = [["score", score], ["relevance", relevance], ...Object.entries(signals)];
    const rows = all.map(([name, value]) => [name, Number(value).toFixed(3)]).filter(([, value]) => Number(value));
    const about = hits.length > 1 && said("p", cut(line.text, 40), { class: "small about" });
    return [about, h("table", { class: "signals" }, body(rows))];
  });
  return h("details", {}, h("summary", {}, "Why it was found"), tables);
}

const body = (rows) =>
  h(
    "tbody",
    {},
    rows.map(([name, value]) =>
      h(
        "tr",
        { title: name },
        h("th", { scope: "row" }, MEANINGS[name] ?? name),
        h("td", {}, value),
      ),
    ),
  );
