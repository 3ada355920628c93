// What opens above the page, or in the place of the talk.

export { another, banks } from "./banks.js";
export { gallery, importCard, isCard } from "./characters.js";
export { askKey, choose, receipt, rewrite, sureToForget } from "./dialogs.js";
export { scene } from "./editor.js";
export { Reading } from "./reading.js";
export { settings, take } from "./settings.js";
