// Questions, receipts, and the frame of every dialog. Escape closes a dialog.

import { countOf, dateTime } from "./dates.js";
import { button, download, fill, h, textElement, truncate } from "./dom.js";
import { speakerName } from "./line.js";

const MAX_QUOTED_CHARS = 600;
const SCOPE_LABELS = { session: "one chat", bank: "everything in this bank" };

/** Open a dialog. make(close, body) returns its contents. Resolves to the value passed to close, null if dismissed. */
export function openDialog(title, make, { wide = false } = {}) {
  return new Promise((resolve) => {
    const box = h("dialog", { class: wide ? "wide" : "", "aria-label": title });
    let outcome = null;
    const close = (value = null) => {
      outcome = value;
      box.close();
    };
    const body = h("div", { class: "body" });
    const dismiss = button("×", () => close(), { class: "icon", "aria-label": "Close" });
    const notice = h("p", { class: "dialog-notice", dir: "auto", hidden: true }); // notices.js fills it
    box.append(h("header", { role: "none" }, h("h2", {}, title), dismiss), notice, body);
    fill(body, make(close, body));
    box.addEventListener("click", (event) => event.target === box && close());
    box.addEventListener("close", () => (box.remove(), resolve(outcome)));
    document.body.append(box);
    box.showModal();
  });
}

function quotedLine(line) {
  return h(
    "figure",
    { class: "quote" },
    h("figcaption", { class: "small" }, textElement("b", speakerName(line)), `, ${dateTime(line.said_at)}`),
    textElement("blockquote", truncate(line.text, MAX_QUOTED_CHARS)),
  );
}

/** Ask a question. answers: [[label, value], …], the primary one first. line: quoted above the text. */
export function askChoice(title, text, answers, line = null) {
  return openDialog(title, (close) => [
    line && quotedLine(line),
    text && textElement("p", text),
    h(
      "div",
      { class: "bar end" },
      answers.map(([label, value], index) => button(label, () => close(value), { class: index ? "" : "primary" })),
    ),
  ]);
}

/** Ask whether to forget a whole conversation. more: a sentence to add. */
export const confirmForget = (more) =>
  askChoice(
    "Forget this chat?",
    `Every message in it is permanently removed, with everything noted from it. This can't be undone.${more}`,
    [
      ["Forget it all", true],
      ["Keep it", false],
    ],
  );

/** Resolves to the line's new text, or to null. */
export function editText(title, line, hint) {
  return openDialog(title, (close) => {
    const field = h("textarea", { rows: 6, dir: "auto", "aria-label": title, value: line.text, autofocus: true });
    const save = () => close(field.value.trim() || null);
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) save();
    });
    return [
      quotedLine(line),
      h("p", { class: "small" }, hint),
      field,
      h("div", { class: "bar end" }, button("Save", save, { class: "primary" })),
    ];
  });
}

export function showReceipt(proof) {
  const ranges = proof.seqs.map(([first, last]) => (first === last ? first : `${first}–${last}`)).join(", ");
  const rows = [
    ["Forgotten", dateTime(proof.forgotten_at)],
    ["Removed", [countOf(proof.lines, "message"), SCOPE_LABELS[proof.scope]].filter(Boolean).join(": ")],
    ["Message numbers", ranges || "none"],
    ["Bank (SHA-256 of its name)", proof.bank],
  ];
  return openDialog("Forgotten", (close) => [
    h(
      "p",
      {},
      "Permanently removed from storage. This receipt records what was removed, without a word of what was said.",
    ),
    h(
      "dl",
      { class: "facts" },
      rows.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]),
    ),
    h(
      "div",
      { class: "bar end" },
      button("Save receipt", () => download(new Blob([JSON.stringify(proof, null, 2)]), "everthread-receipt.json")),
      button("Done", () => close(), { class: "primary" }),
    ),
  ]);
}

/** Ask for an access key. refused: whether the server has refused the one of this tab. */
export function askKey(refused) {
  return openDialog("Enter your access key", (close) => {
    const field = h("input", {
      type: "password",
      autocomplete: "off",
      "aria-label": "Key",
      placeholder: "et_…",
      autofocus: true,
    });
    const submit = (event) => (event.preventDefault(), close(field.value.trim() || null));
    return h(
      "form",
      { on: { submit } },
      h("p", {}, refused ? "This access key is not valid. Check it, or ask for a new one." : "This server is private."),
      field,
      h(
        "p",
        { class: "small" },
        "The person who runs this server can give you a key. It is kept until you close this tab.",
      ),
      h("div", { class: "bar end" }, h("button", { type: "submit", class: "primary" }, "Continue")),
    );
  });
}
