// Forms for a character's card, and for the scene of the running conversation.

import { bankPath, patch, put } from "./api.js";
import { openDialog } from "./dialogs.js";
import { button, h } from "./dom.js";
import { emit } from "./events.js";
import { showNotice, withErrors } from "./notices.js";

const CARD_FIELDS = [
  ["name", "Name", 1],
  ["description", "Description: personality and voice", 6],
  ["greeting", "First message", 3],
  ["location", "Location", 1],
  ["scenario", "Scenario", 3],
  ["examples", "Example dialogues", 5],
];
const ADVANCED_FIELDS = [
  ["nickname", "Nickname, shown instead of the name", 1],
  ["instructions", "System prompt, replacing the default", 4],
  ["reminder", "Reminder after the chat history", 2],
];
const SCENE_FIELDS = [
  ["person", "Your name", 1],
  ["location", "Location", 1],
  ["description", "Description: personality and voice", 8],
];

function formField([name, label, rows], values) {
  const props = { dir: "auto", name, value: values[name] ?? "" };
  return h("label", {}, h("span", {}, label), rows === 1 ? h("input", props) : h("textarea", { ...props, rows }));
}

const readForm = (form) => Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, value.trim()]));

/** Edit a character of the gallery. fresh: whether it is created by saving. more(close) returns further buttons. Resolves
 * to true if it was changed. */
export function editCharacter(character, { fresh = false, more = () => null } = {}) {
  const title = character.name ? `Edit ${character.name}` : "New character";
  return openDialog(
    title,
    (close) => {
      const save = withErrors(async (event) => {
        event.preventDefault();
        const now = { ...character, ...readForm(form) };
        await put(`/characters/${encodeURIComponent(now.name)}`, now);
        emit("characters", now.name);
        close(true);
      });
      const form = h(
        "form",
        { class: "fields", on: { submit: save } },
        h("p", { class: "small" }, "{{char}} is replaced by the character's name, {{user}} by yours."),
        CARD_FIELDS.map((field) => formField(field, character)),
        h(
          "details",
          {},
          h("summary", {}, "More"),
          ADVANCED_FIELDS.map((field) => formField(field, character)),
        ),
        h(
          "div",
          { class: "bar editor-end" },
          more(close),
          h("button", { type: "submit", class: "primary" }, fresh ? "Create character" : "Save"),
        ),
      );
      form.elements.name.required = true;
      form.elements.name.readOnly = Boolean(character.name) && !fresh;
      return form;
    },
    { wide: true },
  );
}

/** Edit the scene: the bank's character, as of the next reply. */
export function editScene(chat) {
  const { person } = chat.state.character;
  const character = { ...chat.state.character, person: person === "user" ? "" : person };
  const name = [character.nickname ? "nickname" : "name", "Character's name", 1]; // the one that is shown
  return openDialog("Scene", (close) => {
    const save = withErrors(async (event) => {
      event.preventDefault();
      const { person, ...changes } = readForm(form);
      await patch(bankPath("/character"), person ? { ...changes, person } : changes);
      await chat.reload();
      close(true);
      showNotice("Saved. It takes effect with the next reply.");
    });
    const form = h(
      "form",
      { class: "fields", on: { submit: save } },
      [name, ...SCENE_FIELDS].map((field) => formField(field, character)),
      h(
        "div",
        { class: "bar end" },
        button("Cancel", () => close()),
        h("button", { type: "submit", class: "primary" }, "Save"),
      ),
    );
    form.elements[name[0]].required = true;
    return form;
  });
}
