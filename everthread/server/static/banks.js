// Choosing a memory bank: there is one for each relationship.

import { homeBank, ownsBank } from "./account.js";
import { getAll, put } from "./api.js";
import { avatar } from "./avatars.js";
import { withPerson } from "./banknames.js";
import { shortDate } from "./dates.js";
import { openDialog } from "./dialogs.js";
import { button, byId, fill, h, textElement } from "./dom.js";
import { withErrors } from "./notices.js";
import { getPref } from "./prefs.js";
import { navigate, route } from "./router.js";
import { t } from "./words.js";

const refusedBanks = new Set(); // by the present key

/** A bank that the present key allows: the last one that was open, the first of the list, or one that the person names;
 * null if none is named. */
export async function findAllowedBank() {
  refusedBanks.add(route.bank);
  const ids = (await getAll("/banks").catch(() => [])).map((bank) => bank.id);
  const allowed = [getPref("held"), ...ids].filter((bank) => bank && !refusedBanks.has(bank));
  return allowed[0] ?? askBankName();
}

function askBankName() {
  return openDialog(t("bank.which"), (close) => {
    const field = h("input", { dir: "auto", required: true, autofocus: true, "aria-label": t("settings.bank_name") });
    const submit = (event) => (event.preventDefault(), close(field.value.trim() || null));
    return [
      textElement(
        "p",
        t("bank.not_this", { bank: route.bank }),
      ),
      h("form", { class: "field", on: { submit } }, field, h("button", { type: "submit" }, t("bank.open"))),
    ];
  });
}

/** The id of a bank that the person may create: with an account, one below their own. */
const ownName = (name) => (ownsBank(name) ? name : `${homeBank()}/${name}`);

export function openBanks() {
  return openDialog(t("bank.title"), (close) => {
    const list = h("ul", { class: "banks" });
    const open = (bank) => (close(), navigate({ bank }), byId("message").focus());
    const draw = withErrors(async () => {
      const banks = (await getAll("/banks")).filter(({ id, lines }) => lines || id === route.bank);
      fill(
        list,
        banks.map((bank) => bankItem(bank, open)),
      );
    });
    const field = h("input", {
      dir: "auto",
      required: true,
      id: "new-bank",
      placeholder: "alice/captain-nemo",
    });
    const create = withErrors(async (event) => {
      event.preventDefault();
      const name = ownName(field.value.trim());
      await put(`/banks/${encodeURIComponent(name)}`);
      open(name);
    });
    draw();
    return [
      h(
        "p",
        { class: "small" },
        t("bank.about"),
      ),
      list,
      h("label", { for: "new-bank", class: "small" }, t("bank.new_name")),
      h("form", { class: "field", on: { submit: create } }, field, h("button", { type: "submit" }, t("bank.create"))),
    ];
  });
}

function bankItem(bank, open) {
  const messages = t("count.messages", { count: bank.lines });
  const last = bank.last_said_at && t("bank.size", { messages, date: shortDate(bank.last_said_at) });
  const size = h("span", { class: "small size" }, last || messages);
  const names = h(
    "span",
    { class: "who" },
    textElement("b", bank.character),
    " ",
    textElement("span", withPerson(bank), { class: "small" }),
    " ",
    size,
  );
  const props = bank.id === route.bank ? { "aria-current": "true" } : {};
  return h(
    "li",
    {},
    button([avatar(bank.character), names], () => open(bank.id), { title: bank.id, ...props }),
  );
}
