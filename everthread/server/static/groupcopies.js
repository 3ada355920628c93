// What the banks of a group have in common: each has the lines that were said while its character took part.

import { bankPath, remove } from "./api.js";
import { askChoice, confirmForget } from "./dialogs.js";
import { emitForgotten } from "./events.js";
import { findCopies } from "./evidence.js";
import { route } from "./router.js";
import { joinList, t } from "./words.js";

/** The members of a group other than the one shown. group: of a state, or of a session. */
export const othersIn = (group) =>
  (Array.isArray(group) ? group : []).filter(({ bank, name }) => bank && name && bank !== route.bank);

/** What a question about forgetting adds. */
export const alsoForgets = (others) => (others.length ? ` ${t("group.forget_too", { names: namesOf(others) })}` : "");

/** The names of others who have copies of lines. */
export const othersNamed = (copies) => joinList([...new Map(othersIn(copies).map(({ bank, name }) => [bank, name])).values()]);

/** Forget each copy of a line. Resolves to the receipts by bank. */
export const forgetCopies = (copies) =>
  changeEach(copies, ({ bank, line }) => remove(bankPath(`/lines/${line.seq}`, bank)), FORGETTING);

/** The copies of a line; none if it is gone. */
export const findLeft = (seq, bank) =>
  findCopies({ seq }, bank).catch((error) => {
    if (error.status !== 404) throw error;
    return [];
  });

/** Forget lines with their copies, and emit "forgotten", also after an error. Resolves to one receipt of the
 * lines of the bank that is shown, or to null. */
export async function forgetLines(seqs) {
  const { bank } = route;
  const receipts = [];
  try {
    for (const seq of seqs) receipts.push((await forgetCopies(await findLeft(seq, bank))).get(bank));
  } finally {
    if (receipts.length) emitForgotten(joinReceipts(receipts));
  }
  return joinReceipts(receipts);
}

function joinReceipts(receipts) {
  const own = receipts.filter(Boolean);
  if (!own.length) return null;
  const lines = own.reduce((sum, receipt) => sum + receipt.lines, 0);
  return { ...own.at(-1), lines, seqs: own.flatMap((receipt) => receipt.seqs).sort(([one], [other]) => one - other) };
}

/** Forget a chat, after a question, in the banks of all who take part. warning: a sentence that the question adds.
 * Resolves to the receipt of the bank that is shown, or to null. */
export async function forgetChat({ id, metadata: { group } }, warning = "") {
  const { bank } = route;
  const others = othersIn(group);
  if (!(await confirmForget(alsoForgets(others) + warning))) return null;
  const own = (others.length && group.find((member) => member.bank === bank)) || { bank, name: bank };
  const forget = (member) => remove(bankPath(`/sessions/${encodeURIComponent(id)}`, member.bank));
  return (await changeEach([own, ...others], forget, FORGETTING)).get(bank) ?? null;
}

const FORGETTING = {
  done: (names) => t("group.forgotten_by", { names }),
  left: (names, reason) => t("group.not_forgotten", { names, reason }),
};

export const CORRECTING = {
  done: (names) => t("group.corrected_for", { names }),
  left: (names, reason) => t("group.not_corrected", { names, reason }),
};

/** Make a change in each of several banks. Where it fails, the person is told, and can have it tried again there.
 * Resolves to the results by bank. */
export async function changeEach(copies, change, words) {
  const results = new Map();
  if (copies.length === 1) return results.set(copies[0].bank, await change(copies[0]));
  for (let left = copies; left.length; ) {
    const outcomes = await Promise.allSettled(left.map(change));
    outcomes.forEach(({ value }, index) => value && results.set(left[index].bank, value));
    const failures = outcomes.map(({ reason }) => (reason?.status === 404 ? null : reason)); // 404: it is gone already
    left = left.filter((_, index) => failures[index]);
    const done = copies.filter(({ bank }) => results.has(bank));
    if (left.length && !(await askAgain(words, done, left, failures.find(Boolean)))) break;
  }
  return results;
}

const askAgain = (words, done, left, { message }) =>
  askChoice(
    t("group.not_everywhere"),
    [done.length ? words.done(namesOf(done)) : "", words.left(namesOf(left), message)].filter(Boolean).join(" "),
    [
      [t("composer.retry"), true],
      [t("group.leave"), false],
    ],
  );

const namesOf = (members) => joinList(members.map(({ name }) => name));
