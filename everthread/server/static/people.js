// The accounts of a server, for an administrator: made, locked, removed. It shows counts, never texts.

import { getAccount } from "./account.js";
import { labelled, nameField, newPasswordField, passwordRule } from "./accountfields.js";
import { get, patch, post, remove } from "./api.js";
import { longDate } from "./dates.js";
import { askChoice, openDialog } from "./dialogs.js";
import { button, fill, h, textElement } from "./dom.js";
import { showNotice, withErrors } from "./notices.js";
import { t } from "./words.js";

export function openPeople() {
  return openDialog(
    t("people.title"),
    () => {
      const list = h("ul", { class: "people" });
      const draw = withErrors(async () => {
        const { items } = await get("/accounts");
        fill(
          list,
          items.map((person) => personItem(person, draw)),
        );
      });
      draw();
      return [h("p", { class: "small" }, t("people.about")), list, newPersonForm(draw)];
    },
    { wide: true },
  );
}

const accountPath = (name) => `/accounts/${encodeURIComponent(name)}`;

/** A person's place in the list. It is kept when the person changes, and with it the focus. */
function personItem(person, draw) {
  const item = h("li", {});
  const show = (person) => fill(item, who(person), person.name !== getAccount()?.name && actions(person, show, draw));
  show(person);
  return item;
}

function who(person) {
  const flags = [person.administrator && t("people.administrator"), person.locked && t("people.locked")].filter(Boolean);
  return h(
    "span",
    { class: "who" },
    textElement("b", person.name),
    flags.length > 0 && h("span", { class: "small" }, ` ${flags.join(" · ")}`),
    h("span", { class: "small size" }, summary(person)),
  );
}

function actions(person, show, draw) {
  const { name, locked } = person;
  const setLocked = withErrors(async () => show(await patch(accountPath(name), { locked: !locked })));
  return h(
    "span",
    { class: "bar", role: "group", "aria-label": name },
    button(t("people.set_password"), () => setPassword(name)),
    button(t(locked ? "people.unlock" : "people.lock"), setLocked),
    button(
      t("people.remove"),
      withErrors(async () => (await removePerson(person)) && draw()),
      { class: "danger" },
    ),
  );
}

function summary({ banks, lines, signed_in_on: day }) {
  const seen = day ? t("people.seen", { day: longDate(`${day}T12:00`) }) : t("people.never_seen");
  return [t("people.banks", { count: banks }), t("count.messages", { count: lines }), seen].join(" · ");
}

function newPersonForm(draw) {
  const name = nameField({ autocomplete: "off" });
  const password = newPasswordField();
  const administrator = h("input", { type: "checkbox" });
  const submit = withErrors(async (event) => {
    event.preventDefault();
    const person = { name: name.value, password: password.value, administrator: administrator.checked };
    const created = await post("/accounts", person);
    event.target.reset();
    showNotice(t("people.made", { name: created.name }));
    await draw();
    name.focus();
  });
  return h(
    "form",
    { class: "fields new-person", "aria-label": t("people.new"), on: { submit } },
    h("h3", {}, t("people.new")),
    labelled(t("signin.name"), name),
    labelled(t("people.password"), password, passwordRule()),
    h("label", { class: "check" }, administrator, h("span", {}, t("people.make_administrator"))),
    h("div", { class: "bar end" }, h("button", { type: "submit", class: "primary" }, t("people.make"))),
  );
}

const setPassword = (name) =>
  openDialog(t("people.password_of", { name }), (close) => {
    const password = newPasswordField({ autofocus: true });
    const submit = withErrors(async (event) => {
      event.preventDefault();
      await patch(accountPath(name), { password: password.value });
      close();
      showNotice(t("people.password_set", { name }));
    });
    return h(
      "form",
      { class: "fields", on: { submit } },
      h("p", {}, t("people.password_effect", { name })),
      labelled(t("people.password"), password, passwordRule()),
      h("div", { class: "bar end" }, h("button", { type: "submit", class: "primary" }, t("account.save"))),
    );
  });

/** Ask what happens to a person's banks, and remove the account. Resolves to whether it was removed. */
async function removePerson({ name, banks, lines }) {
  const content = [t("people.banks", { count: banks }), t("count.messages", { count: lines })].join(", ");
  const fate = await askChoice(t("people.remove_question", { name }), t("people.remove_effect", { name, content }), [
    [t("people.keep_banks"), "keep"],
    [t("people.forget_banks"), "forget"],
    [t("settings.cancel"), null],
  ]);
  if (fate === null) return false;
  if (fate === "forget" && lines && !(await confirmForget(name, content))) return false;
  const { backups } = await remove(`${accountPath(name)}?banks=${fate}`);
  const left = backups.length ? ` ${t("receipt.backups")}: ${backups.join(", ")}` : "";
  showNotice(t("people.removed", { name }) + left);
  return true;
}

const confirmForget = (name, content) =>
  askChoice(t("people.forget_question", { name }), t("people.forget_effect", { content }), [
    [t("people.forget_banks"), true],
    [t("settings.cancel"), false],
  ]);
