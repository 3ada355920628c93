// Who talks with whom in a bank, in words.

import { homeBank } from "./account.js";
import { t } from "./words.js";

export const UNNAMED = "user"; // the name of a person who has given none
const DEFAULT_BANK = "default";
const DEMO_BANK = "demo";

/** The bank of the demo: demo or, with an account, nora/demo. */
export const demoBank = () => (homeBank() ? `${homeBank()}/${DEMO_BANK}` : DEMO_BANK);

export const isDemoBank = (bank) => bank === DEMO_BANK || bank.endsWith(`/${DEMO_BANK}`);

/** The bank beside which that of a character was opened: laura, of laura/captain-vey; null for any other bank. */
export function homeOf(id, character) {
  const suffix = `/${character.toLowerCase().replaceAll(/[\s/]+/g, "-")}`;
  return id.endsWith(suffix) ? id.slice(0, -suffix.length) : null;
}

/** "with Laura". A person without a name is known by the bank's id. */
export function withPerson({ id, character, person = UNNAMED }) {
  if (person !== UNNAMED) return t("bank.with", { person });
  const home = homeOf(id, character) ?? id;
  return [DEFAULT_BANK, ""].includes(home) ? t("bank.with_you") : t("bank.in", { bank: home });
}
