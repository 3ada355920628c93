// The gallery of characters, and the import of character cards (JSON or PNG).

import { bankPath, FINAL_STATUS, get, post, remove, request } from "./api.js";
import { avatar, characterPath, listCharacters } from "./avatars.js";
import { UNNAMED } from "./banknames.js";
import { openBankOf } from "./characterbanks.js";
import { askChoice, openDialog } from "./dialogs.js";
import { acceptDrops, button, byId, download, fill, h, textElement, truncate } from "./dom.js";
import { editCharacter } from "./characterforms.js";
import { shortDate } from "./dates.js";
import { emit } from "./events.js";
import { startGroup } from "./groupforms.js";
import { chooseSharing } from "./memorysharing.js";
import { showNotice, withErrors } from "./notices.js";
import { navigate, route } from "./router.js";
import { formatNumber, ONE_DECIMAL, parts, t } from "./words.js";

const MAX_CARD_BYTES = 8 << 20; // of the server
const MAX_TILE_CHARS = 180; // of a description

export function openGallery(chat) {
  return openDialog(
    t("index.characters"),
    (close, body) => {
      const grid = h("ul", { class: "gallery" });
      const draw = withErrors(async () => {
        const [characters, banks] = await Promise.all([listCharacters({ refresh: true }), listOwnBanks()]);
        fill(
          grid,
          characters.map((character) => characterTile(character, banks, { chat, close, draw })),
        );
      });
      const file = h("input", {
        type: "file",
        accept: ".json,.png,application/json,image/png",
        multiple: true,
        "aria-label": t("gallery.card"),
        hidden: true,
      });
      const importAll = withErrors(async (files) => {
        const { broken } = await importCards(files);
        await draw();
        refuseCards(broken);
      });
      file.addEventListener("change", () => importAll([...file.files]));
      acceptDrops(body, importAll);
      draw();
      const create = async () => (await editCharacter({ name: "", description: "" }, { fresh: true })) && draw();
      return [
        grid,
        h(
          "div",
          { class: "bar gallery-end" },
          h(
            "p",
            { class: "drop" },
            parts("gallery.drop", { choose: button(t("gallery.choose"), () => file.click(), { class: "link" }) }),
            file,
          ),
          button(t("group.title"), withErrors(async () => (await startGroup()) && (close(), byId("message").focus()))),
          button(t("card.new"), withErrors(create)),
        ),
      ];
    },
    { wide: true },
  );
}

/** The banks in which this person talks with a character; none if the key may not read them. */
const listOwnBanks = () =>
  get(bankPath("/characters")).then(
    ({ items }) => items,
    () => [],
  );

/** The bank in which the person talks with a character: the open one, or the one with the most messages. */
function ownBank(name, banks) {
  const own = banks.filter(({ character }) => character.toLowerCase() === name.toLowerCase());
  return own.find(({ id }) => id === route.bank) ?? own.sort((one, other) => other.lines - one.lines)[0];
}

function characterTile(character, banks, { chat, close, draw }) {
  const { name, description } = character;
  const bank = ownBank(name, banks);
  const { name: current, person = UNNAMED } = chat.state?.character ?? {};
  const active = current === name;
  const you = person === UNNAMED ? t("header.you") : person;
  const told = description.replaceAll(/\{\{char\}\}/gi, name).replaceAll(/\{\{user\}\}/gi, you);
  return h(
    "li",
    { class: `tile${active ? " selected" : ""}` },
    avatar(name),
    textElement("h3", name),
    textElement("p", truncate(told, MAX_TILE_CHARS), { class: "small told" }),
    h("p", { class: "small met" }, active ? t("gallery.active") : bank?.lines ? lastTalk(bank) : t("gallery.no_chats")),
    h(
      "div",
      { class: "bar" },
      button(
        t("gallery.chat"),
        withErrors(async () => (await startChat(name), close(), byId("message").focus())),
        { "aria-label": t("gallery.chat_with", { name }) },
      ),
      tileActions(character, banks, { bank, draw }),
    ),
  );
}

const lastTalk = ({ lines, last_said_at: last }) => t("bank.size", { messages: t("count.messages", { count: lines }), date: shortDate(last) });

