// An earlier conversation, opened at a place in it: to read, correct, pin and forget.

import { every, get, inBank, remove } from "./api.js";
import { on, tell } from "./bus.js";
import { day } from "./dates.js";
import { receipt, sureToForget } from "./dialogs.js";
import { at, button, fill, h, iconButton, said } from "./dom.js";
import { go, here } from "./here.js";
import { dayBefore, lineElement, mine } from "./line.js";
import { careful } from "./notices.js";
import { correct } from "./remembered.js";

const AROUND = 60; // lines shown about a place before all of them are asked for

export class Reading {
  constructor(talk) {
    this.talk = talk;
    this.box = at("lines");
    this.open = careful(this.open.bind(this));
    this.drop = careful(this.drop.bind(this));
    on("forgotten", () => here.view === "read" && this.open());
    on("corrected", ({ line }) => here.view === "read" && this.open(line.seq));
    on("pins", () => here.view === "read" && this.render());
  }

  /** Show the conversation; whole, or where it is long, about the place. */
  async open(seq = here.seq, whole = false) {
    const { session } = here;
    const name = encodeURIComponent(session);
    const about = seq && !whole;
    const lines = about
      ? (await get(inBank(`/lines?around=${seq}&limit=${AROUND}`))).items
      : await every(inBank(`/lines?session=${name}`));
    this.session = await get(inBank(`/sessions/${name}`)).catch(() => null);
    if (here.view !== "read" || here.session !== session) return;
    Object.assign(this, { lines, seq });
    this.render();
    const found = seq && this.box.querySelector(`[data-seq="${seq}"]`);
    if (found) (found.classList.add("place"), found.scrollIntoView({ block: "center" }));
    else this.box.scrollTop = 0;
  }

  render() {
    if (!this.lines) return;
    const { lines } = this;
    const person = this.talk.state?.character.person ?? "user";
    const one = (line, place) => [
      place > 0 && dayBefore(line, lines[place - 1]),
      lineElement(line, this.acts(line), mine(line, lines, person)),
    ];
    const parts = lines.map(one);
    const top = this.box.scrollTop;
    fill(this.box, this.head(), parts);
    this.box.scrollTop = top;
  }

  head() {
    const { session, lines } = this;
    const more = session && session.lines > lines.length;
    return h(
      "div",
      { class: "reading" },
      h("p", {}, lines.length ? `A conversation of ${day(lines[0].said_at)}` : "Nothing of this conversation is left."),
      session?.summary && said("p", session.summary, { class: "small said" }),
      h(
        "div",
        { class: "bar" },
        button("Back to now", () => go({}), { class: "main" }),
        more && button("Show all of it", () => this.open(this.seq, true)),
        button("Go on with it", () => go({ view: "talk", session: here.session })),
        button("Forget all of it", () => this.drop()),
      ),
    );
  }

  acts(line) {
    const pinned = this.talk.pins.has(line.seq);
    return [
      iconButton("edit", "Correct this line", () => correct(line)),
      iconButton("pin", pinned ? "Unpin this line" : "Pin this line", () => this.talk.pin(line), {
        "aria-pressed": String(pinned),
      }),
      iconButton("forget", "Forget this line", () => this.talk.forget(line)),
    ];
  }

  async drop() {
    if (!(await sureToForget(this.talk.stopping))) return;
    const proof = await remove(inBank(`/sessions/${encodeURIComponent(here.session)}`));
    tell("forgotten", new Set(this.lines.map((line) => line.seq)));
    await receipt(proof);
    go({});
  }
}
