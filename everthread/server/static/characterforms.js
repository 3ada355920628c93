// Forms for a character's card, and for the scene of the running conversation.

import { bankPath, patch, put } from "./api.js";
import { showPreview } from "./cardpreview.js";
import { openDialog } from "./dialogs.js";
import { button, h } from "./dom.js";
import { emit } from "./events.js";
import { LorebookFields } from "./lorebook.js";
import { showNotice, withErrors } from "./notices.js";
import { PortraitField } from "./portrait.js";

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
  const portrait = new PortraitField(character.name);
  const lorebook = new LorebookFields(character.card);
  return openDialog(
    title,
    (close) => {
      const save = withErrors(async (event) => {
        event.preventDefault();
        const now = { ...character, ...readForm(form), card: lorebook.read() };
        await put(`/characters/${encodeURIComponent(now.name)}`, now);
        await portrait.save(now.name).finally(() => emit("characters", now.name));
        close(true);
      });
      const form = h(
        "form",
        { class: "fields", on: { submit: save } },
        h(
          "div",
          { class: "card-head" },
          portrait.element,
          h("div", { class: "fields" }, CARD_FIELDS.slice(0, 2).map(cardField)),
        ),
        CARD_FIELDS.slice(2).map(cardField),
        previewOf(() => form),
        lorebook.element,
        h("details", {}, h("summary", {}, "More"), ADVANCED_FIELDS.map(cardField)),
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

  /** A field, with buttons that insert placeholders if its text may contain them. */
  function cardField(field) {
    const label = formField(field, character);
    return field[0] === "name" || field[0] === "nickname" ? label : h("div", { class: "with-placeholders" }, label, placeholderButtons(label));
  }
}

const PLACEHOLDERS = [
  ["{{char}}", "the character's name"],
  ["{{user}}", "your name"],
];

function placeholderButtons(label) {
  const insert = (text) => {
    const field = label.querySelector("textarea, input");
    field.focus();
    field.setRangeText(text, field.selectionStart, field.selectionEnd, "end");
    field.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const field = label.querySelector("span").textContent;
  return h(
    "div",
    { class: "placeholders", role: "group", "aria-label": `Insert into ${field}` },
    PLACEHOLDERS.map(([text, meaning]) =>
      button(text, () => insert(text), { class: "link", title: `Insert ${meaning}` }),
    ),
  );
}

/** What the card looks like in a chat, as it is typed. */
function previewOf(getForm) {
  const box = h("div", { class: "preview" });
  const show = () => showPreview(box, { nickname: "", ...readForm(getForm()) });
  const details = h("details", {}, h("summary", {}, "Preview of the first message and the examples"), box);
  details.addEventListener("toggle", () => {
    if (!details.open) return getForm().removeEventListener("input", show);
    getForm().addEventListener("input", show);
    show();
  });
  return details;
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
