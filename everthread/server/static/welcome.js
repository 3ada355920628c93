// The screen of a chat in which nothing has been said.

import { beginning } from "./beginning.js";
import { button, h, textElement } from "./dom.js";
import { emit } from "./events.js";
import { renderMarkdown } from "./markdown.js";
import { t } from "./words.js";

const FACT = t("welcome.starter_fact");
const QUESTION = t("welcome.starter_question"); // about the fact
const PLAN = t("welcome.starter_plan"); // which only a model can make
const NEXT = new Map([[FACT, QUESTION], [QUESTION, PLAN]]);

/** The message that one of those to begin with suggests as the next one, if any. */
export function nextStarter(text, model) {
  const next = NEXT.get(text);
  return next !== PLAN || model ? next : undefined;
}

/** first: whether the bank is empty as well. */
export function welcomeScreen(data) {
  const { greeting, offer, character, first, model } = data;
  const starters = first && starterPrompts(model);
  return h(
    "div",
    { class: "welcome" },
    first && introduction(character),
    greeting && textElement("div", renderMarkdown(greeting), { class: "line-text greeting" }),
    offer &&
      h("p", { class: "offer" }, h("span", { class: "small" }, t("welcome.offer"), " "), textElement("q", offer)),
    !first && !greeting && h("p", { class: "small" }, t("welcome.new", { name: character.nickname || character.name })),
    first && sampleOffer(),
    beginning(data, starters) ?? starters,
    !model && !first && h("p", { class: "small" }, connectHint()),
  );
}

function introduction(character) {
  return [
    h("h2", {}, t("welcome.title")),
    h("p", {}, t("welcome.about", { name: character.nickname || character.name })),
  ];
}

/** A way to see what it does before anything of one's own is in it. */
const sampleOffer = () =>
  h(
    "p",
    { class: "bar" },
    button(t("welcome.sample"), () => emit("demo-wanted")),
    h("span", { class: "small" }, t("welcome.sample_hint")),
  );

function starterPrompts(model) {
  const starters = model ? [FACT, QUESTION, PLAN] : [FACT]; // without a model, nothing could answer the question yet
  const chips = starters.map((text) => button(text, () => emit("say", text), { class: "chip" }));
  return h("div", { class: "chips", role: "group", "aria-label": t("welcome.starters") }, chips);
}

/** A way to connect a language model. */
const connectHint = () =>
  h(
    "span",
    { class: "connect-hint" },
    t("welcome.no_model"),
    " ",
    button(t("settings.connect"), () => emit("models-wanted"), { class: "link" }),
  );
