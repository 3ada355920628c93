// The screen on which one signs in, with a name and a password or at an OpenID Connect provider.

import { currentPasswordField, labelled, nameField } from "./accountfields.js";
import { post } from "./api.js";
import { button, fill, h } from "./dom.js";
import { showError } from "./notices.js";
import { t } from "./words.js";

/** Ask who it is until that is certain. Resolves to the account, or to null for an access key instead. */
export function askSignIn({ has_accounts: hasAccounts, openid }) {
  return new Promise((resolve) => {
    const box = h("dialog", { class: "sign-in", "aria-labelledby": "sign-in-title" });
    const leave = (account) => {
      box.removeEventListener("close", reopen);
      box.remove();
      resolve(account);
    };
    const reopen = () => box.showModal(); // the page behind it has nothing to show
    box.append(
      h("span", { class: "logo", "aria-hidden": "true" }),
      h("h2", { id: "sign-in-title" }, t("signin.title")),
      hasAccounts ? passwordForm(leave) : "",
      openid ? providerPart(openid, hasAccounts) : "",
      button(t("signin.key"), () => leave(null), { class: "link" }),
    );
    box.addEventListener("cancel", (event) => event.preventDefault());
    box.addEventListener("close", reopen);
    document.body.append(box);
    box.showModal();
  });
}

function passwordForm(leave) {
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
  return h(
    "form",
    { class: "fields", on: { submit } },
    labelled(t("signin.name"), name),
    labelled(t("signin.password"), password),
    problem,
    send,
  );
}

const REASONS = {
  locked: "problem.account-locked",
  no_account: "signin.no_account",
  refused: "signin.refused",
  unconfirmed: "signin.unconfirmed",
  unreachable: "signin.unreachable",
  wait: "signin.wait",
};

/** The button that leads to the provider, and why the last attempt there failed. */
function providerPart(provider, hasAccounts) {
  const address = new URL(location);
  const reason = REASONS[address.searchParams.get("sign-in")];
  const count = Number(address.searchParams.get("seconds"));
  address.search = "";
  history.replaceState(null, "", address);
  return h(
    "div",
    { class: "fields" },
    h("p", { class: "problem", role: "alert" }, reason && t(reason, { provider, count })),
    button(t("signin.provider", { provider }), () => location.assign("/sign-in/openid"), {
      class: !hasAccounts && "primary",
    }),
  );
}

const EXPLANATIONS = { "wrong-password": "signin.wrong", "account-locked": "problem.account-locked" };

/** Show in words why one could not sign in. */
function explain(error, problem) {
  if (error.kind === "too-many-attempts") fill(problem, t("signin.wait", { count: Math.max(1, error.waitSeconds) }));
  else if (error.kind in EXPLANATIONS) fill(problem, t(EXPLANATIONS[error.kind]));
  else if (error.kind === "unreachable") fill(problem, error.message);
  else showError(error);
}
