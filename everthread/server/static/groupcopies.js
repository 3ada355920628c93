// What the banks of a group have in common: each has the lines that were said while its character took part.

import { bankPath, get, remove } from "./api.js";
import { route } from "./router.js";
import { joinList, t } from "./words.js";

/** The members of a group other than the one whose bank is shown. group: of a state, or of a session's metadata. */
export const othersIn = (group) =>
  (Array.isArray(group) ? group : []).filter(({ bank, name }) => bank && name && bank !== route.bank);

/** The line of another bank that is a copy of this one; undefined if there is none. */
export async function findCopy(line, bank) {
  const query = new URLSearchParams({ session: line.session, since: line.said_at, limit: 5 });
  const { items } = await get(bankPath(`/lines?${query}`, bank)).catch(ignoreMissing);
  return items.find(({ said_at, role, text }) => said_at === line.said_at && role === line.role && text === line.text);
}

/** The copies of a line in the banks of the others who were present: [{member, line}, …]. */
export async function findCopies(line) {
  const session = await get(bankPath(`/sessions/${encodeURIComponent(line.session)}`));
  const members = othersIn(session.metadata.group);
  const copies = await Promise.all(members.map(async (member) => ({ member, line: await findCopy(line, member.bank) })));
  return copies.filter((copy) => copy.line);
}

/** What a question about forgetting adds. */
export const alsoForgets = (members) =>
  members.length ? ` ${t("group.forget_too", { names: joinList(members.map(({ name }) => name)) })}` : "";

export const forgetCopies = (copies) =>
  Promise.all(copies.map(({ member, line }) => remove(bankPath(`/lines/${line.seq}`, member.bank))));

/** Forget a group's chat in the banks of the others. */
export const forgetSessions = (members, id) =>
  Promise.all(
    members.map(({ bank }) => remove(bankPath(`/sessions/${encodeURIComponent(id)}`, bank)).catch(ignoreMissing)),
  );

/** An empty list for a bank or a session that is gone, or that this character has never heard of. */
export function ignoreMissing(error) {
  if (error.status !== 404) throw error;
  return { items: [] };
}
