// The character's notes as they stand, which the person may change.

import { get, inBank, put } from "./api.js";
import { on } from "./bus.js";
import { button, fill, h } from "./dom.js";
import { careful, notice } from "./notices.js";

export class Notes {
  constructor() {
    this.text = "";
    this.changed = () => {};
    on("state", (state) => this.take(state.notes ?? ""));
    on(
      "forgotten",
      careful(async () => this.take((await get(inBank("/notes"))).text)),
    );
  }

  take(text) {
    const before = this.text;
    this.text = text;
    if (text !== before && !this.edited) this.changed();
  }

  get edited() {
    return this.field?.isConnected && this.field.value !== this.shown;
  }

  show(panel) {
    this.shown = this.text;
    this.field = h("textarea", { class: "notes", rows: 14, dir: "auto", "aria-label": "Notes", value: this.text });
    const hint =
      "What the character noted as the talk outgrew the prompt. It reads this before each reply; change what is wrong.";
    fill(
      panel,
      h("p", { class: "small" }, hint),
      this.field,
      h(
        "div",
        { class: "bar end" },
        button(
          "Save the notes",
          careful(() => this.save()),
          { class: "main" },
        ),
      ),
    );
  }

  async save() {
    const { text } = await put(inBank("/notes"), { text: this.field.value });
    this.text = this.shown = text;
    notice("The notes are changed.");
  }
}
