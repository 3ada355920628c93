// Changes to one stored line, from wherever it is shown: pin, correct, forget. bank: of the line.

import { bankPath, patch, put, remove } from "./api.js";
import { emit, emitForgotten } from "./events.js";
import { findCopies } from "./evidence.js";
import { loadOverlays } from "./lazy.js";
import { showNotice } from "./notices.js";
import { route } from "./router.js";
import { t } from "./words.js";

export async function togglePin(line, pinned, bank = route.bank) {
  const { items } = await (pinned ? remove : put)(bankPath(`/pins/${line.seq}`, bank));
  emit(bank === route.bank ? "pins" : "other-pins", items);
}

/** Forget a line after a question. more: a sentence that the question adds. */
export async function forgetLine(line, more, bank = route.bank) {
  const { askForget, showReceipt, alsoForgets, forgetCopies } = await loadOverlays();
  const copies = await findCopies(line, bank);
  const others = alsoForgets(copies.filter((copy) => copy.bank !== bank));
  if (!(await askForget(t("change.forget_question"), t("change.forget_effect") + others + more, line))) return;
  const receipts = await forgetCopies(copies);
  emitForgotten(receipts.get(route.bank));
  const [receipt] = receipts.values();
  if (receipt) await showReceipt(receipt);
}

export async function correctLine(line, bank = route.bank) {
  const { editText, changeEach, CORRECTING } = await loadOverlays();
  const save = async (text) => {
    const copies = await findCopies(line, bank);
    const correct = ({ bank, line: copy }) => patch(bankPath(`/lines/${copy.seq}`, bank), { text });
    const corrected = await changeEach(copies, correct, CORRECTING);
    if (!corrected.size) return;
    const here = copies.find(({ bank }) => bank === route.bank && corrected.has(bank));
    emit("corrected", { old: here?.line.seq, line: corrected.get(route.bank) });
    showNotice(t("change.corrected"));
  };
  await editText(t("change.correct"), line.text, t("change.correct_hint"), save, line);
}
