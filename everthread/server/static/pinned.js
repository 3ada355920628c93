// What stays in the character's context: pinned lines, and the passages that the running conversation holds on to.

import { bankPath, bufferPath, get, put } from "./api.js";
import { button, fill, h } from "./dom.js";
import { emit, on } from "./events.js";
import { quotedText } from "./line.js";
import { withErrors, withErrorsOf } from "./notices.js";
import { whenLink } from "./replymemories.js";
import { t } from "./words.js";

export class PinnedPanel {
  constructor(chat) {
    this.chat = chat;
    this.pinned = [];
    this.buffer = [];
    this.onChange = () => {};
    on("pins", (lines) => ((this.pinned = lines), this.onChange()));
    on("buffer", (items) => ((this.buffer = items), this.onChange()));
    on("state", () => this.onChange());
    on("forgotten", () => this.read());
    on("bank", () => ((this.pinned = this.buffer = []), this.onChange()));
    withErrorsOf(this, "read");
  }

  async read() {
    emit("pins", (await get(bankPath("/pins"))).items);
    const { state } = this.chat;
    if (state?.lines.length && !state.incognito) emit("buffer", await readBuffer(state.session));
  }

  show(panel) {
    const { bank, session, lines } = this.chat.state ?? {};
    const version = `${bank} ${session} ${lines?.length}`;
    if (version !== this.version) ((this.version = version), this.read());
    fill(
      panel,
      h("h2", {}, t("pinned.every")),
      h("p", { class: "small" }, t("pinned.every_hint")),
      passageList(
        this.pinned.map((line) => passageItem([line], t("pinned.unpin"), () => this.chat.togglePin(line))),
        t("pinned.nothing"),
      ),
      h("h2", {}, t("pinned.this")),
      h("p", { class: "small" }, t("pinned.this_hint")),
      passageList(
        this.buffer.map((item) => passageItem(item.lines, t("gallery.remove"), () => this.removePassage(item))),
        t("pinned.empty"),
      ),
    );
  }

  removePassage(item) {
    const spans = this.buffer.filter((other) => other !== item).map((kept) => [kept.first_seq, kept.last_seq]);
    const path = bufferPath(this.chat.state.session);
    return withErrors(async () => emit("buffer", (await put(path, { spans })).items))();
  }
}

/** The passages that a conversation holds on to: none once its last message was forgotten. */
const readBuffer = (session) =>
  get(bufferPath(session)).then(
    ({ items }) => items,
    (problem) => (problem.status === 404 ? [] : Promise.reject(problem)),
  );

const passageList = (items, empty) =>
  items.length ? h("ul", { class: "hits" }, items) : h("p", { class: "empty" }, empty);

function passageItem(lines, label, act) {
  const [first] = lines;
  return h(
    "li",
    { class: "hit" },
    first && h("header", { class: "byline" }, whenLink(first)),
    h(
      "div",
      { class: "passage" },
      lines.map((line) => h("p", {}, quotedText(line))),
    ),
    h("footer", { class: "actions always-visible" }, button(label, act, { class: "link" })),
  );
}
