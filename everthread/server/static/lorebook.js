// The lorebook of a card: texts that a character is given while their keywords are in the chat.

import { button, h } from "./dom.js";
import { t } from "./words.js";

/** Fields for the entries of a card's lorebook. Everything else in the card and in its entries is preserved. */
export class LorebookFields {
  constructor(card) {
    this.card = card ?? {};
    this.list = h("ol", { class: "lore" });
    this.rows = [];
    const add = () => this.add({ keys: [], content: "", enabled: true, extensions: {} }).querySelector("input").focus();
    for (const entry of this.book.entries ?? []) this.add(entry);
    this.element = h(
      "details",
      { class: "lorebook" },
      h("summary", {}, t("lore.title")),
      h(
        "p",
        { class: "small" },
        t("lore.about"),
      ),
      this.list,
      button(t("lore.add"), add),
    );
  }

  get book() {
    return this.card.data?.character_book ?? {};
  }

  /** Add an entry, and return its element. */
  add(entry) {
    const number = this.list.childElementCount + 1;
    const keys = field("input", t("lore.keys", { number }), (entry.keys ?? []).join(", "), t("lore.keys_example"));
    const content = field("textarea", t("lore.text", { number }), entry.content ?? "", t("lore.text_example"));
    const enabled = h("input", { type: "checkbox", checked: entry.enabled !== false });
    const row = { entry, keys, content, enabled };
    const remove = () => {
      this.rows.splice(this.rows.indexOf(row), 1);
      element.remove();
    };
    const element = h(
      "li",
      {},
      keys,
      content,
      h(
        "div",
        { class: "bar" },
        h("label", { class: "choice" }, enabled, h("span", {}, t("lore.in_use"))),
        button(t("gallery.remove"), remove, { class: "link", "aria-label": t("lore.remove", { number }) }),
      ),
    );
    this.rows.push(row);
    this.list.append(element);
    return element;
  }

  /** The card with the entries as they are now; an entry without a text is left out. */
  read() {
    const entries = this.rows.filter(({ content }) => content.value.trim()).map(readEntry);
    if (!entries.length && !this.book.entries) return this.card;
    return { ...this.card, data: { ...this.card.data, character_book: { ...this.book, entries } } };
  }
}

const field = (tag, label, value, placeholder) => h(tag, { dir: "auto", rows: 2, "aria-label": label, value, placeholder });

const readEntry = ({ entry, keys, content, enabled }) => ({
  insertion_order: 0,
  ...entry,
  keys: keys.value
    .split(/[,\uFF0C\u3001]/)
    .map((key) => key.trim())
    .filter(Boolean),
  content: content.value.trim(),
  enabled: enabled.checked,
});