function tileActions(character, banks, { bank, draw }) {
  const { name, builtin } = character;
  const more = (close) => cardActions(character, close);
  const edit = async () => (await editCharacter(await get(characterPath(name)), { fresh: builtin, more })) && draw();
  const sharable = bank && banks.some(({ id, lines }) => id !== bank.id && lines);
  const share = () => chooseSharing(bank, banks);
  return [
    button(t("gallery.edit"), withErrors(edit), { class: "link", "aria-label": t("card.edit", { name }) }),
    sharable && button(t("gallery.memory"), withErrors(share), { class: "link", "aria-label": t("gallery.remembers", { name }) }),
  ];
}

/** Buttons for the card of a character, in its editor. */
function cardActions({ name, builtin, has_picture }, close) {
  const removeCard = async () => {
    const confirmed = await askChoice(
      t("gallery.remove_question", { name }),
      t("gallery.remove_effect"),
      [
        [t("gallery.remove"), true],
        [t("settings.cancel"), false],
      ],
    );
    if (confirmed) (await remove(characterPath(name)), emit("characters", name), close(true));
  };
  return [
    button(
      t("gallery.export"),
      withErrors(() => exportCard({ name, has_picture })),
      { class: "link" },
    ),
    !builtin && button(t("gallery.remove"), withErrors(removeCard), { class: "link" }),
  ];
}

/** Open the person's chats with a character, in a bank of its own. */
async function startChat(name) {
  const { id } = await openBankOf(name).catch((error) => {
    if (error.status === 403)
      error.message = t("gallery.key", { name });
    throw error;
  });
  navigate({ bank: id });
}

async function exportCard({ name, has_picture: png }) {
  const format = png ? "png" : "json";
  const response = await request("GET", characterPath(name, `/card?format=${format}`));
  download(await response.blob(), `${name.replaceAll(/[^\p{L}\p{N} _-]/gu, "_")}.${format}`);
}

/** Import cards; those that can't be read keep no other one out. Resolves to the names of the characters that were added,
 * and to the files that can't be read, each with the reason. */
export async function importCards(files) {
  const names = [];
  const broken = [];
  for (const file of files) {
    try {
      const character = await importCard(file);
      if (character) names.push(character.name);
    } catch (error) {
      if (error.status !== undefined && !FINAL_STATUS.includes(error.status)) throw error;
      broken.push([file, error.message]);
    }
  }
  return { names, broken };
}

/** Show which cards can't be read. */
export function refuseCards(broken) {
  if (broken.length) throw new Error(broken.map(([{ name }, reason]) => `${name}: ${reason}`).join(" "));
}

async function importCard(file) {
  if (file.size > MAX_CARD_BYTES)
    throw new Error(t("gallery.too_large", { size: formatNumber(file.size / 2 ** 20, ONE_DECIMAL) }));
  const type = /\.png$/i.test(file.name) || file.type === "image/png" ? "image/png" : "application/json";
  const character = await postCard(file, type);
  if (!character) return null;
  emit("characters", character.name);
  showNotice(t("gallery.added", { name: character.name }));
  return character;
}

/** Store a card; if there is a character of its name, ask what to do. Resolves to null if the person cancels. */
async function postCard(file, type) {
  try {
    return await post("/characters", file, { type });
  } catch (error) {
    if (error.option !== "force") throw error;
    const choice = await askChoice(
      t("gallery.replace_question"),
      t("gallery.exists", { file: file.name }),
      [
        [t("gallery.replace"), "replace"],
        [t("gallery.keep_both"), "rename"],
        [t("settings.cancel"), null],
      ],
    );
    return choice && post(`/characters?${choice}=true`, file, { type });
  }
}

/** Whether a file looks like a character card, and not like a file of chats. */
export async function isCard(file) {
  if (/\.png$/i.test(file.name)) return true;
  if (!/\.json$/i.test(file.name) || file.size > MAX_CARD_BYTES) return false;
  const text = await file.text();
  return /"spec"\s*:\s*"chara_card|"first_mes"\s*:|"char_name"\s*:/.test(text);
}
