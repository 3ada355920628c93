// Starting a chat with several characters, and changing who takes part.

import { bankPath, get, patch } from "./api.js";
import { avatar, listCharacters } from "./avatars.js";
import { openBankOf } from "./characterbanks.js";
import { openDialog } from "./dialogs.js";
import { button, h, select, textElement } from "./dom.js";
import { emit } from "./events.js";
import { showNotice, withErrors } from "./notices.js";
import { saveNewGroup } from "./prefs.js";
import { navigate, route } from "./router.js";
import { t } from "./words.js";

const MIN_MEMBERS = 2;

/** Ask which characters to talk with, and open the chat. Resolves to true if it was opened. */
export async function startGroup() {
  const characters = await listCharacters();
  return openDialog(t("group.title"), (close) => {
    const form = h(
      "form",
      { class: "fields" },
      h("p", {}, t("group.choose")),
      h(
        "div",
        { class: "choices", role: "group", "aria-label": t("group.characters") },
        characters.map(({ name }) => memberBox(name)),
      ),
      h("p", { class: "small" }, t("group.memory")),
      h(
        "div",
        { class: "bar end" },
        button(t("group.cancel"), () => close()),
        h("button", { type: "submit", class: "primary" }, t("group.start")),
      ),
    );
    const start = async (event) => {
      event.preventDefault();
      const names = new FormData(form).getAll("name");
      if (names.length < MIN_MEMBERS) throw new Error(t("group.too_few"));
      await openGroup(names);
      close(true);
    };
    form.addEventListener("submit", withErrors(start));
    return form;
  });
}

const memberBox = (name) =>
  h(
    "label",
    { class: "choice member" },
    h("input", { type: "checkbox", name: "name", value: name }),
    avatar(name),
    textElement("span", name),
  );

/** Open a chat in the bank of the character that is shown, if it takes part, or else in that of the first. */
async function openGroup(names) {
  const members = [];
  for (const name of names) members.push(await bankOf(name));
  const { bank } = members.find((member) => member.bank === route.bank) ?? members[0];
  const session = new Date().toISOString();
  saveNewGroup(`${bank}/${session}`, members);
  navigate({ bank, session });
}

/** A character with the bank of its chats with this person. */
async function bankOf(name) {
  const { id, character } = await openBankOf(name);
  return { bank: id, name: character };
}

/** Add characters to the group that is shown, or remove some. */
export async function editParticipants(chat) {
  const characters = await listCharacters();
  return openDialog(t("group.participants"), (close) => {
    const { group } = chat.state;
    const change = withErrors(async (members, notice) => {
      await saveMembers(chat, members);
      close();
      showNotice(notice);
    });
    const absent = characters.map(({ name }) => name).filter((name) => !group.some((member) => member.name === name));
    let chosen = absent[0];
    const add = withErrors(async () => change([...group, await bankOf(chosen)], t("group.added", { name: chosen })));
    return [
      h(
        "ul",
        { class: "members" },
        group.map((member) =>
          h(
            "li",
            { class: "member" },
            avatar(member.name),
            textElement("span", member.name),
            member.bank !== route.bank &&
              button(t("group.remove"), () => change(without(group, member), t("group.removed", { name: member.name })), {
                class: "link",
                "aria-label": t("group.remove_named", { name: member.name }),
              }),
          ),
        ),
      ),
      absent.length > 0 && [
        select(t("group.another"), absent.map((name) => [name, name]), chosen, (name) => (chosen = name)),
        h("div", { class: "bar end" }, button(t("group.add"), add)),
      ],
      h("p", { class: "small" }, t("group.memory")),
    ];
  });
}

const without = (group, member) => group.filter(({ bank }) => bank !== member.bank);

/** Record who takes part. With one character left, it is an ordinary chat of its own. */
async function saveMembers(chat, members) {
  const { session, group, lines } = chat.state;
  const next = members.length < MIN_MEMBERS ? [] : members;
  saveNewGroup(`${route.bank}/${session}`, next);
  const banks = new Map([...group, ...members].map(({ bank }) => [bank, next.some((member) => member.bank === bank)]));
  for (const [bank, takesPart] of lines.length ? banks : []) {
    const query = new URLSearchParams({ since: lines[0].said_at, limit: 500 });
    const { items } = await get(bankPath(`/sessions?${query}`, bank));
    const stored = items.find(({ id }) => id === session); // a character that was added has heard nothing
    const path = bankPath(`/sessions/${encodeURIComponent(session)}`, bank);
    if (stored) await patch(path, { metadata: { group: takesPart ? next : null } });
  }
  await chat.reload();
  emit("sessions-changed");
}
