// Which memory: one bank for each relationship.

import { every, put } from "./api.js";
import { counted, short } from "./dates.js";
import { open } from "./dialogs.js";
import { button, fill, h, said } from "./dom.js";
import { go, here } from "./here.js";
import { careful } from "./notices.js";
import { pref } from "./prefs.js";

const refused = new Set(); // banks that the present key is not for

/** Another bank, where the key that was entered is not for the present one: the one talked in before, the first of those
 * that there are, or one that the person names; null if none is named. */
export async function another() {
  refused.add(here.bank);
  const there = (await every("/banks").catch(() => [])).map((each) => each.id);
  const open = [pref("held"), ...there].filter((bank) => bank && !refused.has(bank));
  return open[0] ?? askName();
}

function askName() {
  return open("Which bank is this key for?", (close) => {
    const field = h("input", { dir: "auto", required: true, autofocus: true, "aria-label": "The bank's name" });
    const enter = (event) => (event.preventDefault(), close(field.value.trim() || null));
    return [
      said("p", `It is not for the bank ${here.bank}. Whoever made the key knows its bank's name.`),
      h("form", { class: "field", on: { submit: enter } }, field, h("button", { type: "submit" }, "Go there")),
    ];
  });
}

/** Choose a bank, or make one. */
export function banks() {
  return open("Banks", (close) => {
    const list = h("ul", { class: "banks" });
    const to = (bank) => (close(), go({ bank }));
    const draw = careful(async () =>
      fill(
        list,
        (await every("/banks")).map((each) => entry(each, to)),
      ),
    );
    const field = h("input", {
      dir: "auto",
      required: true,
      "aria-label": "The name of a new bank",
      placeholder: "alice/captain-nemo",
    });
    const make = careful(async (event) => {
      event.preventDefault();
      const name = field.value.trim();
      await put(`/banks/${encodeURIComponent(name)}`);
      to(name);
    });
    draw();
    return [
      h(
        "p",
        { class: "small" },
        "A bank is everything that one character remembers of one person. Nothing passes from one to another.",
      ),
      list,
      h("form", { class: "field", on: { submit: make } }, field, h("button", { type: "submit" }, "Make it")),
    ];
  });
}

function entry(each, to) {
  const when = each.last_said_at ? `, last ${short(each.last_said_at)}` : "";
  const text = [said("span", each.id), h("span", { class: "small" }, `${counted(each.lines, "line")}${when}`)];
  return h(
    "li",
    {},
    button(text, () => to(each.id), each.id === here.bank ? { "aria-current": "true" } : {}),
  );
}
