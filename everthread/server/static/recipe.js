// How a bank remembers: its recipe, and a field for each of its options, as the server describes them.

import { get, inBank, patch, put } from "./api.js";
import { button, fill, h, select } from "./dom.js";
import { careful } from "./notices.js";

const NONE = "none"; // shown where an option has no value

/** The part of the settings that chooses the recipe. */
export function recipe(about) {
  const box = h("div", { class: "recipe" });
  const all = get("/recipes").then(({ items }) => items);
  const draw = careful(async (told) => {
    const present = told ?? (await get(inBank("/recipe")));
    fill(box, chooser(await all, about, present, draw), h("p", { class: "small" }, present.about), fields(present, draw));
  });
  draw();
  return box;
}

function chooser(all, about, present, draw) {
  const choices = [["", `As the server has it (${about.recipe})`], ...all.map((each) => [each.name, each.name])];
  const take = careful(async (name) => {
    draw(await put(inBank("/recipe"), { name: name || null }));
  });
  return select("Recipe", choices, present.kept ? present.name : "", take);
}

function fields(present, draw) {
  return h(
    "details",
    { class: "options" },
    h("summary", {}, `Options of ${present.name}`),
    present.options.map((option) => field(option, present, draw)),
  );
}

function field(option, present, draw) {
  const wrong = h("span", { class: "wrong", role: "alert" });
  const control = input(option);
  const save = async (value) => {
    try {
      const told = await patch(inBank("/recipe"), { name: present.name, options: { [option.name]: value } });
      Object.assign(present, told);
      Object.assign(
        option,
        told.options.find((each) => each.name === option.name),
      );
      wrong.textContent = "";
      show();
    } catch (error) {
      wrong.textContent = error.message;
    }
  };
  const reset = button("reset", () => save(option.usual), { class: "link", "aria-label": `Reset ${option.name}` });
  const show = () => {
    write(control, option);
    reset.hidden = same(option.value, option.usual);
  };
  control.addEventListener("change", () => {
    if (control.validity.valid) save(read(control, option));
    else wrong.textContent = `${control.validationMessage}${limits(option)}`;
  });
  show();
  return h(
    "div",
    { class: "option" },
    h("label", { class: "row" }, h("span", {}, option.name.replaceAll("_", " ")), control),
    h("p", { class: "small" }, option.meaning, limits(option), " ", reset, " ", wrong),
  );
}

function input(option) {
  if (option.type === "bool") return h("input", { type: "checkbox" });
  if (option.type === "texts") return h("textarea", { rows: 2, dir: "auto", placeholder: "One text a row" });
  if (option.choices.length)
    return h(
      "select",
      {},
      option.choices.map((each) => h("option", { value: each }, each)),
    );
  if (option.type === "str") return h("input", { dir: "auto", autocomplete: "off" });
  const { low, high } = option;
  const step = option.type === "int" ? 1 : "any";
  const may = option.optional ? { placeholder: NONE } : { required: true };
  return h("input", { type: "number", min: low, max: high, step, ...may });
}

function write(control, { type, value }) {
  if (type === "bool") control.checked = value;
  else control.value = type === "texts" ? value.join("\n") : (value ?? "");
}

/** What a valid control says, as the server takes it. */
function read(control, { type }) {
  if (type === "bool") return control.checked;
  if (type === "texts") return control.value.split("\n").filter((text) => text.trim());
  if (type === "str") return control.value;
  return control.value === "" ? null : Number(control.value);
}

function limits({ type, low, high }) {
  if (type !== "int" && type !== "float") return "";
  if (low !== null && high !== null) return ` From ${low} to ${high}.`;
  if (low !== null) return ` From ${low}.`;
  return high === null ? "" : ` Up to ${high}.`;
}

const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);
