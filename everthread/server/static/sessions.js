// The list of a bank's conversations, and the search over everything said in it.

import { bankPath, get, normalizeHits, post } from "./api.js";
import { countOf, monthName, shortDate } from "./dates.js";
import { button, byId, fill, h, textElement } from "./dom.js";
import { emit, on } from "./events.js";
import { speakerName } from "./line.js";
import { withErrors } from "./notices.js";
import { hashOf, navigate, route } from "./router.js";
import { filterRelevant, highlight, searchPattern } from "./searchresults.js";

const MAX_HITS = 20;
const SEARCH_DELAY_MS = 200; // after the last key

export class SessionList {
  constructor() {
    this.box = byId("session-list");
    this.items = [];
    this.next = null; // the cursor of the next page
    this.current = null; // the id of the running conversation
    this.read = withErrors(this.read.bind(this));
    this.readMore = withErrors(this.readMore.bind(this));
    this.search = withErrors(this.search.bind(this));
    byId("search").addEventListener("submit", (event) => (event.preventDefault(), this.search()));
    byId("query").addEventListener("input", () => this.onInput());
    byId("query").addEventListener("keydown", (event) => event.key === "Escape" && this.clearSearch());
    on("sessions-changed", () => this.read());
    on("bank", () => ((this.items = []), this.clearSearch()));
    on("route", () => this.query || this.render());
    on("state", (state) => ((this.current = state.session), this.query || this.render()));
    on("forgotten", () => (this.query ? this.search() : this.read()));
  }

  get query() {
    return byId("query").value.trim();
  }

  async read() {
    const { bank } = route;
    const page = await get(bankPath("/sessions?limit=50"));
    if (bank === route.bank) this.setItems(page.items, page.next);
  }

  async readMore() {
    const page = await get(bankPath(`/sessions?limit=50&after=${encodeURIComponent(this.next)}`));
    this.setItems([...this.items, ...page.items], page.next);
  }

  setItems(items, next) {
    Object.assign(this, { items, next });
    emit("sessions-loaded", items);
    if (!this.query) this.render();
  }

  render() {
    const months = [];
    for (const session of this.items.filter(({ id }) => id !== this.current)) {
      const name = monthName(session.last_at);
      if (months.at(-1)?.[0] !== name) months.push([name, []]);
      months.at(-1)[1].push(sessionItem(session));
    }
    fill(
      this.box,
      this.currentChat(),
      months.map(([name, items]) => [h("h2", { class: "small" }, name), h("ul", {}, items)]),
      this.next && button("Show older", () => this.readMore(), { class: "link" }),
      !this.items.length && h("p", { class: "empty" }, "Your chats appear here, newest first."),
    );
  }

  currentChat() {
    const preview = this.items.find((session) => session.id === this.current)?.opening;
    const shown = route.view === "talk" && route.session === "current";
    return h(
      "a",
      { class: "session", href: hashOf(), on: { click: () => shown && navigate() }, ...currentProps(shown) },
      h("span", { class: "current-chat" }, "Current chat"),
      preview && textElement("span", preview, { class: "preview" }),
    );
  }

  // ---- searching

  onInput() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => (this.query ? this.search() : this.render()), SEARCH_DELAY_MS);
  }

  clearSearch() {
    byId("query").value = "";
    this.render();
  }

  async search() {
    this.running?.abort();
    this.running = new AbortController();
    const { query } = this;
    const { items } = await post(bankPath("/recall"), { query, k: MAX_HITS }, { signal: this.running.signal });
    if (query !== this.query) return;
    const words = searchPattern(query);
    const hits = filterRelevant(normalizeHits(items), words);
    const count = `${countOf(hits.length, "result")}${hits.length > 1 ? ", best first" : ""}`;
    fill(
      this.box,
      h("p", { class: "small", role: "status" }, hits.length ? count : "No results"),
      h(
        "ul",
        {},
        hits.map((hit) => searchHit(hit, words)),
      ),
    );
    this.box.scrollTop = 0;
  }
}

const currentProps = (current) => (current ? { "aria-current": "page" } : {});

function sessionItem(session) {
  const href = hashOf({ view: "read", session: session.id });
  const shown = route.view === "read" && route.session === session.id;
  return h(
    "li",
    {},
    h(
      "a",
      { class: "session", href, ...currentProps(shown) },
      textElement("span", session.title || session.opening || session.summary || "Untitled chat", { class: "preview" }),
      h("span", { class: "small" }, `${shortDate(session.last_at)} · ${countOf(session.lines, "message")}`),
    ),
  );
}

function searchHit({ line }, words) {
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
