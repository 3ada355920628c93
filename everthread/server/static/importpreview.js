// The contents of files of chats, and what to import of them: who is who, and which chats.

import { UNNAMED } from "./banknames.js";
import { longDate } from "./dates.js";
import { button, fill, h, select, textElement, truncate } from "./dom.js";
import { formatNumber, joinList, t } from "./words.js";

const MAX_NAMED_SPEAKERS = 6;
const SHOWN_ROWS = 100; // at a time
const MORE_WITHIN_PX = 400; // of the end of the list
const MAX_TITLE_CHARS = 120;

export const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

/** uploads: those that could be read get `choices`. start: called when the person has chosen. */
export function importPreview(uploads, person, start, cancel) {
  const read = uploads.filter(({ contents }) => contents);
  const isOne = uploads.length === 1;
  const conversations = read.flatMap((upload) => upload.contents.conversations.map((each) => ({ ...each, upload })));
  const list = conversations.length > 1 ? new ConversationList(conversations, !isOne, update) : null;
  const go = button("", start, { class: "primary" });
  guessSpeakers(read, person);
  function update() {
    for (const upload of read) {
      Object.assign(upload.choices, list?.chosen(upload) ?? { sessions: null, messages: upload.contents.messages });
    }
    const count = sum(read.map(({ choices }) => choices.messages));
    go.textContent = t("import.start", { messages: t("count.messages", { count }) });
    go.disabled = !count && !read.some(({ contents }) => contents.units);
  }
  update();
  const parts = read.map((upload) => [summary(upload, isOne), [dateChoice(upload), speakerChoices(upload, read)]]);
  return [
    isOne ? parts : [overview(uploads, conversations), h("ul", { class: "files" }, parts.map((part, index) => filePart(part, read[index].name)))],
    list?.element,
    h("div", { class: "bar end" }, button(t("settings.cancel"), cancel), go),
  ];
}

const filePart = (part, name) => h("li", {}, h("div", { role: "group", "aria-label": name }, part));

const overview = (uploads, conversations) =>
  h(
    "div",
    { class: "contents" },
    h("p", { class: "headline" }, t("import.files", { count: uploads.length })),
    size({ conversations, messages: sum(conversations.map(({ messages }) => messages)) }),
    refusals(uploads),
  );

/** The files that can't be read, each with the reason; false if all can. */
export function refusals(uploads) {
  const rows = uploads.filter(({ refusal }) => refusal).map(({ name, refusal }) => [name, refusal]);
  return details(t("import.broken_files", { count: rows.length }), rows, true);
}

function summary({ contents, name }, isOne) {
  const { services, retracted, speakers, skipped, broken } = contents;
  const names = speakers.slice(0, MAX_NAMED_SPEAKERS).map(describe);
  const others = speakers.length - names.length;
  if (others > 0) names.push(t("import.others", { count: others }));
  return h(
    "div",
    { class: "contents" },
    textElement(isOne ? "p" : "h3", services.length ? joinList(services) : name, { class: "headline" }),
    !isOne && services.length > 0 && textElement("p", name, { class: "small" }),
    size(contents),
    names.length > 0 && textElement("p", t("import.speakers", { names: joinList(names) })),
    retracted > 0 && h("p", { class: "small" }, t("import.discarded", { count: retracted })),
    details(t("import.left_out", { count: sum(Object.values(skipped)) }), Object.entries(skipped).map(([kind, count]) => [kindName(kind), formatNumber(count)])),
    details(t("import.broken", { count: Object.keys(broken).length }), Object.entries(broken)),
  );
}

/** How much there is, and from when to when. */
function size({ conversations, messages, units, first_at, last_at }) {
  const counts = [t("count.chats", { count: conversations.length }), t("count.messages", { count: messages })];
  const [first, last] = [first_at, last_at].map(longDate);
  if (units) counts.push(t("import.units", { count: units }));
  return [
    h("p", {}, counts.join(" · ")),
    first_at && h("p", {}, first === last ? first : t("import.span", { first, last })),
  ];
}

const describe = ({ name, messages }) =>
  `${name === UNNAMED ? t("line.you") : truncate(name, MAX_TITLE_CHARS)} (${formatNumber(messages)})`;

/** What is left out, in the page's words where it has some for this kind. */
function kindName(kind) {
  const key = `skipped.${kind.replaceAll(" ", "_")}`;
  const name = t(key);
  return name === key ? kind : name;
}

const details = (title, rows, open = false) =>
  rows.length > 0 &&
  h(
    "details",
    { class: "small", open },
    h("summary", {}, title),
    h(
      "ul",
      {},
      rows.slice(0, SHOWN_ROWS).map(([name, value]) => h("li", { dir: "auto" }, `${truncate(name, MAX_TITLE_CHARS)}: ${value}`)),
    ),
  );

