// The Markdown of replies. Plain paragraphs are drawn here; for anything more, richtext.js and its libraries are loaded.

import { fill, h } from "./dom.js";
import { loadOnce } from "./loadonce.js";

const MARKUP = /[*_`~#>|[\]\\$]|https?:|&#?\w+;|^ {0,3}(?:[-+]|\d{1,9}[.)])\s|^ {0,3}[-=]{3}|^(?: {4}|\t)/m;
const MAX_MARKDOWN_CHARS = 100_000; // longer texts are shown as they are
const IDLE_PER_DRAW = 3; // times as long as drawing took, until a growing text is drawn again
const MIN_WAIT_MS = 16;

const loadRichText = loadOnce(() => import("./richtext.js"), "./markdown.css");
let rich = null; // the module, once it is loaded

const needsRichText = (text) => text.length <= MAX_MARKDOWN_CHARS && MARKUP.test(text);

/** Load the libraries; without a connection to the server, texts stay plain. */
const whenRich = (act) =>
  loadRichText().then(
    (module) => ((rich = module), act()),
    () => {},
  );

/** An element with a text's Markdown. Until the libraries are loaded, it shows the text as it is. */
export function renderMarkdown(text) {
  const box = h("div", { class: "markdown" });
  const draw = () => fill(box, rich && needsRichText(text) ? rich.render(text) : paragraphs(text));
  draw();
  if (!rich && needsRichText(text)) whenRich(draw);
  return box;
}

const paragraphs = (text) =>
  text
    .split(/(?:\r?\n[ \t]*){2,}/)
    .filter((part) => part.trim())
    .map((part) => h("p", { dir: "auto", class: "plain" }, part.replace(/^\n+|\s+$/g, "")));

/** The Markdown of a growing text. Finished blocks stay as they are, and only the last one is drawn again. */
export class MarkdownStream {
  constructor() {
    this.element = h("div", { class: "markdown" });
    this.data = "";
    this.settledChars = 0; // whose blocks are finished
    this.live = []; // the elements of the rest
    this.timer = 0;
    this.waitMs = MIN_WAIT_MS;
  }

  appendData(piece) {
    this.data += piece;
    this.timer ||= setTimeout(() => this.draw(), this.waitMs);
  }

  draw() {
    const started = performance.now();
    this.timer = 0;
    if (!needsRichText(this.data)) this.drawPlain(this.data.lastIndexOf("\n\n"));
    else if (rich) this.drawRich();
    else (this.drawPlain(), whenRich(() => this.drawRich()));
    this.waitMs = Math.max(MIN_WAIT_MS, IDLE_PER_DRAW * (performance.now() - started));
  }

  /** Draw paragraphs; those before `end` are finished. */
  drawPlain(end = 0) {
    if (end > this.settledChars) this.settle(paragraphs(this.data.slice(this.settledChars, end)), end);
    this.replaceLive(paragraphs(this.data.slice(this.settledChars)));
  }

  drawRich() {
    const { settled, live, settledChars } = rich.renderGrowing(this.data.slice(this.settledChars));
    this.settle(settled, this.settledChars + settledChars);
    this.replaceLive(live);
  }

  settle(elements, end) {
    this.replaceLive(elements);
    this.live = [];
    this.settledChars = end;
  }

  replaceLive(elements) {
    for (const element of this.live) element.remove();
    this.live = [...elements];
    this.element.append(...this.live);
  }
}
