// The account of the person who has signed in; on a server without accounts there is none, and everything is allowed.

let account = null;

export const getAccount = () => account;
export const setAccount = (current) => (account = current);

/** The bank where a person's chats begin; null without an account. */
export const homeBank = () => account?.banks[0] ?? null;

/** Whether the person owns a bank. */
export const ownsBank = (bank) =>
  !account || account.banks.some((own) => bank === own || bank.startsWith(`${own}/`));