/** Ask what day a date is that can be read in two ways. */
function dateChoice({ contents, choices }) {
  const [example] = Object.values(contents.ambiguous_dates);
  if (!example) return null;
  const orders = [[example.order, example.day], [example.other_order, example.other_day]];
  const days = orders.map(([order, day]) => [order, longDate(`${day}T12:00`)]);
  return select(t("import.date", { date: example.text }), days, example.order, (order) => Object.assign(choices, { dateOrder: order }));
}

/** Ask who the person is, and who is the chatbot if the file doesn't say; in other files they are the same. */
function speakerChoices(upload, uploads) {
  const { speakers, me, assistant } = upload.contents;
  if (speakers.length < 2) return null;
  const options = speakers.map((speaker) => [speaker.name, describe(speaker)]);
  const ask = (label, none, property) => {
    const others = () => uploads.filter((each) => each === upload || !each.choices[property]);
    const row = select(label, [["", none], ...options], upload.choices[property], (name) => choose(others(), property, name));
    upload.boxes[property] = row.querySelector("select");
    return row;
  };
  return [
    me !== UNNAMED && ask(t("import.me"), t("import.nobody"), "speaker"),
    !assistant && ask(t("import.assistant"), t("import.no_assistant"), "assistant"),
  ];
}

/** Choose a speaker in the files that have one of this name. */
function choose(uploads, property, name) {
  for (const { contents, choices, boxes } of uploads) {
    if (name && !contents.speakers.some((speaker) => speaker.name === name)) continue;
    choices[property] = name;
    if (boxes[property]) boxes[property].value = name;
  }
}

/** Guess who the person is: the speaker of the same name, or as the file or another one indicates. */
function guessSpeakers(uploads, person) {
  const name = person?.toLowerCase();
  for (const upload of uploads) {
    const { speakers, me } = upload.contents;
    const speaker = speakers.find((each) => each.name.toLowerCase() === name)?.name ?? me ?? "";
    Object.assign(upload, { choices: { speaker, assistant: "" }, boxes: {} });
  }
  for (const { choices } of uploads) choose(uploads.filter((each) => !each.choices.speaker), "speaker", choices.speaker);
}

/** The conversations of files, all of them chosen at first; rows are made as one scrolls. */
class ConversationList {
  constructor(conversations, hasFiles, changed) {
    this.all = [...conversations].sort((one, other) => (other.last_at ?? "").localeCompare(one.last_at ?? ""));
    this.left = new Set(); // those that are not chosen
    Object.assign(this, { hasFiles, changed });
    this.query = h("input", { type: "search", dir: "auto", "aria-label": t("import.find"), placeholder: t("import.find") });
    this.query.addEventListener("input", () => this.filter());
    this.box = h("ul", { class: "conversations" });
    this.box.addEventListener("scroll", () => this.grow());
    this.box.addEventListener("change", ({ target }) => this.set([this.all[target.value]], target.checked));
    this.count = h("p", { class: "small", role: "status" });
    this.element = h(
      "details",
      { class: "choose", on: { toggle: () => this.open() } },
      h("summary", {}, t("import.choose")),
      this.query,
      h("div", { class: "bar" }, button(t("import.all"), () => this.setFound(true)), button(t("import.none"), () => this.setFound(false)), this.count),
      this.box,
    );
  }

  open() {
    if (!this.box.firstChild) this.filter();
    this.element.scrollIntoView({ block: "nearest" });
  }

  /** What is chosen of a file: the ids of conversations, null for all, and their messages. */
  chosen(upload) {
    const chosen = this.all.filter((each) => each.upload === upload && !this.left.has(each));
    const isAll = chosen.length === upload.contents.conversations.length;
    return { sessions: isAll ? null : chosen.map(({ id }) => id), messages: sum(chosen.map(({ messages }) => messages)) };
  }

  set(conversations, isChosen) {
    for (const each of conversations) isChosen ? this.left.delete(each) : this.left.add(each);
    this.update();
  }

  setFound(isChosen) {
    this.set(this.found, isChosen);
    for (const input of this.box.querySelectorAll("input")) input.checked = isChosen;
  }

  update() {
    this.count.textContent = t("import.chosen", { count: this.all.length - this.left.size, total: this.all.length });
    this.changed();
  }

  /** The service or the file that a conversation comes from, if there are several. */
  fileOf({ upload: { contents, name } }) {
    return this.hasFiles ? joinList(contents.services) || truncate(name, MAX_TITLE_CHARS) : "";
  }

  filter() {
    const words = this.query.value.trim().toLowerCase();
    this.found = this.all.filter((each) => [nameOf(each), this.fileOf(each)].join("\n").toLowerCase().includes(words));
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
    const input = h("input", { type: "checkbox", value: this.all.indexOf(each), checked: !this.left.has(each) });
    const when = [this.fileOf(each), each.last_at && longDate(each.last_at), t("count.messages", { count: each.messages })];
    return h(
      "li",
      {},
      h("label", {}, input, textElement("span", truncate(nameOf(each), MAX_TITLE_CHARS)), h("span", { class: "small" }, when.filter(Boolean).join(" · "))),
    );
  }
}

const nameOf = ({ title, opening, id }) => title || opening || id;
