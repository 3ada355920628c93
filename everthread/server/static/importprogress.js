// The progress of an import, with the time that is left.

import { button, h } from "./dom.js";
import { t } from "./words.js";

const MIN_MEASURED_MS = 2_000; // before the time left can be estimated
const MS_PER_MINUTE = 60_000;

/** total: the number of messages. show: called with {done, total}. */
export function importProgress(total, stop) {
  const label = h("p", { role: "status" }, t("import.running"));
  const counts = h("p", { class: "small" });
  const bar = h("progress", { "aria-label": t("import.running") });
  const element = h("div", { class: "import" }, label, bar, counts, h("div", { class: "bar end" }, button(t("composer.stop"), stop)));
  let startedAt = null;
  const progress = {
    element,
    done: 0,
    show({ done, total: lines }) {
      startedAt ??= performance.now();
      bar.max = lines || 1;
      bar.value = done;
      progress.done = Math.min(done, total);
      counts.textContent = [
        t("import.progress", { done: progress.done, total }),
        timeLeft(performance.now() - startedAt, done / (lines || 1)),
      ].filter(Boolean).join(" · ");
    },
  };
  return progress;
}

function timeLeft(elapsedMs, share) {
  if (elapsedMs < MIN_MEASURED_MS || !share) return "";
  const minutes = Math.round((elapsedMs * (1 / share - 1)) / MS_PER_MINUTE);
  return minutes ? t("import.minutes_left", { count: minutes }) : t("import.nearly");
}
