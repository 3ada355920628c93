// The conversations of a bank, and the search over everything ever said in it.

import { get, inBank, post } from "./api.js";
import { on, tell } from "./bus.js";
import { counted, month, short } from "./dates.js";
import { at, button, fill, h, said } from "./dom.js";
import { address, here } from "./here.js";
import { called } from "./line.js";
import { careful } from "./notices.js";
import { bearing, marked, pattern } from "./search.js";

const FOUND = 20;
const PAUSE = 200; // milliseconds without a key before it is searched

export class Sessions {
  constructor() {
    this.box = at("past");
    this.items = [];
    this.next = null;
    this.read = careful(this.read.bind(this));
    this.search = careful(this.search.bind(this));
    at("search").addEventListener("submit", (event) => (event.preventDefault(), this.search()));
    at("query").addEventListener("input", () => this.typed());
    at("query").addEventListener("keydown", (event) => event.key === "Escape" && this.leave());
    on("sessions", () => this.read());
    on("bank", () => ((this.items = []), this.leave()));
    on("place", () => this.query || this.render());
    on("state", (state) => ((this.current = state.session), this.query || this.render()));
    on("forgotten", () => (this.query ? this.search() : this.read()));
  }

  get query() {
    return at("query").value.trim();
  }

  async read() {
    const bank = here.bank;
    const page = await get(inBank("/sessions?limit=50"));
    if (bank === here.bank) this.take(page.items, page.next);
  }

  async more() {
    const page = await get(inBank(`/sessions?limit=50&after=${encodeURIComponent(this.next)}`));
    this.take([...this.items, ...page.items], page.next);
  }

  take(items, next) {
    Object.assign(this, { items, next });
    tell("listed", items);
    if (!this.query) this.render();
  }

  render() {
    const groups = [];
    for (const each of this.items.filter((each) => each.id !== this.current)) {
      const name = month(each.last_at);
      if (groups.at(-1)?.[0] !== name) groups.push([name, []]);
      groups.at(-1)[1].push(this.entry(each));
    }
    fill(
      this.box,
      this.now(),
      groups.map(([name, entries]) => [h("h2", { class: "small" }, name), h("ul", {}, entries)]).flat(),
      this.next &&
        button(
          "Earlier ones",
          careful(() => this.more()),
          { class: "link" },
        ),
      !this.items.length && h("p", { class: "nothing" }, "Conversations are listed here, newest first."),
    );
  }

  now() {
    const opening = this.items.find((each) => each.id === this.current)?.opening;
    const chosen = here.view === "talk" && here.session === "current";
    return h(
      "a",
      { class: "session", href: address(), ...mark(chosen) },
      h("span", { class: "now" }, "The conversation now"),
      opening && said("span", opening, { class: "opening" }),
    );
  }

  entry(each) {
    const place = address({ view: "read", session: each.id });
    const chosen = here.view === "read" && here.session === each.id;
    return h(
      "li",
      {},
      h(
        "a",
        { class: "session", href: place, ...mark(chosen) },
        said("span", each.opening || each.summary || "A conversation", { class: "opening" }),
        h("span", { class: "small" }, `${short(each.last_at)} · ${counted(each.lines, "line")}`),
      ),
    );
  }

  // --------------------------------------------------------------- searching

  typed() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => (this.query ? this.search() : this.render()), PAUSE);
  }

  leave() {
    at("query").value = "";
    this.render();
  }

  async search() {
    this.asking?.abort();
    this.asking = new AbortController();
    const query = this.query;
    const { items } = await post(inBank("/recall"), { query, k: FOUND }, { signal: this.asking.signal });
    if (query !== this.query) return;
    const words = pattern(query);
    const hits = bearing(items, words);
    const many = hits.length > 1 ? `${counted(hits.length, "place")}, the most fitting first` : "1 place";
    fill(
      this.box,
      h("p", { class: "small", role: "status" }, hits.length ? many : "Nothing was said about that."),
      h(
        "ul",
        {},
        hits.map((hit) => found(hit, words)),
      ),
    );
    this.box.scrollTop = 0;
  }
}

const mark = (chosen) => (chosen ? { "aria-current": "page" } : {});

function found({ line }, words) {
  return h(
    "li",
    {},
    h(
      "a",
      { class: "session", href: address({ view: "read", session: line.session, seq: line.seq }) },
      h("span", { class: "small" }, said("b", called(line)), ` · ${short(line.said_at)}`),
      said("span", marked(line.text, words), { class: "opening" }),
    ),
  );
}
