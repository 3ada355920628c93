// The language model: which one replies, Ollama's models with downloads, and another server by its address and key.

import { get, post, put, remove } from "./api.js";
import { openDialog } from "./dialogs.js";
import { button, fill, h, select, textElement } from "./dom.js";
import { emit } from "./events.js";
import { modelDownload } from "./modeldownload.js";
import { withErrors } from "./notices.js";
import { getPref, setPref } from "./prefs.js";
import { t } from "./words.js";

const MAX_CHOICES = 8; // models shown as buttons

export function openModels() {
  return openDialog(t("models.title"), (close, body) => {
    const draw = withErrors(async () => {
      const connection = await get("/model").catch((error) => {
        if (error.status === 403) return null;
        throw error;
      });
      fill(body, connection ? connectionParts(connection, draw) : await choiceParts());
    });
    draw();
    return h("p", { class: "small" }, t("models.looking"));
  });
}

function connectionParts(connection, draw) {
  const { model, set_by: setBy } = connection;
  const changed = () => (emit("model-changed"), draw());
  if (setBy) {
    const remedy = t("models.set_by", { setting: setBy });
    return [model ? currentModel(connection) : h("p", {}, t("models.none")), h("p", { class: "small" }, remedy)];
  }
  return [
    model ? currentModel(connection, changed) : h("p", {}, t("models.none")),
    ollamaSection(connection, changed, draw),
    serverSection(connection, changed),
  ];
}

function currentModel({ model, url, ollama }, changed) {
  const where = url === ollama.url ? " " + t("models.here") : url && " " + t("models.at", { url });
  const disconnect = withErrors(async () => {
    await remove("/model");
    changed();
  });
  return h(
    "div",
    { class: "current-model" },
    h("p", {}, textElement("b", shortName(model)), textElement("span", where, { class: "small" })),
    changed && button(t("models.disconnect"), disconnect),
  );
}

/** A model's name without Ollama's usual tag. */
const shortName = (name) => name.replace(/:latest$/, "");

/** Without permission to change the server's model: choose among those of its server, for this browser. */
async function choiceParts() {
  const { items, default: usual } = await get("/models").catch(() => ({ items: [], default: null }));
  const choices = [["", t("settings.server_default_is", { name: usual })], ...items.map((name) => [name, name])];
  const choose = (name) => (setPref("model", name || null), emit("model-changed"));
  return [
    h("p", {}, t("models.not_yours")),
    items.length > 1 && select(t("models.mine"), choices, getPref("model") ?? "", choose),
  ];
}

/** Connect a model, which the server tries first. */
async function connectModel(body) {
  const connection = await put("/model", body);
  setPref("model", null);
  emit("model-changed");
  return connection;
}

// ---- Ollama

function ollamaSection({ model, url, ollama }, changed, draw) {
  const list = h(
    "ul",
    { class: "banks" },
    ollama.models.map((name) => modelItem(name, ollama, url === ollama.url && name === model, changed)),
  );
  return h(
    "section",
    {},
    h("h3", {}, t("models.ollama")),
    ollama.is_running
      ? [
          ollama.models.length ? list : h("p", { class: "small" }, t("models.ollama_empty")),
          modelDownload(draw),
        ]
      : h(
          "p",
          { class: "small" },
          t("models.ollama_off"),
          " ",
          button(t("models.look_again"), draw, { class: "link" }),
        ),
  );
}

function modelItem(name, ollama, isCurrent, changed) {
  const state = h("span", { class: "small" }, isCurrent ? t("models.connected") : "");
  const connect = async () => {
    item.disabled = true;
    state.textContent = t("models.starting");
    await withErrors(async () => (await connectModel({ url: ollama.url, model: name, key: "" }), changed()))();
    item.disabled = false;
    if (!isCurrent) state.textContent = "";
  };
  const item = button([textElement("span", shortName(name)), state], connect, isCurrent ? { "aria-current": "true" } : {});
  return h("li", {}, item);
}

// ---- another server

function serverSection({ model, url, has_key: hasKey, ollama }, changed) {
  const isOwn = url !== null && url !== ollama.url;
  const fields = {
    url: h("input", { inputmode: "url", placeholder: "api.openai.com", value: isOwn ? url : "", ...PLAIN }),
    key: h("input", { type: "password", placeholder: isOwn && hasKey ? t("models.stored_key") : "", ...PLAIN }),
    model: h("input", { list: "server-models", value: isOwn ? model : "", ...PLAIN }),
  };
  const names = h("datalist", { id: "server-models" });
  const choices = h("div", { class: "chips" });
  const status = h("p", { class: "small", role: "status" });
  const body = () => ({ url: withScheme(fields.url.value.trim()), key: fields.key.value.trim() || null });
  const run = (waiting, act) =>
    withErrors(async () => {
      if (!fields.url.reportValidity()) return;
      status.textContent = waiting;
      for (const each of buttons) each.disabled = true;
      try {
        status.textContent = await act();
      } catch (error) {
        status.textContent = "";
        throw error;
      } finally {
        for (const each of buttons) each.disabled = false;
      }
    });
  const test = run(t("models.testing"), async () => {
    const { items } = await post("/model/test", body());
    fill(names, (items ?? []).map((name) => h("option", { value: name })));
    if (items?.length === 1) fields.model.value = items[0];
    const choice = (name) => button(name, () => (fields.model.value = name), { class: "chip" });
    fill(choices, items?.slice(0, MAX_CHOICES).map(choice));
    return testResult(items);
  });
  const connect = run(t("models.asking"), async () => {
    await connectModel({ ...body(), model: fields.model.value.trim() });
    changed();
    return "";
  });
  const buttons = [
    button(t("models.test"), test),
    h("button", { type: "submit", class: "primary" }, t("models.connect")),
  ];
  for (const field of [fields.url, fields.model]) field.required = true;
  return h(
    "details",
    { open: isOwn || !ollama.is_running },
    h("summary", {}, t("models.other_server")),
    h(
      "form",
      { class: "fields", on: { submit: (event) => (event.preventDefault(), connect()) } },
      h("p", { class: "small" }, t("models.other_hint")),
      field(t("models.address"), fields.url),
      field(t("models.key"), fields.key),
      field(t("settings.model"), fields.model),
      names,
      status,
      choices,
      h("div", { class: "bar end" }, buttons),
    ),
  );
}

const PLAIN = { autocomplete: "off", spellcheck: "false", autocapitalize: "off", dir: "auto" };

const field = (label, input) => h("label", {}, h("span", {}, label), input);

function testResult(items) {
  if (items === null) return t("models.unlisted");
  if (!items.length) return t("models.no_models");
  return t("models.works", { count: items.length });
}

/** The address with its scheme: plain HTTP for this computer and the local network, encrypted for all others. */
function withScheme(address) {
  if (!address || address.includes("://")) return address;
  const host = address.replace(/[/:].*$/, "");
  const isLocal = !host.includes(".") || /^(127|10|192\.168)\.|\.local$/.test(host);
  return `${isLocal ? "http" : "https"}:${"//"}${address}`;
}
