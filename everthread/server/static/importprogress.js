// A bar that shows how much is done, and the time that is left.

import { button, fill, h, textElement } from "./dom.js";
import { t } from "./words.js";

const MIN_MEASURED_MS = 2_000; // before the time left can be estimated
const MS_PER_MINUTE = 60_000;

/** stop: [label, act] of its button. */
export function importProgress(stop) {
  const label = textElement("p", "", { role: "status" });
  const counts = textElement("p", "", { class: "small" });
  const bar = h("progress");
  let start = null;
  return {
    element: h("div", { class: "import" }, label, bar, counts, h("div", { class: "bar end" }, button(...stop))),
    /** Say what is being done; the bar shows no share until the next one is known. */
    begin(text) {
      if (label.textContent !== text) fill(label, text);
      bar.setAttribute("aria-label", text);
    },
    /** share: of all that is to be done, from 0 to 1; null: it is not known how much. */
    show(share, ...texts) {
      if (share === null) return (bar.removeAttribute("value"), fill(counts));
      start ??= { share, at: performance.now() };
      bar.value = share;
      return fill(counts, [...texts, timeLeft(performance.now() - start.at, start.share, share)].filter(Boolean).join(" · "));
    },
  };
}

function timeLeft(elapsedMs, from, share) {
  if (elapsedMs < MIN_MEASURED_MS || share <= from) return "";
  const minutes = Math.round((elapsedMs * (1 - share)) / (share - from) / MS_PER_MINUTE);
  return minutes ? t("import.minutes_left", { count: minutes }) : t("import.nearly");
}
