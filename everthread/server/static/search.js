// What a search found: which of it bears on the words, and the words in it marked.

import { h } from "./dom.js";

const FLOOR = 0.02; // relevance below which a line is shown only if it holds a word of the search
const NEAR = 0.25; // likewise its nearness in meaning: where little was said, any of it may seem relevant
const SHOWN = 160; // characters of a line
const LEAD = 40; // of them before the first word that was searched
const SMALL = new Set(
  `a about an and any are at be but by can could did do does for from had has have he her him his how i if in is it its
   me my not of on or our she should so that the their them then there they this to us was we were what when where
   which who why will with would you your`.split(/\s+/),
);

/** Finds the words of a search, also where they go on ("sail" in "sails"); null where it has none that tell anything. */
export function pattern(query) {
  const all = query.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  const telling = all.filter((word) => !SMALL.has(word));
  const words = (telling.length ? telling : all).sort((a, b) => b.length - a.length).map(one);
  return words.length ? new RegExp(words.join("|"), "giu") : null;
}

/** A word begins where no other goes on, but for scripts that write words without spaces. */
const one = (word) => (/^[\p{Script=Latin}\p{Script=Cyrillic}\p{N}]/u.test(word) ? `(?<![\\p{L}\\p{N}])${word}` : word);

/** Those of the hits that bear on what is searched. */
export function bearing(hits, words) {
  const near = ({ relevance, signals }) => relevance >= FLOOR && (signals.cosine ?? 1) >= NEAR;
  return hits.filter((hit) => near(hit) || (words && hit.line.text.search(words) >= 0));
}

/** A line's text about the first of the words, all of them marked. */
export function marked(text, words) {
  const first = words ? text.search(words) : -1;
  const start = first > SHOWN - LEAD ? first - LEAD : 0;
  const part = text.slice(start, start + SHOWN);
  const parts = [start ? "…" : ""];
  let at = 0;
  for (const found of words ? part.matchAll(words) : []) {
    parts.push(part.slice(at, found.index), h("mark", {}, found[0]));
    at = found.index + found[0].length;
  }
  return [...parts, part.slice(at), start + SHOWN < text.length ? "…" : ""];
}
