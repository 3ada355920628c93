// Changes to one stored line, from wherever it is shown: pin, correct, forget.

import { bankPath, patch, put, remove } from "./api.js";
import { emit } from "./events.js";
import { loadOverlays } from "./lazy.js";
import { showNotice } from "./notices.js";
import { route } from "./router.js";
import { t } from "./words.js";

export async function togglePin(line, pinned) {
  const { items } = await (pinned ? remove : put)(bankPath(`/pins/${line.seq}`));
  emit("pins", items);
}

/** Forget a line after a question. more: a sentence that the question adds. */
export async function forgetLine(line, more) {
  const { askForget, showReceipt, findCopies, alsoForgets, forgetCopies } = await loadOverlays();
  const copies = await findCopies(line);
  const others = alsoForgets(copies.filter(({ bank }) => bank !== route.bank));
  if (!(await askForget(t("change.forget_question"), t("change.forget_effect") + others + more, line))) return;
  const receipts = await forgetCopies(copies);
  if (receipts.has(route.bank)) emit("forgotten", new Set([line.seq]));
  for (const receipt of [...receipts.values()].slice(0, 1)) await showReceipt(receipt);
}

export async function correctLine(line) {
  const { editText, changeEach, CORRECTING, findCopies } = await loadOverlays();
  const text = await editText(t("change.correct"), line, t("change.correct_hint"));
  if (text === null || text === line.text) return;
  const correct = ({ bank, line: copy }) => patch(bankPath(`/lines/${copy.seq}`, bank), { text });
  const corrected = (await changeEach(await findCopies(line), correct, CORRECTING)).get(route.bank);
  if (!corrected) return;
  emit("corrected", { old: line.seq, line: corrected });
  showNotice(t("change.corrected"));
}
