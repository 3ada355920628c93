// Which chats a character may look into when it replies: its own, and those with other characters if the person says so.

import { get, patch } from "./api.js";
import { openDialog } from "./dialogs.js";
import { button, h, textElement } from "./dom.js";
import { emit } from "./events.js";
import { showNotice, withErrors } from "./notices.js";
import { t } from "./words.js";

const settingsPath = (bank) => `/banks/${encodeURIComponent(bank)}/settings`;

/** Ask which of the person's other banks a character may recall from. own: its bank; banks: all of the person's. */
export async function chooseSharing(own, banks) {
  const name = own.character;
  const others = banks.filter((bank) => bank.id !== own.id && bank.lines);
  const shared = (await get(settingsPath(own.id))).recall_from ?? [];
  return openDialog(t("gallery.remembers", { name }), (close) => {
    const boxes = others.map((bank) => sharingBox(bank, shared.includes(bank.id)));
    const save = withErrors(async (event) => {
      event.preventDefault();
      const hidden = shared.filter((id) => !others.some((bank) => bank.id === id));
      const chosen = others.filter((_, index) => boxes[index].querySelector("input").checked).map(({ id }) => id);
      await patch(settingsPath(own.id), { recall_from: [...hidden, ...chosen] });
      emit("sharing-changed");
      close();
      showNotice(t("card.saved"));
    });
    return h(
      "form",
      { class: "fields", on: { submit: save } },
      textElement("p", t("sharing.about", { name })),
      h("div", { class: "choices", role: "group", "aria-label": t("sharing.shared", { name }) }, boxes),
      h("p", { class: "small" }, t("sharing.effect", { name })),
      h(
        "div",
        { class: "bar end" },
        button(t("settings.cancel"), () => close()),
        h("button", { type: "submit", class: "primary" }, t("dialog.save")),
      ),
    );
  });
}

function sharingBox({ character, lines }, checked) {
  return h(
    "label",
    { class: "choice" },
    h("input", { type: "checkbox", checked }),
    h("span", { dir: "auto" }, t("sharing.chats", { character })),
    h("span", { class: "small" }, t("count.messages", { count: lines })),
  );
}
