// Mathematics in Markdown: $…$, $$…$$, \(…\) and \[…\], drawn by KaTeX, which is loaded with the first formula.

import { loadOnce } from "./loadonce.js";

const INLINE =
  /\$\$([^]{1,2000}?)\$\$|\\\[([^]{1,2000}?)\\\]|\\\(([^]{1,2000}?)\\\)|\$(?![\s$])([^$\n]{0,500}?[^\s$\\])\$(?![\d$])/y;
const CLOSING = { $$: "$$", "\\[": "\\]" }; // by opening
const MAX_ROWS = 100; // of a formula between its delimiters
const MAX_FORMULA_CHARS = 5_000;
const MAX_FORMULAS = 1_000; // of a reply; further ones stay as they were written
const OPTIONS = { throwOnError: true, trust: false, strict: "ignore", maxSize: 20, maxExpand: 500 };

const loadKatex = loadOnce(() => import("./vendor/katex/katex.min.js"), "./vendor/katex/katex.min.css");

/** Add the rules for formulas to a markdown-it. */
export function addMathRules(markdown) {
  const { rules } = markdown.renderer;
  const { escapeHtml } = markdown.utils;
  markdown.inline.ruler.before("escape", "math", inlineFormula);
  markdown.block.ruler.before("fence", "math_block", blockFormula, { alt: ["paragraph", "reference", "blockquote"] });
  rules.math = (tokens, index) => `<span class="${tokens[index].info}">${escapeHtml(tokens[index].content)}</span>`;
  rules.math_block = (tokens, index) => `<div class="math display">${escapeHtml(tokens[index].content)}</div>`;
}

function inlineFormula(state, silent) {
  const first = state.src.charAt(state.pos);
  if (first !== "$" && first !== "\\") return false;
  INLINE.lastIndex = state.pos;
  const found = INLINE.exec(state.src);
  if (!found || found.index + found[0].length > state.posMax) return false;
  if (!silent) {
    const token = state.push("math", "", 0);
    token.content = found.slice(1).find((part) => part !== undefined);
    token.info = found[1] ?? found[2] ? "math display" : "math";
  }
  state.pos += found[0].length;
  return true;
}

/** A formula on rows of its own. */
function blockFormula(state, first, end, silent) {
  const start = state.bMarks[first] + state.tShift[first];
  const closing = CLOSING[state.src.slice(start, start + 2)];
  if (!closing || state.sCount[first] - state.blkIndent >= 4) return false;
  const rows = [];
  for (let row = first; row < Math.min(end, first + MAX_ROWS); row++) {
    const from = row === first ? start + 2 : state.bMarks[row] + state.tShift[row];
    rows.push(state.src.slice(from, state.eMarks[row]));
    if (!rows.at(-1).trimEnd().endsWith(closing)) continue;
    if (silent) return true;
    const token = state.push("math_block", "", 0);
    token.content = rows.join("\n").trimEnd().slice(0, -2);
    token.map = [first, row + 1];
    state.line = row + 1;
    return true;
  }
  return false;
}

/** Draw all formulas in a fragment; if KaTeX isn't loaded yet, later. */
export function drawFormulas(fragment) {
  const formulas = [...fragment.querySelectorAll(".math")].slice(0, MAX_FORMULAS);
  if (!formulas.length) return;
  if (globalThis.katex) formulas.forEach(draw);
  else
    loadKatex().then(
      () => formulas.forEach(draw),
      () => {},
    );
}

/** Draw one formula; what KaTeX doesn't understand stays as it was written. */
function draw(element) {
  const { textContent } = element;
  if (textContent.length > MAX_FORMULA_CHARS) return;
  const displayMode = element.classList.contains("display");
  try {
    const tree = globalThis.katex.__renderToDomTree(textContent, { ...OPTIONS, displayMode });
    removeStyleAttributes(tree);
    element.replaceChildren(tree.toNode());
    element.classList.add("drawn");
  } catch {
    element.classList.add("unclear");
  }
}

/** Remove what the page's policy forbids. KaTeX sets all styles that matter by other means. */
function removeStyleAttributes(node) {
  delete node.attributes?.style;
  for (const child of node.children ?? []) removeStyleAttributes(child);
}
