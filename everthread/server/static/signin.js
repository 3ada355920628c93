// The screen on which one signs in, with a name and a password.

import { currentPasswordField, labelled, nameField } from "./accountfields.js";
import { post } from "./api.js";
import { button, fill, h } from "./dom.js";
import { showError } from "./notices.js";
import { t } from "./words.js";

/** Ask for a name and a password until they are right. Resolves to the account, or to null for an access key instead. */
export function askSignIn() {
  return new Promise((resolve) => {
    const box = h("dialog", { class: "sign-in", "aria-labelledby": "sign-in-title" });
    const leave = (account) => {
      box.removeEventListener("close", reopen);
      box.remove();
      resolve(account);
    };
    const reopen = () => box.showModal(); // the page behind it has nothing to show
    box.append(...signInParts(leave));
    box.addEventListener("cancel", (event) => event.preventDefault());
    box.addEventListener("close", reopen);
    document.body.append(box);
    box.showModal();
  });
}

function signInParts(leave) {
  const name = nameField({ name: "username", autofocus: true });
  const password = currentPasswordField({ name: "password" });
  const problem = h("p", { class: "problem", role: "alert" });
  const send = h("button", { type: "submit", class: "primary" }, t("signin.submit"));
  const submit = async (event) => {
    event.preventDefault();
    send.disabled = true;
    fill(problem);
    try {
      leave(await post("/login", { name: name.value, password: password.value }));
    } catch (error) {
      explain(error, problem);
      password.select();
    } finally {
      send.disabled = false;
    }
  };
  return [
    h("span", { class: "logo", "aria-hidden": "true" }),
    h("h2", { id: "sign-in-title" }, t("signin.title")),
    h(
      "form",
      { class: "fields", on: { submit } },
      labelled(t("signin.name"), name),
      labelled(t("signin.password"), password),
      problem,
      send,
    ),
    button(t("signin.key"), () => leave(null), { class: "link" }),
  ];
}

const EXPLANATIONS = { "wrong-password": "signin.wrong", "account-locked": "signin.locked" };

/** Show in words why one could not sign in. */
function explain(error, problem) {
  if (error.kind === "too-many-attempts") fill(problem, t("signin.wait", { count: Math.max(1, error.waitSeconds) }));
  else if (error.kind in EXPLANATIONS) fill(problem, t(EXPLANATIONS[error.kind]));
  else if (error.kind === "unreachable") fill(problem, error.message);
  else showError(error);
}
