// Changes to one stored line, from wherever it is shown: pin, correct, forget.

import { bankPath, patch, put, remove } from "./api.js";
import { emit } from "./events.js";
import { loadOverlays } from "./lazy.js";
import { showNotice } from "./notices.js";
import { t } from "./words.js";

export async function togglePin(line, pinned) {
  const { items } = await (pinned ? remove : put)(bankPath(`/pins/${line.seq}`));
  emit("pins", items);
}

/** Forget a line after a question. more: a sentence that the question adds. */
export async function forgetLine(line, more) {
  const { askChoice, showReceipt, findCopies, alsoForgets, forgetCopies } = await loadOverlays();
  const copies = await findCopies(line);
  const others = alsoForgets(copies.map(({ member }) => member));
  const confirmed = await askChoice(
    t("change.forget_question"),
    t("change.forget_effect") + others + more,
    [
      [t("change.forget"), true],
      [t("dialog.keep"), false],
    ],
    line,
  );
  if (!confirmed) return;
  await forgetCopies(copies);
  const proof = await remove(bankPath(`/lines/${line.seq}`));
  emit("forgotten", new Set([line.seq]));
  await showReceipt(proof);
}

export async function correctLine(line) {
  const { editText } = await loadOverlays();
  const text = await editText(t("change.correct"), line, t("change.correct_hint"));
  if (text === null || text === line.text) return;
  const corrected = await patch(bankPath(`/lines/${line.seq}`), { text });
  emit("corrected", { old: line.seq, line: corrected });
  showNotice(t("change.corrected"));
}
