// The keys of the page, and the list of them.

import { openDialog } from "./dialogs.js";
import { h } from "./dom.js";
import { t } from "./words.js";

const KEYS = ["search", "new_chat", "send", "new_line", "complete_name", "edit_last", "versions", "close", "list"];

export const openKeys = () =>
  openDialog(t("keys.title"), () =>
    h(
      "dl",
      { class: "keys" },
      KEYS.map((name) => [
        h("dt", {}, t(`keys.${name}_keys`).split(" ").map((key) => h("kbd", {}, key))),
        h("dd", {}, t(`keys.${name}`)),
      ]),
    ),
  );
