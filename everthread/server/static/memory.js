// The memory column: what was remembered for a reply, the notes, what is kept in view, and the months.

import { on } from "./bus.js";
import { at, fill, h } from "./dom.js";
import { Kept } from "./kept.js";
import { Notes } from "./notes.js";
import { Remembered } from "./remembered.js";
import { Timeline } from "./timeline.js";

export class MemoryColumn {
  constructor(talk) {
    this.panel = at("panel");
    this.tabs = [
      ["Remembered", new Remembered(talk)],
      ["Notes", new Notes()],
      ["In view", new Kept(talk)],
      ["Months", new Timeline()],
    ];
    this.buttons = this.tabs.map(([label], place) => this.tab(label, place));
    fill(at("tabs"), this.buttons);
    at("tabs").addEventListener("keydown", (event) => this.key(event));
    on("view", (name) => name === "memory" && this.choose(0)); // someone asks what was remembered
    for (const [, each] of this.tabs) each.changed = () => this.current === each && each.show(this.panel);
    this.choose(0);
  }

  get current() {
    return this.tabs[this.at]?.[1];
  }

  tab(label, place) {
    const props = { type: "button", role: "tab", id: `tab-${place}`, "aria-controls": "panel" };
    return h("button", { ...props, on: { click: () => this.choose(place) } }, label);
  }

  key(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const place = (this.at + step + this.tabs.length) % this.tabs.length;
    this.choose(place);
    this.buttons[place].focus();
  }

  choose(place) {
    this.at = place;
    this.buttons.forEach((each, number) => {
      each.setAttribute("aria-selected", String(number === place));
      each.tabIndex = number === place ? 0 : -1;
    });
    this.panel.setAttribute("aria-labelledby", `tab-${place}`);
    this.panel.scrollTop = 0;
    this.current.show(this.panel);
  }
}
