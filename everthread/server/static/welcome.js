// What stands where nothing was said yet.

import { inBank, patch } from "./api.js";
import { tell } from "./bus.js";
import { button, h, said } from "./dom.js";
import { formatted } from "./markdown.js";
import { careful } from "./notices.js";

const BEGINNINGS = ["My sister Mia moved to Lisbon.", "What did I tell you about my sister?", "Let's plan my week."];
const NOBODY = "user"; // what the person is called who gave no name

export function welcome({ greeting, offer, character, fresh, model }) {
  return h(
    "div",
    { class: "welcome" },
    fresh && introduction(character),
    greeting && said("div", formatted(greeting), { class: "said greeting" }),
    offer && h("p", { class: "offer" }, h("span", { class: "small" }, "Something to come back to: "), said("q", offer)),
    !fresh &&
      !greeting &&
      h("p", { class: "small" }, `A new conversation with ${character.nickname || character.name}.`),
    fresh && begin(),
    fresh && (character.person ?? NOBODY) === NOBODY && nameField(),
    !model && h("p", { class: "small" }, connect(), " Until then replies are recall only: what was said, in its own words."),
  );
}

function introduction(character) {
  return [
    h("h2", {}, "Someone to talk with, who remembers."),
    h(
      "p",
      {},
      `Everthread keeps every conversation with ${character.nickname || character.name} on this machine, for years, `,
      "and finds again what matters now. ",
      "Beside each reply you see what was remembered for it, and can correct it, pin it, or have it forgotten for good.",
    ),
  ];
}

function begin() {
  const beginnings = BEGINNINGS.map((text) => button(text, () => tell("draft", text), { class: "chip" }));
  return h("div", { class: "chips", role: "group", "aria-label": "Ways to begin" }, beginnings);
}

/** Asked once, before anything is said; nobody needs to answer. */
function nameField() {
  const field = h("input", { dir: "auto", autocomplete: "given-name", maxlength: 60, placeholder: "Your name" });
  const save = careful(async (event) => {
    event.preventDefault();
    const person = field.value.trim();
    if (!person) return;
    await patch(inBank("/character"), { person });
    tell("named", person);
  });
  return h(
    "form",
    { class: "name-of-person", on: { submit: save } },
    h("label", {}, h("span", { class: "small" }, "What shall I call you? You may leave it out."), field),
    h("button", { type: "submit" }, "Call me so"),
  );
}

/** How to connect a model, where there is none. */
export const connect = () =>
  h(
    "span",
    { class: "connect" },
    "No model is connected. To connect one, start ",
    h("code", {}, "ollama serve"),
    ", or set ",
    h("code", {}, "EVERTHREAD_LLM_URL"),
    " and ",
    h("code", {}, "EVERTHREAD_LLM_MODEL"),
    ", and start the server again.",
  );
