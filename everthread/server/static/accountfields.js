// Fields for names and passwords, as password managers know them.

import { h } from "./dom.js";
import { t } from "./words.js";

const MIN_PASSWORD_CHARS = 10;

export const nameField = (props = {}) =>
  h("input", { autocomplete: "username", autocapitalize: "none", spellcheck: "false", required: true, ...props });

export const currentPasswordField = (props = {}) =>
  h("input", { type: "password", autocomplete: "current-password", required: true, ...props });

export const newPasswordField = (props = {}) =>
  h("input", {
    type: "password",
    autocomplete: "new-password",
    minlength: MIN_PASSWORD_CHARS,
    required: true,
    ...props,
  });

/** A field with its label above, and a hint below. */
export const labelled = (label, field, hint = null) =>
  h("label", {}, h("span", {}, label), field, hint && h("small", { class: "small" }, hint));

export const passwordRule = () => t("account.rule", { count: MIN_PASSWORD_CHARS });
