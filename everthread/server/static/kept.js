// What always stands before the character: pinned lines, and what this conversation keeps of what was remembered.

import { get, inBank, put } from "./api.js";
import { on, tell } from "./bus.js";
import { short } from "./dates.js";
import { button, cut, fill, h, said } from "./dom.js";
import { address } from "./here.js";
import { called } from "./line.js";
import { careful } from "./notices.js";

const QUOTED = 2_000; // characters of a line; all of it stands in its conversation

export class Kept {
  constructor(talk) {
    this.talk = talk;
    this.pinned = [];
    this.items = [];
    this.changed = () => {};
    on("pins", (lines) => ((this.pinned = lines), this.changed()));
    on("buffer", (items) => ((this.items = items), this.changed()));
    on("state", () => this.changed());
    on("forgotten", () => this.read());
    on("bank", () => ((this.pinned = this.items = []), this.changed()));
    this.read = careful(this.read.bind(this));
  }

  get path() {
    return inBank(`/sessions/${encodeURIComponent(this.talk.state.session)}/buffer`);
  }

  async read() {
    tell("pins", (await get(inBank("/pins"))).items);
    if (this.talk.state?.lines.length && !this.talk.state.incognito) tell("buffer", (await get(this.path)).items);
  }

  show(panel) {
    const session = `${this.talk.state?.session} ${this.talk.state?.lines.length}`;
    if (session !== this.session) ((this.session = session), this.read());
    fill(
      panel,
      h("h3", {}, "Pinned"),
      h("p", { class: "small" }, "Always before the character, in every conversation."),
      list(
        this.pinned.map((line) => entry([line], "Unpin", () => this.talk.pin(line))),
        "Nothing is pinned.",
      ),
      h("h3", {}, "In this conversation"),
      h("p", { class: "small" }, "Passages remembered for it, still before the character."),
      list(
        this.items.map((item) => entry(item.lines, "Take it out", () => this.take(item))),
        "Nothing is kept yet.",
      ),
    );
  }

  take(item) {
    const left = this.items.filter((each) => each !== item).map((each) => [each.first_seq, each.last_seq]);
    return careful(async () => tell("buffer", (await put(this.path, { spans: left })).items))();
  }
}

const list = (entries, none) =>
  entries.length ? h("ul", { class: "hits" }, entries) : h("p", { class: "nothing" }, none);

function entry(lines, label, act) {
  const [first] = lines;
  const place = first && address({ view: "read", session: first.session, seq: first.seq });
  return h(
    "li",
    { class: "hit" },
    first && h("header", { class: "by" }, h("a", { href: place }, short(first.said_at))),
    h(
      "div",
      { class: "passage" },
      lines.map((line) => h("p", {}, said("b", called(line)), " ", said("span", cut(line.text, QUOTED)))),
    ),
    h("footer", { class: "acts steady" }, button(label, act, { class: "link" })),
  );
}
