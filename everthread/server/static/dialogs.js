// Questions, receipts, and the frame of every window of the page. Escape closes each.

import { counted, full } from "./dates.js";
import { button, cut, download, fill, h, said } from "./dom.js";
import { called } from "./line.js";

const QUOTED = 600; // characters of a line that a question quotes
const SCOPES = { session: "one conversation", bank: "everything in this bank" };

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
    const told = h("p", { class: "told", dir: "auto", hidden: true }); // what is told while it is open
    box.append(h("header", {}, h("h2", {}, title), shut), told, body);
    fill(body, make(close, body));
    box.addEventListener("click", (event) => event.target === box && close());
    box.addEventListener("close", () => (box.remove(), resolve(outcome)));
    document.body.append(box);
    box.showModal();
  });
}

/** A line as it was said, by whom and when, for a question about it. */
export function quoted(line) {
  return h(
    "figure",
    { class: "quoted" },
    h("figcaption", { class: "small" }, said("b", called(line)), `, ${full(line.said_at)}`),
    said("blockquote", cut(line.text, QUOTED)),
  );
}

/** A question with answers: [[label, value], …], the first of which is the main one. line: what it is about. */
export function choose(title, text, answers, line = null) {
  return open(title, (close) => [
    line && quoted(line),
    text && said("p", text),
    h(
      "div",
      { class: "bar end" },
      answers.map(([label, value], place) => button(label, () => close(value), { class: place ? "" : "main" })),
    ),
  ]);
}

/** Whether all of a conversation is to be forgotten. more: what else comes of it. */
export const sureToForget = (more) =>
  choose(
    "Forget this conversation?",
    `Every line of it is removed for good, with what was noted of it. This can't be undone.${more}`,
    [
      ["Forget it all", true],
      ["Keep it", false],
    ],
  );

/** A line's text to be changed; null where it is left as it is. */
export function rewrite(title, line, hint) {
  return open(title, (close) => {
    const field = h("textarea", { rows: 6, dir: "auto", "aria-label": title, value: line.text, autofocus: true });
    const save = () => close(field.value.trim() || null);
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) save();
    });
    return [
      quoted(line),
      h("p", { class: "small" }, hint),
      field,
      h("div", { class: "bar end" }, button("Save", save, { class: "main" })),
    ];
  });
}

/** Proof that something was forgotten: numbers alone. */
export function receipt(proof) {
  const ranges = proof.seqs.map(([first, last]) => (first === last ? first : `${first}–${last}`)).join(", ");
  const rows = [
    ["Forgotten", full(proof.forgotten_at)],
    ["What", [counted(proof.lines, "line"), SCOPES[proof.scope]].filter(Boolean).join(": ")],
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
    const field = h("input", { type: "password", autocomplete: "off", "aria-label": "Key", placeholder: "et_…", autofocus: true });
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
