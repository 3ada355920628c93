// Loads a part of the page with its style sheet, once.

import { Problem } from "./api.js";
import { h } from "./dom.js";
import { t } from "./words.js";

/** A function that loads a module and the style sheet beside this one once, or throws Problem; after a failure it tries again. */
export function loadOnce(load, href) {
  let loading = null;
  return () => {
    loading ??= Promise.all([load(), loadStylesheet(new URL(href, import.meta.url))]).then(
      ([module]) => module,
      () => {
        loading = null;
        const detail =
          t("error.not_loaded");
        throw new Problem({ detail, type: "urn:everthread:unreachable" });
      },
    );
    return loading;
  };
}

function loadStylesheet(href) {
  return new Promise((load, error) =>
    document.head.append(h("link", { rel: "stylesheet", href, on: { load, error } })),
  );
}
