// The figures behind a memory. What its percentage measures depends on the recipe; a hit's signals show which it is.

import { h } from "./dom.js";
import { formatNumber, hasText, parts, t } from "./words.js";

const NEUTRAL_COSINE = 0.2; // about the mean of unrelated texts; also stands for an unknown cosine
const COSINE_TOLERANCE = 0.005;
const TIME_QUESTION_RELEVANCE = 0.9; // of every line that answers a question about nothing but a time

/** The figures behind a hit, folded. */
export function relevanceDetails(hit) {
  return h(
    "details",
    { class: "figures" },
    h("summary", {}, t("relevance.details")),
    h("p", { class: "small" }, parts(`measure.${measureOf(hit)}`, { percent: h("strong", {}, percentOf(hit)) })),
    reasonList(hit),
    signalTable(hit),
  );
}

const percentOf = ({ relevance }) => formatNumber(relevance, { style: "percent" });

function measureOf({ kind, relevance, signals }) {
  if (kind === "line" && "share_window" in signals)
    return relevance === TIME_QUESTION_RELEVANCE ? "time" : "probability";
  if ("confidence" in signals) return "confidence";
  if (kind === "line" && "keywords" in signals) return "words";
  if ("cosine" in signals || "distance" in signals) return "similarity";
  return "share" in signals || "words" in signals ? "words" : "other";
}

/** What raised and what lowered a probability: signals that have the same effect in every kind of conversation. */
export function reasonsOf({ cosine, bm25_window, day, month, time, standing, asks, empty, person }) {
  const isUnlike = cosine < NEUTRAL_COSINE - COSINE_TOLERANCE;
  const isAlike = cosine > NEUTRAL_COSINE + COSINE_TOLERANCE;
  const raised = [
    isAlike && t("signal.cosine"),
    bm25_window > 0 && t("signal.keywords"),
    day > 0 ? t("signal.day") : month > 0 && t("signal.month"),
    time > 0 && (isAlike || isUnlike) && t("signal.time"), // has no weight without cosines
    standing > 0 && t("signal.standing"),
  ];
  const lowered = [
    isUnlike && t("signal.unlike"),
    asks > 0 && t("signal.asks"),
    empty > 0 && t("signal.empty"),
    person === 0 && t("signal.by_character"),
  ];
  return { raised: raised.filter(Boolean), lowered: lowered.filter(Boolean) };
}

function reasonList(hit) {
  if (measureOf(hit) !== "probability") return null;
  const { raised, lowered } = reasonsOf(hit.signals);
  const row = (label, reasons) => [h("dt", {}, label), h("dd", {}, reasons.join(", ") || t("relevance.nothing"))];
  return h("dl", { class: "facts" }, row(t("relevance.raised"), raised), row(t("relevance.lowered"), lowered));
}

/** The score, the relevance and the signals that are not zero. A signal's name in the API is its tooltip. */
function signalTable({ score, relevance, signals }) {
  const rows = [["score", score], ["relevance", relevance], ...Object.entries(signals)]
    .map(([name, value]) => [name, Number(value).toFixed(3)])
    .filter(([, value]) => Number(value));
  return h(
    "table",
    { class: "signals" },
    h("caption", {}, t("relevance.all")),
    h(
      "tbody",
      {},
      rows.map(([name, value]) =>
        h("tr", { title: name }, h("th", { scope: "row" }, hasText(`signal.${name}`) ? t(`signal.${name}`) : name), h("td", {}, value)),
      ),
    ),
  );
}
