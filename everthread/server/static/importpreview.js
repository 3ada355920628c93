// The contents of a file of chats, and what to import of it: who is who, and which chats.

import { longDate } from "./dates.js";
import { button, fill, h, select, textElement, truncate } from "./dom.js";
import { formatNumber, joinList, t } from "./words.js";

export const DEFAULT_SPEAKER = "user"; // of a person who has given no name
const MAX_NAMED_SPEAKERS = 6;
const SHOWN_ROWS = 100; // at a time
const MORE_WITHIN_PX = 400; // of the end of the list
const MAX_TITLE_CHARS = 120;

const sum = (counts) => Object.values(counts).reduce((total, count) => total + count, 0);

/** start: called with {messages, sessions (null: all), speaker, assistant}. */
export function importPreview(contents, file, person, start, cancel) {
  const choices = { speaker: guessPerson(contents, person), assistant: null };
  const list = contents.conversations.length > 1 ? new ConversationList(contents.conversations, update) : null;
  const go = button("", () => start({ ...choices, ...list?.chosen(), messages: count() }), { class: "primary" });
  const count = () => list?.messages() ?? contents.messages;
  function update() {
    go.textContent = t("import.start", { messages: t("count.messages", { count: count() }) });
    go.disabled = !count() && !contents.units;
  }
  update();
  return [
    summary(contents, file),
    speakerChoices(contents, choices),
    list?.element,
    h("div", { class: "bar end" }, button(t("settings.cancel"), cancel), go),
  ];
}

/** The speaker who is this person: of the same name, or as the file indicates. */
function guessPerson({ speakers, me }, person) {
  const name = person?.toLowerCase();
  return speakers.find((speaker) => speaker.name.toLowerCase() === name)?.name ?? me ?? "";
}

function summary({ services, conversations, messages, retracted, first_at, last_at, speakers, skipped, broken, units }, file) {
  const counts = [t("count.chats", { count: conversations.length }), t("count.messages", { count: messages })];
  if (units) counts.push(t("import.units", { count: units }));
  const names = speakers.slice(0, MAX_NAMED_SPEAKERS).map(describe);
  const others = speakers.length - names.length;
  if (others > 0) names.push(t("import.others", { count: others }));
  return h(
    "div",
    { class: "contents" },
    textElement("p", services.length ? joinList(services) : file, { class: "headline" }),
    h("p", {}, counts.join(" · ")),
    first_at && h("p", {}, t("import.span", { first: longDate(first_at), last: longDate(last_at) })),
    names.length > 0 && textElement("p", t("import.speakers", { names: joinList(names) })),
    retracted > 0 && h("p", { class: "small" }, t("import.discarded", { count: retracted })),
    details(t("import.left_out", { count: sum(skipped) }), Object.entries(skipped).map(([kind, count]) => [kindName(kind), formatNumber(count)])),
    details(t("import.broken", { count: Object.keys(broken).length }), Object.entries(broken)),
  );
}

const describe = ({ name, messages }) =>
  `${name === DEFAULT_SPEAKER ? t("line.you") : truncate(name, MAX_TITLE_CHARS)} (${formatNumber(messages)})`;

/** What is left out, in the page's words where it has some for this kind. */
function kindName(kind) {
  const key = `skipped.${kind.replaceAll(" ", "_")}`;
  const name = t(key);
  return name === key ? kind : name;
}

const details = (title, rows) =>
  rows.length > 0 &&
  h(
    "details",
    { class: "small" },
    h("summary", {}, title),
    h(
      "ul",
      {},
      rows.slice(0, SHOWN_ROWS).map(([name, value]) => h("li", { dir: "auto" }, `${truncate(name, MAX_TITLE_CHARS)}: ${value}`)),
    ),
  );

/** Ask who the person is, and who is the chatbot if the file doesn't say. */
function speakerChoices({ speakers, me, assistant }, choices) {
  if (speakers.length < 2) return null;
  const options = speakers.map((speaker) => [speaker.name, describe(speaker)]);
  const ask = (label, none, property) =>
    select(label, [["", none], ...options], choices[property] ?? "", (name) => (choices[property] = name));
  return [
    me !== DEFAULT_SPEAKER && ask(t("import.me"), t("import.nobody"), "speaker"),
    !assistant && ask(t("import.assistant"), t("import.no_assistant"), "assistant"),
  ];
}

/** The conversations of a file, all of them chosen at first; rows are made as one scrolls. */
class ConversationList {
  constructor(conversations, changed) {
    this.all = [...conversations].sort((one, other) => (other.last_at ?? "").localeCompare(one.last_at ?? ""));
    this.left = new Set(); // the ids of those that are not chosen
    this.changed = changed;
    this.query = h("input", { type: "search", dir: "auto", "aria-label": t("import.find"), placeholder: t("import.find") });
    this.query.addEventListener("input", () => this.filter());
    this.box = h("ul", { class: "conversations" });
    this.box.addEventListener("scroll", () => this.grow());
    this.box.addEventListener("change", ({ target }) => this.set([target.value], target.checked));
    this.count = h("p", { class: "small", role: "status" });
    this.element = h(
      "details",
      { class: "choose", on: { toggle: () => this.box.firstChild || this.filter() } },
      h("summary", {}, t("import.choose")),
      this.query,
      h("div", { class: "bar" }, button(t("import.all"), () => this.setFound(true)), button(t("import.none"), () => this.setFound(false)), this.count),
      this.box,
    );
  }

  chosen = () => ({ sessions: this.left.size ? this.chosenOnes().map(({ id }) => id) : null });

  chosenOnes = () => this.all.filter(({ id }) => !this.left.has(id));

  messages = () => this.chosenOnes().reduce((total, { messages }) => total + messages, 0);

  set(ids, isChosen) {
    for (const id of ids) isChosen ? this.left.delete(id) : this.left.add(id);
    this.update();
  }

  setFound(isChosen) {
    this.set(this.found.map(({ id }) => id), isChosen);
    for (const input of this.box.querySelectorAll("input")) input.checked = isChosen;
  }

  update() {
    this.count.textContent = t("import.chosen", { count: this.all.length - this.left.size, total: this.all.length });
    this.changed();
  }

  filter() {
    const words = this.query.value.trim().toLowerCase();
    this.found = this.all.filter((each) => nameOf(each).toLowerCase().includes(words));
    this.box.scrollTop = 0;
    fill(this.box);
    this.addRows();
    this.update();
  }

  grow() {
    if (this.box.scrollTop + this.box.clientHeight > this.box.scrollHeight - MORE_WITHIN_PX) this.addRows();
  }

  addRows() {
    const { length } = this.box.children;
    this.box.append(...this.found.slice(length, length + SHOWN_ROWS).map((each) => this.row(each)));
  }

  row(each) {
    const input = h("input", { type: "checkbox", value: each.id, checked: !this.left.has(each.id) });
    const when = [each.last_at && longDate(each.last_at), t("count.messages", { count: each.messages })];
    return h(
      "li",
      {},
      h("label", {}, input, textElement("span", truncate(nameOf(each), MAX_TITLE_CHARS)), h("span", { class: "small" }, when.filter(Boolean).join(" · "))),
    );
  }
}

const nameOf = ({ title, id }) => title || id || t("sessions.untitled");
