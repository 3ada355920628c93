// The first steps on the welcome screen: a name, earlier chats, a model. Each can be left out, and is offered once.

import { bankPath, get, patch, put } from "./api.js";
import { button, byId, fill, h } from "./dom.js";
import { emit, on } from "./events.js";
import { withErrors } from "./notices.js";
import { getPref, setPref } from "./prefs.js";
import { t } from "./words.js";

const MAX_MODELS = 4; // offered here; the window of the header has all
const MAX_NAME_WORDS = 5; // the terminal (cli/dialogues.py) has the same limits, and the same sentences
const MAX_NAME_CHARS = 40;
const SENTENCE = /[,;!?、。，；！？]|^(?:my name|soy)\s/i;
const INTRODUCTION = /^(?:(?:hi|hey|hello|hallo|hola|salut)[,!.]? )?(?:my name['’]?s|my name is|i am|i['’]?m|it['’]?s|it is|this is|call me|mein name ist|ich bin|ich hei(?:ß|ss)e|nenn mich|mon nom est|je suis|je m['’]appelle|appelle-moi|mi nombre es|yo soy|me llamo|ll[áa]mame)\s+|^(?:私の名前は|我叫|我是)|です$| (?:here|please|pls|bitte)$/i; // words before or after a name in a sentence
const NO_NAME = /^(?:not?|nobody|an?|the|your?|just|fine|okay|ok|nicht|kein|ein|pas|un|une|el|la)(?:\s|$)/i; // words that begin no name
const MAX_STATED_WORDS = 3; // of a name in a sentence; more are rather a sentence
const STEPS = [
  { name: "name", isNeeded: ({ character }) => !character.person, draw: nameStep },
  { name: "history", isNeeded: ({ first }) => first, draw: historyStep },
  { name: "model", isNeeded: ({ model }) => !model, draw: modelStep },
];

let isUnderWay = false; // whether a step was taken since the page was loaded

on("files-chosen", () => (isUnderWay = true));
on("imported", () => finish("history"));

const finishedSteps = () => getPref("beginning") ?? [];

function finish(name) {
  isUnderWay = true;
  setPref("beginning", [...new Set([...finishedSteps(), name])]);
}

/** A card with the next step, and then with the one after it; null if none is left. data: as for the welcome screen.
 * after: what takes the card's place. */
export function beginning(data, after) {
  if (!data.first && !isUnderWay) return null;
  const known = STEPS.filter((step) => finishedSteps().includes(step.name) || step.isNeeded(data));
  const card = h("section", { class: "beginning", "aria-label": t("beginning.title") });
  const drawNext = () => {
    const step = known.find(({ name }) => !finishedSteps().includes(name));
    if (!step) return card.replaceWith(after || "");
    const next = () => (finish(step.name), drawNext());
    const count = known.length > 1 && h("p", { class: "small" }, t("beginning.step", { number: known.indexOf(step) + 1, total: known.length }));
    fill(card, count, step.draw(next));
    if (isUnderWay) requestAnimationFrame(() => focusFirst(card));
    return card;
  };
  return drawNext() ?? null;
}

/** Focus the first control, unless a message is being written. */
function focusFirst(box) {
  if (box.isConnected && !byId("message").value) box.querySelector("input:not([hidden]), button")?.focus();
}

const skip = (label, next) => button(label, next, { class: "link" });

/** Whether a text looks like a name, and not like a sentence that says it. */
const isName = (text) => text.split(/\s+/).length <= MAX_NAME_WORDS && !SENTENCE.test(text) && !INTRODUCTION.test(text);

/** The name that a text is, or that it says ("I'm Nora"); null if it says anything else. */
function findName(text) {
  if (isName(text)) return text;
  const name = text.replace(/[ .!。！]+$/, "").replace(new RegExp(INTRODUCTION, "gi"), "");
  const isStated = name !== text && name.split(/\s+/).length <= MAX_STATED_WORDS && isName(name) && !NO_NAME.test(name);
  return name && isStated ? name : null;
}

function nameStep(next) {
  let isRepeated = false; // what is typed after a sentence may look like one, too
  const accept = () => field.setCustomValidity("");
  const field = h("input", { dir: "auto", autocomplete: "given-name", placeholder: t("beginning.your_name"), on: { input: accept } });
  get("/about").then(({ account }) => (field.value ||= account?.name ?? ""), () => null);
  const save = withErrors(async (event) => {
    event.preventDefault();
    const typed = field.value.trim();
    const person = findName(typed) ?? (isRepeated ? typed : null);
    if (person === null || person.length > MAX_NAME_CHARS) {
      isRepeated = true;
      field.setCustomValidity(t("beginning.only_name", { limit: MAX_NAME_CHARS }));
      return void field.reportValidity();
    }
    if (person) await patch(bankPath("/character"), { person });
    next();
    if (person) emit("person-named", person);
  });
  return h(
    "form",
    { class: "name-form", novalidate: true, on: { submit: save } },
    h("label", {}, h("span", { class: "question" }, t("beginning.name")), field),
    h("button", { type: "submit" }, t("beginning.save")),
    skip(t("beginning.skip"), next),
  );
}

function historyStep(next) {
  const file = h("input", { type: "file", multiple: true, hidden: true, "aria-label": t("beginning.files") });
  file.addEventListener("change", () => file.files.length && emit("files-chosen", [...file.files]));
  return [
    h("h3", { class: "question" }, t("beginning.history")),
    h("p", { class: "small" }, t("beginning.formats")),
    h("p", { class: "small" }, t("beginning.drop")),
    h("div", { class: "bar" }, button(t("beginning.choose_file"), () => file.click()), file, skip(t("beginning.no_history"), next)),
  ];
}

function modelStep(next) {
  const box = h("div", { class: "beginning" }, h("p", { class: "small", role: "status" }, t("models.looking")));
  const draw = async () => {
    const { ollama, set_by: setBy } = await get("/model").catch(() => ({}));
    if (setBy || !ollama) return next(); // this person can't choose it
    const more = ollama.models.length ? t("beginning.other_model") : t("settings.connect");
    const models = ollama.models.slice(0, MAX_MODELS).map((name) => modelChip(name, ollama.url));
    fill(
      box,
      h("h3", { class: "question" }, t("beginning.which_model")),
      h("p", { class: "small" }, modelHint(ollama)),
      h("div", { class: "bar" }, models, button(more, () => emit("models-wanted")), skip(t("beginning.no_model"), next)),
    );
    return focusFirst(box);
  };
  draw();
  return box;
}

function modelHint({ models, is_running: isRunning }) {
  if (models.length) return t("beginning.local_models");
  return t(isRunning ? "beginning.no_local_model" : "beginning.no_ollama");
}

function modelChip(name, url) {
  const label = name.replace(/:latest$/, "");
  const connect = withErrors(async () => {
    chip.disabled = true;
    chip.textContent = t("models.starting_one", { model: label });
    try {
      await put("/model", { url, model: name, key: "" });
      emit("model-changed");
    } finally {
      chip.disabled = false;
      chip.textContent = label;
    }
  });
  const chip = button(label, connect, { class: "chip" });
  return chip;
}
