// One line of a conversation, as it is shown, with what can be done about it.

import { clock, full } from "./dates.js";
import { button, h, iconButton, said } from "./dom.js";

/** The line's element. acts: the buttons below it; of: whose it is. */
export function lineElement(line, acts = []) {
  const own = line.role === "assistant";
  const name = `${called(line)}, ${full(line.said_at)}`;
  return h(
    "article",
    { class: `line ${own ? "of-character" : "of-person"}`, "data-seq": line.seq, "aria-label": name, tabindex: "-1" },
    head(line),
    said("p", line.text, { class: "said" }),
    h("footer", { class: "acts", role: "group", "aria-label": `About this line by ${called(line)}` }, acts),
  );
}

/** A speaker's name; the person who gave none is "You". */
export const called = (line) => (line.role === "user" && line.speaker === "user" ? "You" : line.speaker);

function head(line) {
  const when = h("time", { datetime: line.said_at, title: full(line.said_at) }, clock(line.said_at));
  return h("header", { class: "by" }, said("span", called(line), { class: "speaker" }), when);
}

/** A line that is still arriving: its element, and the text that grows. */
export function growing(speaker) {
  const text = document.createTextNode("");
  const place = h("p", { class: "said growing", dir: "auto" }, text);
  const element = h(
    "article",
    { class: "line of-character", "aria-label": speaker, "aria-busy": "true" },
    h("header", { class: "by" }, said("span", speaker, { class: "speaker" })),
    place,
    h("footer", { class: "acts" }),
  );
  return { element, text };
}

/** What can be done about a line of the running conversation. */
export function acts(line, { last, talk }) {
  const own = line.role === "assistant";
  const kept = line.seq > 0;
  return [
    own && talk.said(line) && memoryButton(line, talk),
    own &&
      last &&
      talk.model &&
      talk.state.swipes.length < 2 &&
      iconButton("again", "Another reply", () => talk.regenerate()),
    iconButton("edit", "Edit this line", () => talk.edit(line)),
    !last && iconButton("branch", "Go on from here", () => talk.branch(line)),
    kept &&
      iconButton("pin", pinLabel(line, talk), () => talk.pin(line), {
        "aria-pressed": String(talk.pins.has(line.seq)),
      }),
    kept && iconButton("forget", "Forget this line", () => talk.forget(line)),
  ].filter(Boolean);
}

const pinLabel = (line, talk) =>
  talk.pins.has(line.seq) ? "Unpin this line" : "Pin this line: always before the character";

function memoryButton(line, talk) {
  const chosen = talk.inspected === line.seq;
  return button("Remembered", () => talk.inspect(line), {
    class: "link recalled",
    title: "What was remembered for this reply",
    "aria-pressed": String(chosen),
  });
}

/** ‹ 2/3 › for the replies that stood in one place. */
export function swipes(state, talk) {
  const last = state.lines.at(-1);
  const all = state.swipes ?? [];
  const place = all.findIndex((each) => each.seq === last?.seq);
  if (!last || last.role !== "assistant" || place < 0 || all.length < 2) return null;
  const shift = (label, name, step) =>
    iconButton(name, label, () => talk.swipe(step), { disabled: step < 0 && place === 0 });
  return h(
    "span",
    { class: "swipes", role: "group", "aria-label": "Replies in this place; the arrow keys change between them" },
    shift("The reply before", "back", -1),
    h("span", { class: "count" }, `${place + 1}/${all.length}`),
    shift(place === all.length - 1 ? "Another reply" : "The next reply", "forth", 1),
  );
}

/** A line's text as a field, until it is saved or left. Resolves to the new text, or null. */
export function editing(element, line) {
  return new Promise((resolve) => {
    const text = element.querySelector(".said");
    const field = h("textarea", { dir: "auto", class: "said", "aria-label": "The line's text", value: line.text });
    const done = (outcome) => (box.replaceWith(text), resolve(outcome));
    const save = () => done(field.value.trim() && field.value !== line.text ? field.value.trim() : null);
    const box = h(
      "div",
      { class: "editing" },
      field,
      h(
        "div",
        { class: "bar" },
        button("Save", save, { class: "main" }),
        button("Leave it", () => done(null)),
      ),
    );
    field.addEventListener("keydown", (event) => {
      if (event.key === "Escape") (event.stopPropagation(), done(null));
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) (event.preventDefault(), save());
    });
    text.replaceWith(box);
    field.rows = Math.min(12, 2 + Math.ceil(line.text.length / 60));
    field.focus();
  });
}
