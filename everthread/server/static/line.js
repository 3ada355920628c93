// One line of a conversation, as it is shown, with what can be done about it.

import { clock, counted, day, full } from "./dates.js";
import { button, fill, h, iconButton, said } from "./dom.js";
import { formatted } from "./markdown.js";

const LONG = 8_000; // characters; what is longer is shown by its beginning
const BEGINNING = 4_000; // characters
const unfolded = new Set(); // the lines that are shown whole all the same

/** The line's element. acts: the buttons below it; mine: whether it stands on the person's side. */
export function lineElement(line, acts = [], mine = line.role !== "assistant") {
  const unwritten = line.seq < 0 ? " unwritten" : "";
  const name = `${called(line)}, ${full(line.said_at)}`;
  return h(
    "article",
    { class: `line ${mine ? "of-person" : "of-character"}${unwritten}`, "data-seq": line.seq, "aria-label": name, tabindex: "-1" },
    head(line),
    text(line),
    h("footer", { class: "acts", role: "group", "aria-label": `About this line by ${called(line)}` }, acts),
  );
}

/** What was said; of what is very long the beginning, until all of it is asked for. */
function text(line) {
  const drawn = (part) => (line.role === "assistant" ? formatted(part) : part);
  const box = said("div", null, { class: "said" });
  if (line.text.length > LONG) box.classList.add("long");
  if (line.text.length <= LONG || unfolded.has(place(line))) return (fill(box, drawn(line.text)), box);
  const beginning = line.text.slice(0, BEGINNING).replace(/[\ud800-\udbff]$/, "");
  const show = () => {
    unfold(line);
    fill(box, drawn(line.text));
    box.closest(".line").focus({ preventScroll: true });
  };
  const many = counted(line.text.length, "character");
  fill(box, drawn(`${beginning} …`), h("p", {}, button(`Show all of it: ${many}`, show, { class: "link" })));
  return box;
}

/** Have a line shown whole, however long it is. */
export const unfold = (line) => unfolded.add(place(line));

const place = (line) => `${line.session} ${line.seq}`;

/** Whether a line stands on the person's side. Of people who talked with each other only one is the person. */
export function mine(line, lines, person) {
  if (line.role === "assistant") return false;
  const several = new Set(lines.filter((each) => each.role === "user").map((each) => each.speaker)).size > 1;
  return !several || line.speaker === person;
}

/** A speaker's name; the person who gave none is "You". */
export const called = (line) => (line.role === "user" && line.speaker === "user" ? "You" : line.speaker);

function head(line) {
  const when = h("time", { datetime: line.said_at, title: full(line.said_at) }, clock(line.said_at));
  const marks = [
    line.seq < 0 && h("span", {}, "incognito"),
    line.metadata?.partial && unfinished(line.metadata.cut),
  ];
  return h("header", { class: "by" }, said("span", called(line), { class: "speaker" }), when, marks);
}

const CUTS = {
  stopped: ["stopped", "It was stopped before it was whole"],
  broken: ["broke off", "The model broke off before it was whole"],
  length: ["cut at its length", "It had reached the most that a reply may have"],
};

/** Why a reply is not whole; earlier ones don't tell. */
function unfinished(cut) {
  const [name, title] = Object.hasOwn(CUTS, cut ?? "") ? CUTS[cut] : ["cut short", "It ended before it was whole"];
  return h("span", { title }, name);
}

/** The day, where a line is the first of another one than the line before it; of the first only if that is past. Its
 * element is kept among those that are drawn. */
export function dayBefore(line, before, drawn = new Map()) {
  const name = day(line.said_at);
  if (name === day(before?.said_at ?? new Date())) return null;
  const key = `${name} before ${line.seq}`;
  if (!drawn.has(key)) drawn.set(key, h("p", { class: "day small" }, h("time", { datetime: line.said_at }, name)));
  return drawn.get(key);
}

/** A line that is still arriving: its element, and the text that grows. */
export function growing(speaker) {
  const text = document.createTextNode("");
  const place = h("div", { class: "said growing", dir: "auto" }, text);
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
    !last && iconButton("branch", "Go on from here: what came after it is set aside", () => talk.branch(line)),
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

/** A line's text as a field, until it is saved or left. Resolves to the new text, or null. hint: what saving does. */
export function editing(element, line, hint) {
  return new Promise((resolve) => {
    const text = element.querySelector(".said");
    const field = h("textarea", { dir: "auto", class: "said", "aria-label": "The line's text", value: line.text });
    const done = (outcome) => (box.replaceWith(text), resolve(outcome));
    const save = () => done(field.value.trim() && field.value !== line.text ? field.value.trim() : null);
    const box = h(
      "div",
      { class: "editing" },
      field,
      hint && h("p", { class: "small" }, hint),
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
