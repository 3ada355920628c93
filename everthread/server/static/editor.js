// A character's card as a form, and the scene of the running conversation: who, where, and with whom.

import { inBank, patch, put } from "./api.js";
import { tell } from "./bus.js";
import { open } from "./dialogs.js";
import { button, h } from "./dom.js";
import { careful, notice } from "./notices.js";

const CARD = [
  ["name", "Name", 1],
  ["description", "Who it is, and how it speaks", 6],
  ["greeting", "What it says first", 3],
  ["location", "Where the two of you are", 1],
  ["scenario", "What goes on", 3],
  ["examples", "Conversations that show how it speaks", 5],
];
const MORE = [
  ["nickname", "What it is called, where that is not its name", 1],
  ["instructions", "Instructions of its own, in place of ours", 4],
  ["reminder", "A reminder behind the conversation", 2],
];
const SCENE = [
  ["person", "Your name", 1],
  ["location", "Where the two of you are", 1],
  ["description", "Who it is, and how it speaks", 8],
];

function field([name, label, rows], values) {
  const props = { dir: "auto", name, value: values[name] ?? "" };
  return h("label", {}, h("span", {}, label), rows === 1 ? h("input", props) : h("textarea", { ...props, rows }));
}

const read = (form) => Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, value.trim()]));

/** Edit a character of the gallery. Whether it was saved. */
export function edit(character, { fresh = false } = {}) {
  const title = character.name ? `Edit ${character.name}` : "A new character";
  return open(
    title,
    (close) => {
      const save = careful(async (event) => {
        event.preventDefault();
        const now = { ...character, ...read(form) };
        await put(`/characters/${encodeURIComponent(now.name)}`, now);
        tell("characters", now.name);
        close(true);
      });
      const form = h(
        "form",
        { class: "fields", on: { submit: save } },
        h("p", { class: "small" }, "{{char}} stands for its name, {{user}} for yours."),
        CARD.map((each) => field(each, character)),
        h(
          "details",
          {},
          h("summary", {}, "More"),
          MORE.map((each) => field(each, character)),
        ),
        h(
          "div",
          { class: "bar end" },
          h("button", { type: "submit", class: "main" }, fresh ? "Keep this character" : "Save"),
        ),
      );
      form.elements.name.required = true;
      form.elements.name.readOnly = Boolean(character.name) && !fresh;
      return form;
    },
    { wide: true },
  );
}

/** Change the scene in the middle of the conversation. */
export function scene(talk) {
  const { person } = talk.state.character;
  const character = { ...talk.state.character, person: person === "user" ? "" : person };
  const name = [character.nickname ? "nickname" : "name", "The character's name", 1]; // as it is shown
  return open("The scene", (close) => {
    const save = careful(async (event) => {
      event.preventDefault();
      const { person, ...changes } = read(form);
      await patch(inBank("/character"), person ? { ...changes, person } : changes);
      await talk.load();
      close(true);
      notice("From the next reply on, it is so.");
    });
    const form = h(
      "form",
      { class: "fields", on: { submit: save } },
      [name, ...SCENE].map((each) => field(each, character)),
      h(
        "div",
        { class: "bar end" },
        button("Leave it", () => close()),
        h("button", { type: "submit", class: "main" }, "Save"),
      ),
    );
    form.elements[name[0]].required = true;
    return form;
  });
}
