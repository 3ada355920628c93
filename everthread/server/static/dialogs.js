// Questions, receipts, and the frame of every window of the page. Escape closes each.

import { button, download, fill, h, said } from "./dom.js";
import { full } from "./dates.js";

/** A window with a title; what it resolves to is what `close(value)` is given, null where it is left. */
export function open(title, make, { wide = false } = {}) {
  return new Promise((resolve) => {
    const box = h("dialog", { class: wide ? "wide" : "", "aria-label": title });
    let outcome = null;
    const close = (value = null) => {
      outcome = value;
      box.close();
    };
    const body = h("div", { class: "body" });
    const shut = button("×", () => close(), { class: "icon", "aria-label": "Close" });
    box.append(h("header", {}, h("h2", {}, title), shut), body);
    fill(body, make(close, body));
    box.addEventListener("click", (event) => event.target === box && close());
    box.addEventListener("close", () => (box.remove(), resolve(outcome)));
    document.body.append(box);
    box.showModal();
  });
}

/** A question with answers: [[label, value], …], the first of which is the main one. */
export function choose(title, text, answers) {
  return open(title, (close) => [
    text && said("p", text),
    h(
      "div",
      { class: "bar end" },
      answers.map(([label, value], place) => button(label, () => close(value), { class: place ? "" : "main" })),
    ),
  ]);
}

/** A longer text to be changed; null where it is left as it is. */
export function rewrite(title, text, { hint = "", label = "Save" } = {}) {
  return open(title, (close) => {
    const field = h("textarea", { rows: 6, dir: "auto", "aria-label": title, value: text });
    const save = () => close(field.value.trim() || null);
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) save();
    });
    return [
      hint && h("p", { class: "small" }, hint),
      field,
      h("div", { class: "bar end" }, button(label, save, { class: "main" })),
    ];
  });
}

/** Proof that something was forgotten: numbers alone. */
export function receipt(proof) {
  const ranges = proof.seqs.map(([first, last]) => (first === last ? first : `${first}–${last}`)).join(", ");
  const rows = [
    ["Forgotten", full(proof.forgotten_at)],
    ["What", `${proof.lines} ${proof.lines === 1 ? "line" : "lines"} (${proof.scope})`],
    ["Their numbers", ranges || "none"],
    ["Bank (SHA-256 of its name)", proof.bank],
  ];
  return open("It is forgotten", (close) => [
    h("p", {}, "Removed for good, to the last byte. This receipt proves it; it holds no word of what was said."),
    h(
      "dl",
      { class: "receipt" },
      rows.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]),
    ),
    h(
      "div",
      { class: "bar end" },
      button("Save the receipt", () => download(new Blob([JSON.stringify(proof, null, 2)]), "everthread-receipt.json")),
      button("Done", () => close(), { class: "main" }),
    ),
  ]);
}

/** A key, as the server wants one. */
export function askKey(why) {
  return open("This server wants a key", (close) => {
    const field = h("input", { type: "password", autocomplete: "off", "aria-label": "Key", placeholder: "et_…" });
    const enter = (event) => (event.preventDefault(), close(field.value.trim() || null));
    return h(
      "form",
      { on: { submit: enter } },
      said("p", why),
      h("p", { class: "small" }, "Its owner makes keys with `everthread keys`. It is kept until this tab is closed."),
      field,
      h("div", { class: "bar end" }, h("button", { type: "submit", class: "main" }, "Enter")),
    );
  });
}
