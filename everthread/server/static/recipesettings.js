// The recipe of a bank in the settings: a select box, and a field for each option that the server describes.

import { bankPath, get, patch, put } from "./api.js";
import { button, fill, h, select } from "./dom.js";
import { withErrors } from "./notices.js";
import { t } from "./words.js";

export function recipeSettings(serverInfo) {
  const box = h("div", { class: "recipe" });
  const all = get("/recipes");
  const draw = withErrors(async (updated) => {
    const [current, { items }] = await Promise.all([updated ?? get(bankPath("/recipe")), all]);
    fill(
      box,
      recipeSelect(items, serverInfo, current, draw),
      h("p", { class: "small" }, current.about),
      optionFields(current, draw),
    );
  });
  draw();
  return box;
}

function recipeSelect(all, serverInfo, current, draw) {
  const choices = [["", t("settings.server_default_is", { name: serverInfo.recipe })], ...all.map((recipe) => [recipe.name, `${recipe.name}: ${recipe.about}`])];
  const setRecipe = withErrors(async (name) => {
    draw(await put(bankPath("/recipe"), { name: name || null }));
  });
  return select(t("settings.recipe"), choices, current.kept ? current.name : "", setRecipe);
}

function optionFields(current, draw) {
  return h(
    "details",
    { class: "options" },
    h("summary", {}, t("settings.options", { recipe: current.name })),
    current.options.map((option) => optionField(option, current, draw)),
  );
}

function optionField(option, current, draw) {
  const message = h("span", { class: "error", role: "alert" });
  const control = optionInput(option);
  const save = async (value) => {
    try {
      const updated = await patch(bankPath("/recipe"), { name: current.name, options: { [option.name]: value } });
      Object.assign(current, updated);
      Object.assign(
        option,
        updated.options.find((other) => other.name === option.name),
      );
      message.textContent = "";
      show();
    } catch (error) {
      message.textContent = error.message;
    }
  };
  const reset = button(t("settings.reset"), () => save(option.usual), { class: "link", "aria-label": t("settings.reset_recipe_option", { option: option.title }) });
  const show = () => {
    writeValue(control, option);
    reset.hidden = isEqual(option.value, option.usual);
  };
  control.addEventListener("change", () => {
    if (control.validity.valid) save(readValue(control, option));
    else message.textContent = `${control.validationMessage}${rangeHint(option)}`;
  });
  show();
  return h(
    "div",
    { class: "option" },
    h("label", { class: "row" }, h("span", {}, option.title), control),
    h("p", { class: "small" }, option.meaning, rangeHint(option), " ", reset, " ", message),
  );
}

function optionInput(option) {
  if (option.type === "bool") return h("input", { type: "checkbox" });
  if (option.type === "texts") return h("textarea", { rows: 2, dir: "auto", placeholder: t("settings.one_per_line") });
  if (option.choices.length)
    return h(
      "select",
      {},
      option.choices.map((choice, index) => h("option", { value: choice }, option.choice_titles[index])),
    );
  if (option.type === "str") return h("input", { dir: "auto", autocomplete: "off" });
  const { low, high } = option;
  const step = option.type === "int" ? 1 : "any";
  const required = option.optional ? { placeholder: t("settings.none") } : { required: true };
  return h("input", { type: "number", min: low, max: high, step, ...required });
}

function writeValue(control, { type, value }) {
  if (type === "bool") control.checked = value;
  else control.value = type === "texts" ? value.join("\n") : (value ?? "");
}

/** A valid control's value, as the server expects it. */
function readValue(control, { type }) {
  if (type === "bool") return control.checked;
  if (type === "texts") return control.value.split("\n").filter((text) => text.trim());
  if (type === "str") return control.value;
  return control.value === "" ? null : Number(control.value);
}

function rangeHint({ type, low, high }) {
  if (type !== "int" && type !== "float") return "";
  if (low !== null && high !== null) return ` ${t("settings.from_to", { low, high })}`;
  if (low !== null) return ` ${t("settings.at_least", { low })}`;
  return high === null ? "" : ` ${t("settings.at_most", { high })}`;
}

const isEqual = (one, other) => JSON.stringify(one) === JSON.stringify(other);
