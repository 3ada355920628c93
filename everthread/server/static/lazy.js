// Parts of the page that a first message doesn't need, each loaded with its style sheet on first use.

import { loadOnce } from "./loadonce.js";

export const loadColumns = loadOnce(() => import("./columns.js"), "./memory.css");
export const loadOverlays = loadOnce(() => import("./overlays.js"), "./overlays.css");
export const loadGroup = loadOnce(() => import("./group.js"), "./group.css");
export const loadDemo = loadOnce(() => import("./demo.js"), "./demo.css");
export const loadImport = loadOnce(() => import("./importdialog.js"), "./import.css");
