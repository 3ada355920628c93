// A download of one of Ollama's models, with its progress and a button that stops it.

import { Problem, readEvents, request } from "./api.js";
import { button, fill, h } from "./dom.js";
import { withErrors } from "./notices.js";
import { formatNumber, ONE_DECIMAL, t } from "./words.js";

const SUGGESTED = "llama3.2";
const BYTES_PER_GB = 1e9;

/** done: called once the model is there. */
export function modelDownload(done) {
  const field = h("input", {
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
    required: true,
    placeholder: SUGGESTED,
  });
  const box = h("div", { class: "download" });
  const start = withErrors(async (event) => {
    event?.preventDefault();
    const name = field.value.trim();
    const stop = new AbortController();
    const progress = progressBar(name, () => stop.abort());
    fill(box, progress.element);
    try {
      await followDownload(name, stop.signal, progress.show);
      done();
    } finally {
      fill(box, form);
    }
  });
  const label = h("label", {}, h("span", { class: "small" }, t("download.other")), field);
  const form = h("form", { class: "name-form", on: { submit: start } }, label, h("button", { type: "submit" }, t("download.start")));
  fill(box, form);
  return box;
}

async function followDownload(model, signal, show) {
  const response = await request("POST", "/model/pull", { body: { model }, signal });
  for await (const [name, data] of readEvents(response)) {
    if (name === "progress") show(data);
    else if (name === "error") throw new Problem(data);
  }
}

function progressBar(name, stop) {
  const label = h("span", { class: "small", role: "status" }, t("download.running", { model: name }));
  const bar = h("progress", { "aria-label": t("download.label", { model: name }) });
  const gigabytes = (bytes) => formatNumber(bytes / BYTES_PER_GB, ONE_DECIMAL);
  const show = ({ completed, total }) => {
    if (!total) return;
    bar.max = total;
    bar.value = completed;
    label.textContent = t("download.progress", { model: name, done: gigabytes(completed), total: gigabytes(total) });
  };
  return { element: h("div", { class: "progress" }, label, bar, button(t("composer.stop"), stop)), show };
}
