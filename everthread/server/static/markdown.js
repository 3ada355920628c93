// The Markdown of a reply: bold, italic, code, lists and paragraphs, as elements. Everything else, including links and
// images, stays text.

import { h } from "./dom.js";

const INLINE = new RegExp(
  [
    /`([^`\n]+)`/, // code
    /\*\*(?=\S)((?:[^*\n]|\*(?!\*))+)(?<=\S)\*\*/, // bold
    /(?<![\w*])\*(?=[^\s*])([^*\n]*)(?<=\S)\*(?![\w*])/, // italic
  ]
    .map((rule) => rule.source)
    .join("|"),
  "g",
);
const FENCE = /^ {0,3}```/;
const ITEM = /^ {0,3}(?:[-*•]|(\d{1,9})[.)]) +(?=\S)/;
const INLINE_TAGS = ["code", "strong", "em"];

export function renderMarkdown(text) {
  const rows = text.split("\n");
  const blocks = [];
  for (let at = 0; at < rows.length;) {
    const gap = blocks.length > 0 && !rows[at].trim();
    while (at < rows.length && !rows[at].trim()) at++;
    if (at === rows.length) break;
    const [block, next] = FENCE.test(rows[at])
      ? codeBlock(rows, at)
      : ITEM.test(rows[at])
        ? listBlock(rows, at)
        : paragraph(rows, at);
    if (gap) block.classList.add("gap");
    blocks.push(block);
    at = next;
  }
  return blocks;
}

function codeBlock(rows, from) {
  const end = rows.findIndex((row, at) => at > from && FENCE.test(row));
  const last = end < 0 ? rows.length : end;
  return [h("pre", {}, h("code", {}, rows.slice(from + 1, last).join("\n"))), last + 1];
}

function listBlock(rows, from) {
  const [, number] = ITEM.exec(rows[from]);
  const isSameKind = (row) => {
    const item = ITEM.exec(row ?? "");
    return item && Boolean(item[1]) === Boolean(number);
  };
  let to = from;
  while (isSameKind(rows[to])) to++;
  const items = rows.slice(from, to).map((row) => h("li", { dir: "auto" }, inlineElements(row.replace(ITEM, ""))));
  return [number ? h("ol", { start: number }, items) : h("ul", {}, items), to];
}

function paragraph(rows, from) {
  let to = from + 1;
  while (rows[to]?.trim() && !FENCE.test(rows[to]) && !ITEM.test(rows[to])) to++;
  return [h("p", { dir: "auto" }, inlineElements(rows.slice(from, to).join("\n"))), to];
}

function inlineElements(text) {
  const parts = [];
  let at = 0;
  for (const found of text.matchAll(INLINE)) {
    const kind = found.slice(1).findIndex((group) => group !== undefined);
    const inside = found[kind + 1];
    parts.push(text.slice(at, found.index), h(INLINE_TAGS[kind], {}, kind === 1 ? inlineElements(inside) : inside));
    at = found.index + found[0].length;
  }
  return [...parts, text.slice(at)];
}
