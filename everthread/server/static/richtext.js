// Markdown in full: markdown-it parses it without HTML, DOMPurify admits the few elements below, and nothing that a
// reply names is loaded from elsewhere.

import { codeBlock, highlight } from "./codeblock.js";
import { h } from "./dom.js";
import { addMathRules, drawFormulas } from "./mathematics.js";
import MarkdownIt from "./vendor/markdown-it/markdown-it.esm.min.mjs";
import "./vendor/dompurify/purify.min.js";
import { t } from "./words.js";

const LINK = /^(?:https?:\/\/|mailto:)/i;
const MAX_NESTING = 24; // of quotes and lists
const SANITIZED = {
  ALLOWED_TAGS: (
    "a blockquote br code div em h1 h2 h3 h4 h5 h6 hr li ol p pre s span strong table tbody td th thead tr ul"
  ).split(" "),
  ALLOWED_ATTR: ["href", "class", "start"],
  ALLOWED_URI_REGEXP: LINK,
  RETURN_DOM_FRAGMENT: true,
};
const WITH_OWN_DIRECTION = "p, li, h1, h2, h3, h4, h5, h6, td, th";
const TASK = /^\[([ xX])\] +/;

const markdown = new MarkdownIt({ breaks: true, html: false, linkify: true, maxNesting: MAX_NESTING });
markdown.validateLink = (url) => LINK.test(url);
markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false });
markdown.core.ruler.push("alignment", nameAlignments);
markdown.renderer.rules.image = imageLink;
addMathRules(markdown);

/** The elements of a text, in a fragment. */
export const render = (text) => elements(markdown.parse(text, {}));

/** The elements of a text that is still growing, all blocks but the last apart: those are finished. */
export function renderGrowing(text) {
  const tokens = markdown.parse(text, {});
  const last = tokens.findLastIndex((token) => token.level === 0 && token.nesting >= 0);
  return {
    settled: elements(tokens.slice(0, Math.max(0, last))).children,
    live: elements(tokens.slice(Math.max(0, last))).children,
    settledChars: last > 0 ? startOfRow(text, tokens[last].map[0]) : 0,
  };
}

function startOfRow(text, row) {
  const breaks = text.matchAll(/\r\n?|\n/g);
  let start = 0;
  for (let at = 0; at < row; at++) {
    const { value } = breaks.next();
    start = value.index + value[0].length;
  }
  return start;
}

function elements(tokens) {
  const html = markdown.renderer.render(tokens, markdown.options, {});
  const fragment = globalThis.DOMPurify.sanitize(html, SANITIZED);
  for (const element of fragment.querySelectorAll(WITH_OWN_DIRECTION)) element.dir = "auto";
  for (const link of fragment.querySelectorAll("a")) openElsewhere(link);
  for (const item of fragment.querySelectorAll("li")) showTask(item);
  for (const table of fragment.querySelectorAll("table")) makeScrollable(table);
  for (const code of fragment.querySelectorAll("pre > code")) code.parentElement.replaceWith(codeBlock(code));
  levelHeadings(fragment);
  highlight(fragment);
  drawFormulas(fragment);
  return fragment;
}

function openElsewhere(link) {
  if (!link.hasAttribute("href")) return void link.replaceWith(...link.childNodes);
  Object.assign(link, { rel: "noopener noreferrer nofollow", target: "_blank", title: link.href });
}

/** An image is not loaded, which would tell its server of the reader; it is a link that opens it. */
function imageLink(tokens, index) {
  const { escapeHtml } = markdown.utils;
  const url = tokens[index].attrGet("src");
  const host = URL.canParse(url) ? new URL(url).host : "";
  return `<a class="image" href="${escapeHtml(url)}">${escapeHtml(`${tokens[index].content || t("text.image")} (${host})`)}</a>`;
}

/** Show "[x] " at the start of an item as a box that is checked. */
function showTask(item) {
  const start = item.firstElementChild?.tagName === "P" ? item.firstElementChild : item;
  const text = start.firstChild;
  const found = text?.nodeType === Node.TEXT_NODE && TASK.exec(text.data.trimStart());
  if (!found) return;
  const done = found[1] !== " ";
  text.data = text.data.trimStart().slice(found[0].length);
  start.prepend(h("input", { type: "checkbox", checked: done, disabled: true, "aria-label": done ? t("text.done") : t("text.to_do") }));
  item.classList.add("task");
}

function makeScrollable(table) {
  const box = h("div", { class: "table", tabindex: "0", role: "group", "aria-label": t("text.table") });
  table.replaceWith(box);
  box.append(table);
}

/** Name the alignment of a table's cells by classes: the page's policy allows no styles in attributes. */
function nameAlignments(state) {
  for (const token of state.tokens) {
    const style = /^t[hd]$/.test(token.tag) ? token.attrGet("style") : null;
    if (style) token.attrs = [["class", style.replace("text-align:", "align-")]];
  }
}

/** Fit the headings below the page's own, without skipping a level. Their looks follow the original level. */
function levelHeadings(fragment) {
  let before = 1;
  for (const heading of fragment.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    const level = Number(heading.tagName[1]);
    before = Math.min(level + 1, before + 1, 6);
    heading.replaceWith(h(`h${before}`, { class: `level-${level}`, dir: "auto" }, ...heading.childNodes));
  }
}
