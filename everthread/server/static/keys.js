// The keys of the page, and the list of them.

import { openDialog } from "./dialogs.js";
import { h } from "./dom.js";

const KEYS = [
  ["Ctrl K", "Search"],
  ["Ctrl Shift O", "New chat"],
  ["Enter", "Send"],
  ["Shift Enter", "New line"],
  ["↑", "Edit your last message, in an empty message box"],
  ["← →", "Versions of the last reply, in an empty message box"],
  ["Esc", "Close a dialog; leave an earlier chat"],
  ["?", "This list"],
];

export const openKeys = () =>
  openDialog("Keys", () =>
    h(
      "dl",
      { class: "keys" },
      KEYS.map(([keys, meaning]) => [
        h("dt", {}, keys.split(" ").map((key) => h("kbd", {}, key))),
        h("dd", {}, meaning),
      ]),
    ),
  );
