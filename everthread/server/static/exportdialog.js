// The export of a bank: everything, to import it again, or its chats for reading and for other programs.

import { bankPath, request } from "./api.js";
import { openDialog } from "./dialogs.js";
import { button, download, h } from "./dom.js";
import { withErrors } from "./notices.js";
import { route } from "./router.js";
import { t } from "./words.js";

const SUFFIXES = { jsonl: "jsonl", html: "html", markdown: "md", sillytavern: "zip", openwebui: "json", openai: "json" };
const FORMATS = [
  ["jsonl", t("export.everything"), t("export.everything_hint")],
  ["html", t("export.page"), "HTML"],
  ["markdown", t("export.text"), "Markdown"],
  ["sillytavern", "SillyTavern", t("export.sillytavern_hint")],
  ["openwebui", "Open WebUI", "JSON"],
  ["openai", t("export.messages"), "JSON"],
];

export function openExport() {
  return openDialog(t("export.title"), (close) => {
    const radios = FORMATS.map(([value], index) => h("input", { type: "radio", name: "format", value, checked: !index }));
    const discarded = h("input", { type: "checkbox" });
    const save = async () => {
      await saveExport(radios.find((radio) => radio.checked).value, discarded.checked);
      close();
    };
    return h(
      "div",
      { class: "fields" },
      h(
        "div",
        { class: "choices", role: "radiogroup", "aria-label": t("export.format") },
        FORMATS.map(([, name, hint], index) => choice(radios[index], name, hint)),
      ),
      choice(discarded, t("export.discarded")),
      h(
        "div",
        { class: "bar end" },
        button(t("settings.cancel"), () => close()),
        button(t("export.save"), withErrors(save), { class: "primary" }),
      ),
    );
  });
}

const choice = (input, name, hint = null) =>
  h("label", { class: "choice" }, input, h("span", {}, name), hint && h("span", { class: "small" }, hint));

async function saveExport(format, discarded) {
  const suffix = SUFFIXES[format];
  const query = new URLSearchParams({ format, retracted: discarded, zip: suffix === "zip" });
  const response = await request("GET", bankPath(`/export?${query}`));
  download(await response.blob(), `${route.bank.replaceAll(/[^\p{L}\p{N}_-]/gu, "_")}.${suffix}`);
}
