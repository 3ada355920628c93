// Questions, receipts, and the frame of every dialog. Escape closes a dialog.

import { dateTime } from "./dates.js";
import { button, download, fill, h, iconButton, textElement, truncate } from "./dom.js";
import { rememberFocus } from "./focus.js";
import { speakerName } from "./line.js";
import { withErrors } from "./notices.js";
import { t } from "./words.js";

const MAX_QUOTED_CHARS = 600;
const SCOPE_LABELS = { session: t("receipt.chat"), bank: t("receipt.bank") };

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
    const dismiss = iconButton("close", t("dialog.close"), () => close());
    const notice = h("p", { class: "dialog-notice", dir: "auto", hidden: true }); // notices.js fills it
    box.append(h("header", { role: "none" }, h("h2", {}, title), dismiss), notice, body);
    fill(body, make(close, body));
    let pressed = null;
    let isWritten = false; // a click outside loses no text
    box.addEventListener("pointerdown", ({ target }) => (pressed = target));
    box.addEventListener("input", ({ target }) => (isWritten ||= target.matches("textarea")));
    box.addEventListener("click", ({ target }) => target === box && pressed === box && !isWritten && close());
    const forgetNotice = ({ target, type }) => (notice.hidden ||= type === "submit" || target.closest("button") !== null);
    for (const type of ["click", "submit"]) box.addEventListener(type, forgetNotice, { capture: true }); // a new attempt
    const restoreFocus = rememberFocus();
    box.addEventListener("close", () => (box.remove(), resolve(outcome), setTimeout(restoreFocus)));
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

/** Ask a question. answers: [[label, value], …], the primary one first, which is shown last. line: quoted above the
 * text. */
export function askChoice(title, text, answers, line = null) {
  return openDialog(title, (close) => [
    line && quotedLine(line),
    text && textElement("p", text),
    h(
      "div",
      { class: "bar end" },
      answers
        .map(([label, value], index) => button(label, () => close(value), { class: index ? "" : "primary" }))
        .reverse(),
    ),
  ]);
}

/** Ask whether to forget a whole conversation. more: a sentence to add. */
export const confirmForget = (more) => askForget(t("dialog.forget_chat"), t("dialog.forget_chat_effect") + more, null, t("dialog.forget_all"));

export const askForget = (title, effect, line, label = t("change.forget")) =>
  askChoice(
    title,
    effect,
    [
      [label, true],
      [t("dialog.keep"), false],
    ],
    line,
  );

/** Edit a text in a dialog, which stays open if it can't be saved. save: called with the new text. line: quoted above the
 * text. */
export function editText(title, text, hint, save, line = null) {
  return openDialog(title, (close) => {
    const field = h("textarea", { rows: 6, dir: "auto", "aria-label": title, value: text, autofocus: true });
    let saving = false;
    const submit = withErrors(async () => {
      const value = field.value.trim();
      if (saving) return;
      saving = true;
      try {
        if (value && value !== text) await save(value);
        close();
      } finally {
        saving = false;
      }
    });
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit();
    });
    return [
      line && quotedLine(line),
      h("p", { class: "small" }, hint),
      field,
      h("div", { class: "bar end" }, button(t("dialog.save"), submit, { class: "primary" })),
    ];
  });
}

const lineRows = ({ seqs, lines, scope, bank, backups = [], cleared_backups: cleared = 0 }) => [
  [t("receipt.removed"), [t("count.messages", { count: lines }), SCOPE_LABELS[scope]].filter(Boolean).join(": ")],
  [t("receipt.numbers"), seqs.map(([first, last]) => (first === last ? first : `${first}–${last}`)).join(", ") || t("receipt.none")],
  [t("receipt.bank_hash"), bank],
  ...(cleared ? [[t("receipt.cleared"), cleared]] : []),
  ...(backups.length ? [[t("receipt.backups"), backups.join(", ")]] : []),
];

const unitRows = ({ kind, id, earlier }) => [
  [t("receipt.removed"), t(`list.${kind}`)],
  [t("receipt.versions"), [id, ...earlier].join(", ")],
];

/** Show the receipt of forgotten lines, or of a note or a summary. */
export function showReceipt(proof) {
  const rows = [[t("receipt.forgotten"), dateTime(proof.forgotten_at)], ...(proof.kind ? unitRows : lineRows)(proof)];
  return openDialog(t("receipt.title"), (close) => [
    h(
      "p",
      {},
      t("receipt.about"),
    ),
    h(
      "dl",
      { class: "facts" },
      rows.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]),
    ),
    h(
      "div",
      { class: "bar end" },
      button(t("receipt.save"), () => download(new Blob([JSON.stringify(proof, null, 2)]), "everthread-receipt.json")),
      button(t("receipt.done"), () => close(), { class: "primary" }),
    ),
  ]);
}

/** Ask for an access key. refused: whether the server has refused the one of this tab. */
export function askKey(refused) {
  return openDialog(t("key.title"), (close) => {
    const field = h("input", {
      type: "password",
      autocomplete: "off",
      "aria-label": t("key.key"),
      placeholder: "et_…",
      autofocus: true,
    });
    const submit = (event) => (event.preventDefault(), close(field.value.trim() || null));
    return h(
      "form",
      { on: { submit } },
      h("p", {}, refused ? t("key.invalid") : t("key.private")),
      field,
      h(
        "p",
        { class: "small" },
        t("key.about"),
      ),
      h("div", { class: "bar end" }, h("button", { type: "submit", class: "primary" }, t("key.continue"))),
    );
  });
}
