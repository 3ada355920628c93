// The search over everything said in a bank: first every message that contains the words, then what is similar in meaning.

import { bankPath, normalizeHits, post } from "./api.js";
import { shortDate } from "./dates.js";
import { byId, fill, h, textElement } from "./dom.js";
import { speakerName } from "./line.js";
import { announce, withErrorsOf } from "./notices.js";
import { hashOf } from "./router.js";
import { highlight, isRelevant, searchPattern } from "./searchresults.js";
import { formatNumber, t } from "./words.js";

const LINES_PER_PAGE = 50;
const MAX_SIMILAR = 20;

export class Search {
  constructor(box, filter) {
    Object.assign(this, { box, filter });
    withErrorsOf(this, "start", "more");
  }

  get query() {
    return byId("query").value.trim();
  }

  async start() {
    this.running?.abort();
    const running = (this.running = new AbortController());
    const { query } = this;
    const where = await this.filter.readWhere();
    const found = (path, body) => post(bankPath(path), { ...body, where }, { signal: running.signal });
    const [exact, similar] = await Promise.all([
      found("/search", { text: query, limit: LINES_PER_PAGE }),
      found("/recall", { query, k: MAX_SIMILAR }),
    ]);
    if (query !== this.query || running.signal.aborted) return;
    Object.assign(this, { exact: exact.items, next: exact.next, where, reading: false });
    this.similar = normalizeHits(similar.items).filter(isRelevant);
    this.render();
    announce(this.box.firstElementChild.textContent);
    this.box.scrollTop = 0;
  }

  /** Read more messages that contain the words. */
  async more() {
    if (!this.next || this.reading) return;
    this.reading = true;
    const { exact, query, where, next } = this;
    const body = { text: query, where, before: next, limit: LINES_PER_PAGE };
    const page = await post(bankPath("/search"), body).finally(() => (this.reading = false));
    if (exact !== this.exact) return;
    Object.assign(this, { exact: [...exact, ...page.items], next: page.next, reading: false });
    this.render();
  }

  render() {
    const words = searchPattern(this.query);
    const known = new Set(this.exact.map((line) => line.seq));
    const similar = this.similar.map((hit) => hit.line).filter((line) => !known.has(line.seq));
    const item = (line) => foundLine(line, words);
    const count = `${formatNumber(this.exact.length)}${this.next ? "+" : ""}`;
    const parts = [
      this.exact.length > 0 && resultList(t("search.exact", { count }), this.exact.map(item)),
      !this.next && similar.length > 0 && resultList(t("search.similar"), similar.map(item)),
    ];
    fill(this.box, parts.some(Boolean) ? parts : h("p", { class: "empty" }, t("search.none")));
  }
}

const resultList = (heading, items) => [h("h2", { class: "small" }, heading), h("ul", {}, items)];

function foundLine(line, words) {
  return h(
    "li",
    {},
    h(
      "a",
      { class: "session", href: hashOf({ view: "read", session: line.session, seq: line.seq }) },
      h("span", { class: "small" }, textElement("b", speakerName(line)), ` · ${shortDate(line.said_at)}`),
      textElement("span", highlight(line.text, words), { class: "preview" }),
    ),
  );
}
