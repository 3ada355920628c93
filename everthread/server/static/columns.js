// The columns beside the chat: its list of chats, and the memory column with its tabs. Loaded lazily.

import { byId, fill, h } from "./dom.js";
import { on } from "./events.js";
import { FactsPanel } from "./facts.js";
import { MemoryListPanel } from "./memorylist.js";
import { NotesPanel } from "./notes.js";
import { PinnedPanel } from "./pinned.js";
import { ReplyMemoriesPanel } from "./replymemories.js";
import { SessionList } from "./sessions.js";
import { TimelinePanel } from "./timeline.js";
import { t } from "./words.js";

export { avatar } from "./avatars.js";

let created = null;

/** Create the columns once, and give them the events that were emitted before they existed. */
export function createColumns(chat) {
  if (created) return created;
  created = { memory: new MemoryColumn(chat), sessions: new SessionList() };
  chat.replayEvents();
  return created;
}

class MemoryColumn {
  constructor(chat) {
    this.box = byId("panel");
    this.replies = new ReplyMemoriesPanel(chat);
    this.tabs = [
      [t("tab.memory"), this.replies],
      [t("tab.facts"), new FactsPanel()],
      [t("tab.all"), new MemoryListPanel(chat)],
      [t("tab.notes"), new NotesPanel()],
      [t("tab.pinned"), new PinnedPanel(chat)],
      [t("tab.timeline"), new TimelinePanel()],
    ];
    this.buttons = this.tabs.map(([label], index) => this.tabButton(label, index));
    fill(byId("tabs"), this.buttons);
    byId("tabs").addEventListener("keydown", (event) => this.onKey(event));
    on("view", (name) => name === "memory" && this.select(0));
    on("column-opened", (name) => name === "memory" && this.replies.showLatest());
    on("demo-answered", () => this.select(0));
    for (const [, panel] of this.tabs) panel.onChange = () => this.current === panel && panel.show(this.box);
    this.select(0);
  }

  get current() {
    return this.tabs[this.index]?.[1];
  }

  tabButton(label, index) {
    const props = { type: "button", role: "tab", id: `tab-${index}`, "aria-controls": "panel" };
    return h("button", { ...props, on: { click: () => this.select(index) } }, label);
  }

  onKey(event) {
    const { length } = this.tabs;
    const to = { ArrowRight: this.index + 1, ArrowLeft: this.index - 1, Home: 0, End: -1 }[event.key];
    if (to === undefined) return;
    const index = (to + length) % length;
    this.select(index);
    this.buttons[index].focus();
  }

  select(index) {
    if (index !== this.index) fill(this.box); // what another tab shows stays no longer, even if nothing can be read
    this.index = index;
    this.buttons.forEach((tab, number) => {
      tab.setAttribute("aria-selected", String(number === index));
      tab.tabIndex = number === index ? 0 : -1;
      if (number === index) tab.scrollIntoView?.({ block: "nearest", inline: "nearest" });
    });
    this.box.setAttribute("aria-labelledby", `tab-${index}`);
    this.box.scrollTop = 0;
    this.current.show(this.box);
  }
}
