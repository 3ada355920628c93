// The screen of a chat in which nothing has been said.

import { bankPath, patch } from "./api.js";
import { button, h, textElement } from "./dom.js";
import { emit } from "./events.js";
import { renderMarkdown } from "./markdown.js";
import { withErrors } from "./notices.js";

const STARTERS = ["My sister Mia moved to Lisbon.", "What did I tell you about my sister?", "Let's plan my week."];
const DEFAULT_SPEAKER = "user"; // of a person who has given no name

/** first: whether the bank is empty as well. */
export function welcomeScreen({ greeting, offer, character, first, model }) {
  return h(
    "div",
    { class: "welcome" },
    first && introduction(character),
    greeting && textElement("div", renderMarkdown(greeting), { class: "line-text greeting" }),
    offer &&
      h("p", { class: "offer" }, h("span", { class: "small" }, "Something to come back to: "), textElement("q", offer)),
    !first && !greeting && h("p", { class: "small" }, `New chat with ${character.nickname || character.name}.`),
    first && sampleOffer(),
    first && starterPrompts(),
    first && (character.person ?? DEFAULT_SPEAKER) === DEFAULT_SPEAKER && nameField(),
    !model && h("p", { class: "small" }, connectHint(), " Until then, replies only quote what was said before."),
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
  const chips = STARTERS.map((text) => button(text, () => emit("draft", text), { class: "chip" }));
  return h("div", { class: "chips", role: "group", "aria-label": "Ways to start" }, chips);
}

function nameField() {
  const field = h("input", { dir: "auto", autocomplete: "given-name", maxlength: 60, placeholder: "Your name" });
  const save = withErrors(async (event) => {
    event.preventDefault();
    const person = field.value.trim();
    if (!person) return;
    await patch(bankPath("/character"), { person });
    emit("person-named", person);
  });
  return h(
    "form",
    { class: "name-form", on: { submit: save } },
    h("label", {}, h("span", { class: "small" }, "What should I call you? (optional)"), field),
    h("button", { type: "submit" }, "Save"),
  );
}

/** A way to connect a language model. */
export const connectHint = () =>
  h(
    "span",
    { class: "connect-hint" },
    "No model is connected. ",
    button("Connect a model", () => emit("models-wanted"), { class: "link" }),
  );
