// Forms for a character's card, and for the scene of the running conversation.

import { bankPath, patch, put } from "./api.js";
import { showPreview } from "./cardpreview.js";
import { openDialog } from "./dialogs.js";
import { button, h } from "./dom.js";
import { emit } from "./events.js";
import { LorebookFields } from "./lorebook.js";
import { showNotice, withErrors } from "./notices.js";
import { PortraitField } from "./portrait.js";
import { route } from "./router.js";
import { t } from "./words.js";

const CARD_FIELDS = [
  ["name", t("card.name"), 1],
  ["description", t("card.description"), 6],
  ["greeting", t("card.greeting"), 3],
  ["location", t("card.location"), 1],
  ["scenario", t("card.scenario"), 3],
  ["examples", t("card.examples"), 5],
];
const ADVANCED_FIELDS = [
  ["nickname", t("card.nickname"), 1],
  ["instructions", t("card.instructions"), 4],
  ["reminder", t("card.reminder"), 2],
];
const SCENE_FIELDS = [
  ["person", t("beginning.your_name"), 1],
  ["location", t("card.location"), 1],
  ["description", t("card.description"), 8],
];

function formField([name, label, rows], values) {
  const props = { dir: "auto", name, value: values[name] ?? "" };
  return h("label", {}, h("span", {}, label), rows === 1 ? h("input", props) : h("textarea", { ...props, rows }));
}

const readForm = (form) => Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, value.trim()]));

/** Edit a character of the gallery. fresh: whether it is created by saving. more(close) returns further buttons. Resolves
 * to true if it was changed. */
export function editCharacter(character, { fresh = false, more = () => null } = {}) {
  const title = character.name ? t("card.edit", { name: character.name }) : t("card.new");
  const portrait = new PortraitField(character.name);
  const lorebook = new LorebookFields(character.card);
  return openDialog(
    title,
    (close) => {
      const save = withErrors(async (event) => {
        event.preventDefault();
        const now = { ...character, ...readForm(form), card: lorebook.read() };
        await put(`/characters/${encodeURIComponent(now.name)}?bank=${encodeURIComponent(route.bank)}`, now);
        await portrait.save(now.name).finally(() => emit("characters", now.name));
        close(true);
        if (!fresh) showNotice(t("card.kept", { name: now.name }));
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
        h("details", {}, h("summary", {}, t("card.more")), ADVANCED_FIELDS.map(cardField)),
        h(
          "div",
          { class: "bar editor-end" },
          more(close),
          h("button", { type: "submit", class: "primary" }, fresh ? t("card.create") : t("card.save")),
        ),
      );
      form.elements.name.required = true;
      if (character.name && !fresh) fixName(form.elements.name);
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

/** Make the name read-only, and say why. */
function fixName(field) {
  field.readOnly = true;
  field.setAttribute("aria-describedby", "fixed-name");
  field.closest("label").after(h("p", { class: "small", id: "fixed-name" }, t("card.fixed_name")));
}

const PLACEHOLDERS = [
  ["{{char}}", t("card.insert_name")],
  ["{{user}}", t("card.insert_person")],
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
    { class: "placeholders", role: "group", "aria-label": t("card.insert_into", { field }) },
    PLACEHOLDERS.map(([text, meaning]) =>
      button(text, () => insert(text), { class: "link", title: meaning }),
    ),
  );
}

/** What the card looks like in a chat, as it is typed. */
function previewOf(getForm) {
  const box = h("div", { class: "preview" });
  const show = () => showPreview(box, { nickname: "", ...readForm(getForm()) });
  const details = h("details", {}, h("summary", {}, t("card.preview")), box);
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
  const name = [character.nickname ? "nickname" : "name", t("card.its_name"), 1]; // the one that is shown
  return openDialog(t("card.scene"), (close) => {
    const save = withErrors(async (event) => {
      event.preventDefault();
      const { person, ...changes } = readForm(form);
      await patch(bankPath("/character"), person ? { ...changes, person } : changes);
      await chat.reload();
      close(true);
      showNotice(t("card.saved"));
    });
    const form = h(
      "form",
      { class: "fields", on: { submit: save } },
      [name, ...SCENE_FIELDS].map((field) => formField(field, character)),
      h("p", { class: "small" }, t("card.placeholders")),
      h(
        "div",
        { class: "bar end" },
        button(t("settings.cancel"), () => close()),
        h("button", { type: "submit", class: "primary" }, t("card.save")),
      ),
    );
    form.elements[name[0]].required = true;
    return form;
  });
}
