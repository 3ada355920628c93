// Search results: which hits to show, and their excerpts with the words of the search marked.

import { h } from "./dom.js";
import { COMMON_WORDS } from "./reasons.js";

// A hit below either of these is not shown. The cosine matters in small banks, where any line may seem relevant.
const MIN_RELEVANCE = 0.02;
const MIN_COSINE = 0.25;
const MAX_EXCERPT_CHARS = 160;
const LEADING_CHARS = 40; // before the first marked word
const SHORT_WORDS = "a an at be by do he i in is it me my of on to we".split(" "); // besides the common ones

/** A pattern that finds the words of a search, also as parts of words; null if there are none. Common words are ignored
 * unless there is nothing else. */
export function searchPattern(query) {
  const all = query.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  const contentWords = all.filter((word) => !COMMON_WORDS.has(word) && !SHORT_WORDS.includes(word));
  const words = (contentWords.length ? contentWords : all).sort((a, b) => b.length - a.length);
  return words.length ? new RegExp(words.join("|"), "giu") : null;
}

/** Whether a hit is relevant enough to be shown. */
export const isRelevant = ({ relevance, signals }) =>
  relevance >= MIN_RELEVANCE && (signals.cosine ?? 1) >= MIN_COSINE;

/** An excerpt around the first word that was found, with every such word marked. */
export function highlight(text, words) {
  const first = words ? text.search(words) : -1;
  const start = first > MAX_EXCERPT_CHARS - LEADING_CHARS ? first - LEADING_CHARS : 0;
  const part = text.slice(start, start + MAX_EXCERPT_CHARS);
  const parts = [start ? "…" : ""];
  let at = 0;
  for (const found of words ? part.matchAll(words) : []) {
    parts.push(part.slice(at, found.index), h("mark", {}, found[0]));
    at = found.index + found[0].length;
  }
  return [...parts, part.slice(at), start + MAX_EXCERPT_CHARS < text.length ? "…" : ""];
}
