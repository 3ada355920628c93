// What stands where nothing was said yet.

import { tell } from "./bus.js";
import { button, h, said } from "./dom.js";

const BEGINNINGS = ["My sister Mia moved to Lisbon.", "What did I tell you about my sister?", "Let's plan my week."];

export function welcome({ greeting, offer, character, fresh, model }) {
  return h(
    "div",
    { class: "welcome" },
    fresh && introduction(character),
    greeting && said("p", greeting, { class: "said greeting" }),
    offer && h("p", { class: "offer" }, h("span", { class: "small" }, "Something to come back to: "), said("q", offer)),
    !fresh &&
      !greeting &&
      h("p", { class: "small" }, `A new conversation with ${character.nickname || character.name}.`),
    fresh && begin(),
    !model && connect(),
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

/** How to connect a model, where there is none. */
export function connect() {
  return h(
    "p",
    { class: "small connect" },
    "No model is connected, so replies are recall only. To connect one, start ",
    h("code", {}, "ollama serve"),
    ", or set ",
    h("code", {}, "EVERTHREAD_LLM_URL"),
    " and ",
    h("code", {}, "EVERTHREAD_LLM_MODEL"),
    ", and start the server again.",
  );
}
