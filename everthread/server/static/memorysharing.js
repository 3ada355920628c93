// Which chats a character may look into when it replies: its own, and those with other characters if the person says so.

import { get, patch } from "./api.js";
import { countOf } from "./dates.js";
import { openDialog } from "./dialogs.js";
import { button, h, textElement } from "./dom.js";
import { emit } from "./events.js";
import { showNotice, withErrors } from "./notices.js";

const settingsPath = (bank) => `/banks/${encodeURIComponent(bank)}/settings`;

/** Ask which of the person's other banks a character may recall from. own: its bank; banks: all of the person's. */
export async function chooseSharing(own, banks) {
  const name = own.character;
  const others = banks.filter((bank) => bank.id !== own.id && bank.lines);
  const shared = (await get(settingsPath(own.id))).recall_from ?? [];
  return openDialog(`What ${name} remembers`, (close) => {
    const boxes = others.map((bank) => sharingBox(bank, shared.includes(bank.id)));
    const save = withErrors(async (event) => {
      event.preventDefault();
      const hidden = shared.filter((id) => !others.some((bank) => bank.id === id));
      const chosen = others.filter((_, index) => boxes[index].querySelector("input").checked).map(({ id }) => id);
      await patch(settingsPath(own.id), { recall_from: [...hidden, ...chosen] });
      emit("sharing-changed");
      close();
      showNotice("Saved. It takes effect with the next reply.");
    });
    return h(
      "form",
      { class: "fields", on: { submit: save } },
      textElement(
        "p",
        `${name} remembers only your chats together. To let ${name} draw on your chats with others, choose them here.`,
      ),
      h("div", { class: "choices", role: "group", "aria-label": `Shared with ${name}` }, boxes),
      h(
        "p",
        { class: "small" },
        `${name} may then speak of what was said there. Nothing you tell ${name} is added to those chats. You can stop `,
        "sharing at any time: replies that were already given stay, and no longer show what they were given from there.",
      ),
      h(
        "div",
        { class: "bar end" },
        button("Cancel", () => close()),
        h("button", { type: "submit", class: "primary" }, "Save"),
      ),
    );
  });
}

function sharingBox({ character, lines }, checked) {
  return h(
    "label",
    { class: "choice" },
    h("input", { type: "checkbox", checked }),
    h("span", { dir: "auto" }, `Your chats with ${character}`),
    h("span", { class: "small" }, countOf(lines, "message")),
  );
}
