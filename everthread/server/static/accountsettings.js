// The person's own account in the settings: password, signing out, and the accounts of others for an administrator.

import { getAccount } from "./account.js";
import { currentPasswordField, labelled, nameField, newPasswordField, passwordRule } from "./accountfields.js";
import { post, put } from "./api.js";
import { openDialog } from "./dialogs.js";
import { button, fill, h, textElement } from "./dom.js";
import { showNotice, withErrors } from "./notices.js";
import { openPeople } from "./people.js";
import { forgetPlaces } from "./prefs.js";
import { t } from "./words.js";

/** The section of the account; null without one. */
export function accountSection() {
  const account = getAccount();
  if (!account) return null;
  return h(
    "section",
    {},
    h("h3", {}, t("account.title")),
    h("div", { class: "row" }, h("span", {}, t("account.signed_in")), textElement("b", account.name)),
    h(
      "div",
      { class: "bar" },
      account.has_password && button(t("account.change_password"), changePassword),
      !account.at_proxy && button(t("account.sign_out"), () => signOut(false)),
      !account.at_proxy && button(t("account.sign_out_everywhere"), () => signOut(true)),
      account.administrator && button(t("people.manage"), openPeople),
    ),
  );
}

const signOut = withErrors(async (everywhere) => {
  await post("/logout", { everywhere });
  forgetPlaces();
  location.hash = "";
  location.reload();
});

const changePassword = () =>
  openDialog(t("account.change_password"), (close) => {
    const current = currentPasswordField({ autofocus: true });
    const [first, second] = [newPasswordField(), newPasswordField()];
    const problem = h("p", { class: "problem", role: "alert" });
    const submit = withErrors(async (event) => {
      event.preventDefault();
      fill(problem);
      if (first.value !== second.value) return fill(problem, t("account.different"));
      try {
        await put("/account/password", { current: current.value, new: first.value });
      } catch (error) {
        if (error.kind !== "wrong-password") throw error;
        fill(problem, t("account.wrong"));
        return current.select();
      }
      close();
      return showNotice(t("account.changed"));
    });
    return h(
      "form",
      { class: "fields", on: { submit } },
      nameField({ value: getAccount().name, hidden: true }), // tells a password manager whose password it is
      labelled(t("account.current"), current),
      labelled(t("account.new"), first, passwordRule()),
      labelled(t("account.again"), second),
      problem,
      h("div", { class: "bar end" }, h("button", { type: "submit", class: "primary" }, t("account.save"))),
    );
  });
