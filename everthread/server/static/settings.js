// The settings: replies, memory, appearance; export, import and deletion of a bank.

import { bankPath, get, hasKey, patch, post, remove, request, setKey } from "./api.js";
import { countOf } from "./dates.js";
import { openDialog, showReceipt } from "./dialogs.js";
import { button, download, fill, h, select, textElement } from "./dom.js";
import { emit } from "./events.js";
import { clearNotice, showNotice, withErrors } from "./notices.js";
import { getPref, setPref } from "./prefs.js";
import { recipeSettings } from "./recipesettings.js";
import { navigate, route } from "./router.js";

const SLIDERS = [
  ["temperature", "Temperature", 0, 2, 0.05, 1, "Higher values make replies more varied"],
  ["top_p", "Top-p", 0.05, 1, 0.05, 1, "Lower values keep to the most likely words"],
  ["frequency_penalty", "Frequency penalty", -2, 2, 0.1, 0, "Discourages repeated words"],
  ["presence_penalty", "Presence penalty", -2, 2, 0.1, 0, "Encourages new topics"],
  ["max_tokens", "Reply length", 50, 4000, 50, 500, "Maximum tokens of a reply"],
];
const BUDGET_SLIDER = ["budget", "Memory budget", 100, 4000, 100, 1000, "Maximum prompt tokens for memories"];
const REMEMBER_CHOICES = [
  ["ask", "Ask at the end of each chat"],
  ["always", "Always remember"],
  ["never", "Never: every chat is incognito"],
];
const THEMES = [
  ["", "System"],
  ["light", "Light"],
  ["dark", "Dark"],
];

export function openSettings(serverInfo, chat) {
  return openDialog(
    "Settings",
    (close) => [
      h("section", {}, h("h3", {}, "Replies"), modelRow(serverInfo, close), serverInfo.model && SLIDERS.map(slider)),
      h(
        "section",
        {},
        h("h3", {}, "Memory"),
        recipeSettings(serverInfo),
        rememberSelect(chat),
        scribeSelect(serverInfo),
        slider(BUDGET_SLIDER),
        transfer(close),
      ),
      h(
        "section",
        {},
        h("h3", {}, "Appearance"),
        select("Theme", THEMES, getPref("theme") ?? "", setTheme),
        hasKey() && keyRow(),
      ),
      h("p", { class: "small" }, `Everthread ${serverInfo.version} · embeddings by ${serverInfo.embedder}`),
    ],
    { wide: true },
  );
}

const modelRow = ({ model }, close) =>
  h(
    "div",
    { class: "row" },
    h("span", {}, "Model"),
    h(
      "span",
      { class: "bar" },
      model && textElement("b", model.name),
      button(model ? "Change" : "Connect a model", () => (close(), emit("models-wanted"))),
    ),
  );

function slider([name, label, min, max, step, initial, hint]) {
  const shown = h("output", {});
  const range = h("input", { type: "range", min, max, step, "aria-label": `${label}: ${hint}` });
  const reset = button("reset", () => set(null), {
    class: "link",
    "aria-label": `Reset ${label} to the default`,
  });
  const set = (value) => {
    setPref(name, value);
    draw(value);
  };
  const draw = (value) => {
    range.value = value ?? initial;
    shown.textContent = value ?? "Default";
    reset.hidden = value === null;
  };
  range.addEventListener("input", () => set(Number(range.value)));
  draw(getPref(name));
  return h("div", { class: "slider", title: hint }, h("span", {}, label), range, shown, reset);
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
  return select("Remember chats", REMEMBER_CHOICES, chat.state?.remember ?? "ask", set);
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
        ["", "Server default"],
        ["none", "No model: key sentences only"],
        ...names.map((name) => [name, name]),
      ];
      fill(box, select("Notes written by", choices, settings.scribe ?? "", set));
    },
    () => null,
  );
  return box;
}

function keyRow() {
  return h(
    "div",
    { class: "row" },
    h("span", {}, "Your access key"),
    button("Remove from this tab", () => (setKey(null), location.reload())),
  );
}

// ---- export, import, deletion

function transfer(close) {
  const file = h("input", { type: "file", hidden: true, "aria-label": "A file of chats" });
  file.addEventListener(
    "change",
    withErrors(async () => (await importFile(file.files[0]), close())),
  );
  return h(
    "div",
    { class: "bar" },
    button("Export all", withErrors(exportBank)),
    button("Import chats", () => file.click()),
    file,
    button(
      "Delete everything",
      withErrors(async () => (await deleteEverything()) && close()),
      { class: "danger" },
    ),
  );
}

async function exportBank() {
  const response = await request("GET", bankPath("/export"));
  download(await response.blob(), `${route.bank.replaceAll(/[^\p{L}\p{N}_-]/gu, "_")}.jsonl`);
}

const CARDS_HINT = 'Character cards can be imported as well: a picture, or JSON with a "spec" or a "first_mes".';

export async function importFile(file) {
  showNotice(`Reading ${file.name} …`, { lasting: true });
  const path = bankPath(`/import?name=${encodeURIComponent(file.name)}`);
  const { read, added } = await post(path, file, { type: "application/octet-stream" }).catch((error) => {
    clearNotice();
    if (error.summary) error.message = `${error.summary}. ${CARDS_HINT}`;
    throw error;
  });
  const duplicates = read > added ? `; ${(read - added).toLocaleString()} were there already` : "";
  showNotice(`Added ${countOf(added, "message")} from ${file.name}${duplicates}.`);
  emit("imported");
  emit("sessions-changed");
}

async function deleteEverything() {
  const { bank } = route;
  const confirmed = await openDialog("Delete everything?", (close) => {
    const field = h("input", { dir: "auto", autocomplete: "off", "aria-label": "The bank's name", autofocus: true });
    const act = button("Delete everything", () => close(true), { class: "danger", disabled: true });
    field.addEventListener("input", () => (act.disabled = field.value.trim() !== bank));
    return [
      h(
        "p",
        {},
        "Every chat in this bank is permanently removed, with everything noted from it. This can't be undone.",
      ),
      h("p", {}, "To confirm, type the bank's name: ", textElement("b", bank)),
      field,
      h(
        "div",
        { class: "bar end" },
        button("Cancel", () => close()),
        act,
      ),
    ];
  });
  if (!confirmed) return false;
  const proof = await remove(bankPath());
  setPref("known", null);
  await showReceipt(proof);
  navigate({ bank });
  location.reload();
  return true;
}
