// The screen of a chat in which nothing has been said.

import { beginning } from "./beginning.js";
import { button, h, textElement } from "./dom.js";
import { emit } from "./events.js";
import { renderMarkdown } from "./markdown.js";

/** Messages to begin with; each suggests the next. */
export const STARTERS = ["My sister Mia moved to Lisbon.", "What did I tell you about my sister?", "Let's plan my week."];

/** first: whether the bank is empty as well. */
export function welcomeScreen(data) {
  const { greeting, offer, character, first, model } = data;
  return h(
    "div",
    { class: "welcome" },
    first && introduction(character),
    greeting && textElement("div", renderMarkdown(greeting), { class: "line-text greeting" }),
    offer &&
      h("p", { class: "offer" }, h("span", { class: "small" }, "Something to come back to: "), textElement("q", offer)),
    !first && !greeting && h("p", { class: "small" }, `New chat with ${character.nickname || character.name}.`),
    first && sampleOffer(),
    beginning(data),
    first && starterPrompts(),
    !model && !first && h("p", { class: "small" }, connectHint()),
  );
}

function introduction(character) {
  return [
    h("h2", {}, "Someone to talk to, who remembers."),
    h(
      "p",
      {},
      `Everthread stores every chat with ${character.nickname || character.name} on this machine, for years, `,
      "and finds what matters now. ",
      "Beside each reply you see the memories it was given, and can correct them, pin them, or forget them for good.",
    ),
  ];
}

/** A way to see what it does before anything of one's own is in it. */
const sampleOffer = () =>
  h(
    "p",
    { class: "bar" },
    button("Try it with a sample life", () => emit("demo-wanted")),
    h("span", { class: "small" }, "Two years of someone’s messages, three questions. No model needed."),
  );

function starterPrompts() {
  const chips = STARTERS.map((text) => button(text, () => emit("say", text), { class: "chip" }));
  return h("div", { class: "chips", role: "group", "aria-label": "Ways to start" }, chips);
}

/** A way to connect a language model. */
export const connectHint = () =>
  h(
    "span",
    { class: "connect-hint" },
    "No model is connected. ",
    button("Connect a model", () => emit("models-wanted"), { class: "link" }),
  );
