// What nobody waits for who comes to say something: the columns beside the talk, and the windows above the page. Each is
// read when it is first needed, with its style sheet.

import { Problem } from "./api.js";
import { h } from "./dom.js";

export const columns = once(() => import("./columns.js"), "/static/memory.css");
export const windows = once(() => import("./windows.js"), "/static/windows.css");

/** Reads a module and how it looks; what could not be read is read again when it is asked for again. Raises Problem. */
function once(module, href) {
  let found = null;
  return () => {
    found ??= Promise.all([module(), sheet(href)]).then(
      ([read]) => read,
      () => {
        found = null;
        const detail = "A part of the page can't be read, for the server can't be reached: see that it runs.";
        throw new Problem({ detail, type: "urn:everthread:unreachable" });
      },
    );
    return found;
  };
}

function sheet(href) {
  return new Promise((load, error) => document.head.append(h("link", { rel: "stylesheet", href, on: { load, error } })));
}
