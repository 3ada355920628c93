// The banks in which a person talks with the characters of the gallery.

import { bankPath, put } from "./api.js";
import { homeOf } from "./banknames.js";
import { saveOpening } from "./prefs.js";
import { route } from "./router.js";

/** Open the bank of this person's chats with a character; it is created if there is none. Until something is said in it,
 * it goes when it is left. */
export async function openBankOf(name) {
  const bank = await put(bankPath(`/characters/${encodeURIComponent(name)}`));
  if (!bank.lines) saveOpening(bank.id, { beside: homeOf(bank.id, bank.character) ?? route.bank, name });
  return bank;
}
