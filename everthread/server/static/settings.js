// How replies are made, how the page looks, and what becomes of the memory as a whole.

import { ask, get, hasKey, inBank, patch, post, remove, setKey } from "./api.js";
import { tell } from "./bus.js";
import { counted } from "./dates.js";
import { open, receipt } from "./dialogs.js";
import { button, download, fill, h, said, select } from "./dom.js";
import { go, here } from "./here.js";
import { careful, clear, notice } from "./notices.js";
import { pref, prefer } from "./prefs.js";
import { recipe } from "./recipe.js";
import { connect } from "./welcome.js";

const SLIDERS = [
  ["temperature", "Temperature", 0, 2, 0.05, 1, "How freely words are chosen"],
  ["top_p", "Top-p", 0.05, 1, 0.05, 1, "From how many words each is chosen"],
  ["frequency_penalty", "Frequency penalty", -2, 2, 0.1, 0, "Against saying the same words"],
  ["presence_penalty", "Presence penalty", -2, 2, 0.1, 0, "For speaking of new things"],
  ["max_tokens", "Reply length", 50, 4000, 50, 500, "Tokens of a reply at most"],
  ["budget", "Memory budget", 100, 4000, 100, 1000, "Tokens of the prompt for what is remembered"],
];
const REMEMBER = [
  ["ask", "Ask at the end of each conversation"],
  ["always", "Always remember"],
  ["never", "Never: every conversation is incognito"],
];
const THEMES = [
  ["", "As the system has it"],
  ["light", "Light"],
  ["dark", "Dark"],
];

export function settings(about, talk) {
  return open(
    "Settings",
    (close) => [
      h("section", {}, h("h3", {}, "Replies"), models(about), SLIDERS.map(slider)),
      h("section", {}, h("h3", {}, "Memory"), recipe(about), remembering(talk), scribe(about), transfer(close)),
      h("section", {}, h("h3", {}, "The page"), select("Look", THEMES, pref("theme") ?? "", look), hasKey() && key()),
      h("p", { class: "small" }, `Everthread ${about.version} · found by ${about.embedder}`),
    ],
    { wide: true },
  );
}

function models(about) {
  if (!about.model) return h("p", { class: "small" }, connect());
  const box = h("div", {});
  const draw = (names) =>
    fill(
      box,
      select(
        "Model",
        [["", `As the server has it (${about.model.name})`], ...names.map((each) => [each, each])],
        pref("model") ?? "",
        (value) => prefer("model", value || null),
      ),
    );
  draw(pref("model") ? [pref("model")] : []);
  get("/models").then(
    ({ items }) => draw(items),
    () => null,
  ); // that server may be away; the default stays
  return box;
}

function slider([name, label, min, max, step, usual, hint]) {
  const shown = h("output", {});
  const range = h("input", { type: "range", min, max, step, "aria-label": `${label}: ${hint}` });
  const reset = button("reset", () => take(null), {
    class: "link",
    "aria-label": `Leave ${label} to the model's server`,
  });
  const take = (value) => {
    prefer(name, value);
    draw(value);
  };
  const draw = (value) => {
    range.value = value ?? usual;
    shown.textContent = value ?? "as usual";
    reset.hidden = value === null;
  };
  range.addEventListener("input", () => take(Number(range.value)));
  draw(pref(name));
  return h("div", { class: "slider", title: hint }, h("span", {}, label), range, shown, reset);
}

function look(value) {
  prefer("theme", value || null);
  if (value) document.documentElement.dataset.theme = value;
  else delete document.documentElement.dataset.theme;
}

function remembering(talk) {
  const set = careful(async (remember) => {
    await patch(inBank("/settings"), { remember });
    await talk.load();
  });
  return select("Conversations", REMEMBER, talk.state?.remember ?? "ask", set);
}

/** Who writes notes and summaries. */
function scribe(about) {
  if (!about.model) return null;
  const box = h("div", {});
  const set = careful((name) => patch(inBank("/settings"), { scribe: name || null }));
  Promise.all([get(inBank("/settings")), get("/models")]).then(
    ([settings, { items }]) => {
      const names = [...new Set([...items, settings.scribe])].filter((name) => name && name !== "none");
      const choices = [
        ["", "As the server has it"],
        ["none", "No model: the most telling sentences"],
        ...names.map((name) => [name, name]),
      ];
      fill(box, select("Notes by", choices, settings.scribe ?? "", set));
    },
    () => null,
  );
  return box;
}

function key() {
  return h(
    "div",
    { class: "row" },
    h("span", {}, "Your key"),
    button("Forget it in this tab", () => (setKey(null), location.reload())),
  );
}

// ------------------------------------------------------------ the whole of it

function transfer(close) {
  const file = h("input", { type: "file", hidden: true, "aria-label": "A file of conversations" });
  file.addEventListener(
    "change",
    careful(async () => (await take(file.files[0]), close())),
  );
  return h(
    "div",
    { class: "bar" },
    button("Export all", careful(save)),
    button("Import conversations", () => file.click()),
    file,
    button(
      "Delete everything",
      careful(async () => (await everything()) && close()),
      { class: "danger" },
    ),
  );
}

async function save() {
  const answer = await ask("GET", inBank("/export"));
  download(await answer.blob(), `${here.bank.replaceAll(/[^\p{L}\p{N}_-]/gu, "_")}.jsonl`);
}

const UNSAID = /; (if it is one of these, )?name (it|its format) with \?format=.*$/s; // which nobody can say here
const CARDS = '; and characters: their cards, a picture or JSON with a "spec" or a "first_mes".';

/** Take in a file of conversations. */
export async function take(file) {
  notice(`Reading ${file.name} …`, { lasting: true });
  const path = inBank(`/import?name=${encodeURIComponent(file.name)}`);
  const { read, added } = await post(path, file, { type: "application/octet-stream" }).catch((error) => {
    clear();
    if (error.kind === "config-error") error.message = error.message.replace(UNSAID, CARDS);
    throw error;
  });
  notice(`${counted(added, "line")} ${added === 1 ? "was" : "were"} added from ${file.name}${read > added ? `; ${read - added} were there already` : ""}.`);
  tell("sessions");
}

async function everything() {
  const { bank } = here;
  const sure = await open("Delete everything?", (close) => {
    const field = h("input", { dir: "auto", autocomplete: "off", "aria-label": "The bank's name", autofocus: true });
    const act = button("Delete everything", () => close(true), { class: "danger", disabled: true });
    field.addEventListener("input", () => (act.disabled = field.value.trim() !== bank));
    return [
      h(
        "p",
        {},
        "Every conversation of this bank and all that was noted of it is removed for good. This can't be undone.",
      ),
      h("p", {}, "To go on, write the bank's name: ", said("b", bank)),
      field,
      h(
        "div",
        { class: "bar end" },
        button("Keep it", () => close()),
        act,
      ),
    ];
  });
  if (!sure) return false;
  const proof = await remove(inBank());
  prefer("known", null);
  await receipt(proof);
  go({ bank });
  location.reload();
  return true;
}
