// The settings: replies, memory, appearance; export, import and deletion of a bank.

import { bankPath, get, hasKey, patch, remove, setKey, waitForRequests } from "./api.js";
import { accountSection } from "./accountsettings.js";
import { openDialog, showReceipt } from "./dialogs.js";
import { button, fill, h, select, textElement } from "./dom.js";
import { emit } from "./events.js";
import { openExport } from "./exportdialog.js";
import { withErrors } from "./notices.js";
import { getPref, setPref } from "./prefs.js";
import { recipeSettings } from "./recipesettings.js";
import { navigate, route } from "./router.js";
import { language, languages, parts, setLanguage, t } from "./words.js";

const SLIDERS = [
  ["temperature", t("settings.temperature"), 0, 2, 0.05, 1, t("settings.temperature_hint")],
  ["top_p", t("settings.top_p"), 0.05, 1, 0.05, 1, t("settings.top_p_hint")],
  ["frequency_penalty", t("settings.frequency"), -2, 2, 0.1, 0, t("settings.frequency_hint")],
  ["presence_penalty", t("settings.presence"), -2, 2, 0.1, 0, t("settings.presence_hint")],
  ["max_tokens", t("settings.reply_length"), 50, 4000, 50, 500, t("settings.reply_length_hint")],
];
const BUDGET_SLIDER = ["budget", t("settings.budget"), 100, 4000, 100, 1000, t("settings.budget_hint")];
const REMEMBER_CHOICES = [
  ["ask", t("settings.ask")],
  ["always", t("settings.always")],
  ["never", t("settings.never")],
];
const THEMES = [
  ["", t("settings.system")],
  ["light", t("settings.light")],
  ["dark", t("settings.dark")],
];

export function openSettings(serverInfo, chat) {
  const { settings: isBack, ...place } = history.state ?? {};
  history.replaceState(place, "");
  return openDialog(
    t("settings.title"),
    (close) => [
      h("section", {}, h("h3", {}, t("settings.replies")), modelRow(serverInfo, close), serverInfo.model && SLIDERS.map(slider)),
      h(
        "section",
        {},
        h("h3", {}, t("settings.memory")),
        recipeSettings(serverInfo),
        rememberSelect(chat),
        scribeSelect(serverInfo),
        slider(BUDGET_SLIDER),
        transfer(close),
      ),
      h(
        "section",
        {},
        h("h3", {}, t("settings.appearance")),
        languageSelect(isBack),
        select(t("settings.theme"), THEMES, getPref("theme") ?? "", setTheme),
        hasKey() && keyRow(),
      ),
      accountSection(),
      h("p", { class: "small" }, t("settings.version", { version: serverInfo.version, embedder: serverInfo.embedder })),
    ],
    { wide: true },
  );
}

const modelRow = ({ model }, close) =>
  h(
    "div",
    { class: "row" },
    h("span", {}, t("settings.model")),
    h(
      "span",
      { class: "bar" },
      model && textElement("b", model.name),
      button(model ? t("settings.change") : t("settings.connect"), () => (close(), emit("models-wanted"))),
    ),
  );

function slider([name, label, min, max, step, initial, hint]) {
  const shown = h("output", {});
  const range = h("input", { type: "range", min, max, step, "aria-label": `${label}: ${hint}` });
  const reset = button(t("settings.reset"), () => set(null), {
    class: "link",
    "aria-label": t("settings.reset_option", { option: label }),
  });
  const set = (value) => {
    setPref(name, value);
    draw(value);
  };
  const draw = (value) => {
    range.value = value ?? initial;
    shown.textContent = value ?? t("settings.default");
    reset.hidden = value === null;
  };
  range.addEventListener("input", () => set(Number(range.value)));
  draw(getPref(name));
  return h("div", { class: "slider", title: hint }, h("span", {}, label), range, shown, reset);
}

/** The page is loaded again in another language: at once after a click, but the keys may still pass other languages. The
 * settings open again then, with the focus on this row. */
function languageSelect(isBack) {
  let isTyping = false;
  const change = (code) => {
    if (code === language) return;
    history.replaceState({ ...history.state, settings: true }, "");
    setLanguage(code);
  };
  const row = select(t("settings.language"), Object.entries(languages), language, (code) => isTyping || change(code));
  const apply = ({ target }) => change(target.value);
  row.lastChild.autofocus = isBack;
  row.addEventListener("keydown", (event) => (isTyping = event.key !== "Enter") || apply(event));
  row.addEventListener("pointerdown", () => (isTyping = false));
  row.addEventListener("focusout", apply);
  return row;
}

function setTheme(value) {
  setPref("theme", value || null);
  if (value) document.documentElement.dataset.theme = value;
  else delete document.documentElement.dataset.theme;
}

function rememberSelect(chat) {
  const set = withErrors(async (remember) => {
    await patch(bankPath("/settings"), { remember });
    await chat.reload();
  });
  return select(t("settings.remember"), REMEMBER_CHOICES, chat.state?.remember ?? "ask", set);
}

/** Choose the model that writes notes and summaries. */
function scribeSelect(serverInfo) {
  if (!serverInfo.model) return null;
  const box = h("div", {});
  const set = withErrors((name) => patch(bankPath("/settings"), { scribe: name || null }));
  Promise.all([get(bankPath("/settings")), get("/models")]).then(
    ([settings, { items }]) => {
      const names = [...new Set([...items, settings.scribe])].filter((name) => name && name !== "none");
      const choices = [
        ["", t("settings.server_default")],
        ["none", t("settings.no_scribe")],
        ...names.map((name) => [name, name]),
      ];
      fill(box, select(t("settings.scribe"), choices, settings.scribe ?? "", set));
    },
    () => null,
  );
  return box;
}

function keyRow() {
  return h(
    "div",
    { class: "row" },
    h("span", {}, t("settings.key")),
    button(t("settings.remove_key"), () => (setKey(null), location.reload())),
  );
}

// ---- export, import, deletion

function transfer(close) {
  const file = h("input", { type: "file", multiple: true, hidden: true, "aria-label": t("settings.file") });
  file.addEventListener("change", () => (close(), emit("files-chosen", [...file.files])));
  return h(
    "div",
    { class: "bar" },
    button(t("settings.export"), openExport),
    button(t("settings.import"), () => file.click()),
    file,
    button(
      t("settings.delete"),
      withErrors(async () => (await deleteEverything()) && close()),
      { class: "danger" },
    ),
  );
}

async function deleteEverything() {
  const { bank } = route;
  const confirmed = await openDialog(t("settings.delete_question"), (close) => {
    const field = h("input", { dir: "auto", autocomplete: "off", "aria-label": t("settings.bank_name"), autofocus: true });
    const act = button(t("settings.delete"), () => close(true), { class: "danger", disabled: true });
    field.addEventListener("input", () => (act.disabled = field.value.trim() !== bank));
    return [
      h(
        "p",
        {},
        t("settings.delete_effect"),
      ),
      h("p", {}, parts("settings.confirm", { bank: textElement("b", bank) })),
      field,
      h(
        "div",
        { class: "bar end" },
        button(t("settings.cancel"), () => close()),
        act,
      ),
    ];
  });
  if (!confirmed) return false;
  await waitForRequests(bank);
  const proof = await remove(bankPath());
  setPref("known", null);
  await showReceipt(proof);
  navigate({ bank });
  location.reload();
  return true;
}
