// The character's notes, which the person may edit.

import { bankPath, get, put } from "./api.js";
import { button, fill, h } from "./dom.js";
import { on } from "./events.js";
import { showNotice, withErrors } from "./notices.js";
import { t } from "./words.js";

export class NotesPanel {
  constructor() {
    this.text = "";
    this.typed = null; // what is not saved yet
    this.onChange = () => {};
    on("state", ({ notes, model }) => {
      this.hasModel = Boolean(model);
      this.setText(notes ?? "");
    });
    on("bank", () => (Object.assign(this, { text: "", typed: null }), this.onChange()));
    on(
      "forgotten",
      withErrors(async () => this.setText((await get(bankPath("/notes"))).text)),
    );
  }

  setText(text) {
    const changed = text !== this.text;
    this.text = text;
    if (changed && this.typed === null) this.onChange();
  }

  show(panel) {
    this.field = h("textarea", { class: "notes", rows: this.hasModel || this.text ? 14 : 4, dir: "auto", "aria-label": t("notes.title"), value: this.typed ?? this.text });
    this.field.addEventListener("input", () => (this.typed = this.field.value === this.text ? null : this.field.value));
    const hint = t(this.hasModel || this.text ? "notes.hint" : "notes.no_model");
    const save = withErrors(() => this.save());
    fill(
      panel,
      h("p", { class: "small" }, hint),
      this.field,
      h("div", { class: "bar end" }, button(t("notes.save"), save, { class: "primary" })),
    );
  }

  async save() {
    if (this.text && !this.field.value.trim() && !(await confirmDelete())) return;
    const { text } = await put(bankPath("/notes"), { text: this.field.value });
    Object.assign(this, { text, typed: null });
    showNotice(t("notes.saved"));
  }
}

/** Ask whether to delete the notes, which a blank text does. */
async function confirmDelete() {
  const { askChoice } = await import("./dialogs.js");
  return askChoice(t("notes.delete_question"), t("notes.delete_effect"), [
    [t("notes.delete"), true],
    [t("notes.cancel"), false],
  ]);
}
