// Parts of the page that a first message doesn't need, each loaded with its style sheet on first use.

import { loadOnce } from "./loadonce.js";

export const loadColumns = loadOnce(() => import("./columns.js"), "/static/memory.css");
export const loadOverlays = loadOnce(() => import("./overlays.js"), "/static/overlays.css");
export const loadGroup = loadOnce(() => import("./group.js"), "/static/group.css");
export const loadDemo = loadOnce(() => import("./demo.js"), "/static/demo.css");
export const loadImport = loadOnce(() => import("./importdialog.js"), "/static/import.css");
