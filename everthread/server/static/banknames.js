// Who talks with whom in a bank, in words.

const UNNAMED = "user"; // of a person who has given no name
const DEFAULT_BANK = "default";

/** "with Laura". A person without a name is known by the bank's id. */
export function withPerson({ id, character, person = UNNAMED }) {
  if (person !== UNNAMED) return `with ${person}`;
  const suffix = `/${character.toLowerCase().replaceAll(/[\s/]+/g, "-")}`;
  const home = id.endsWith(suffix) ? id.slice(0, -suffix.length) : id;
  return [DEFAULT_BANK, ""].includes(home) ? "with you" : `in ${home}`;
}
