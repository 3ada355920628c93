// The gallery of characters, and the import of character cards (JSON or PNG).

import { bankPath, get, post, put, remove, request } from "./api.js";
import { avatar, characterPath, listCharacters } from "./avatars.js";
import { askChoice, openDialog } from "./dialogs.js";
import { acceptDrops, button, download, fill, h, textElement, truncate } from "./dom.js";
import { editCharacter } from "./characterforms.js";
import { countOf, shortDate } from "./dates.js";
import { emit } from "./events.js";
import { startGroup } from "./groupforms.js";
import { chooseSharing } from "./memorysharing.js";
import { showNotice, withErrors } from "./notices.js";
import { navigate, route } from "./router.js";
import { t } from "./words.js";

const MAX_CARD_BYTES = 8 << 20; // the server's limit
const MAX_TILE_CHARS = 180; // of a description

export function openGallery(chat) {
  return openDialog(
    "Characters",
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
        "aria-label": "A character card",
        hidden: true,
      });
      const importAll = withErrors(async (files) => {
        for (const file of files) await importCard(file);
        await draw();
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
            "Drop a character card here (PNG or JSON), or ",
            button("choose a file", () => file.click(), { class: "link" }),
            file,
          ),
          button(t("group.title"), withErrors(async () => (await startGroup()) && close())),
          button("New character", withErrors(create)),
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
  const active = chat.state?.character.name === name;
  const told = description.replaceAll(/\{\{char\}\}/gi, name).replaceAll(/\{\{user\}\}/gi, "you");
  return h(
    "li",
    { class: `tile${active ? " selected" : ""}` },
    avatar(name),
    textElement("h3", name),
    textElement("p", truncate(told, MAX_TILE_CHARS), { class: "small told" }),
    h("p", { class: "small met" }, active ? "Active here" : bank?.lines ? lastTalk(bank) : "No chats yet"),
    h(
      "div",
      { class: "bar" },
      button(
        "Chat",
        withErrors(async () => (await startChat(name), close())),
        { "aria-label": `Chat with ${name}` },
      ),
      tileActions(character, banks, { bank, draw }),
    ),
  );
}

const lastTalk = ({ lines, last_said_at: last }) => `${countOf(lines, "message")}, last ${shortDate(last)}`;

function tileActions(character, banks, { bank, draw }) {
  const { name, builtin } = character;
  const more = (close) => cardActions(character, close);
  const edit = async () => (await editCharacter(await get(characterPath(name)), { fresh: builtin, more })) && draw();
  const sharable = bank && banks.some(({ id, lines }) => id !== bank.id && lines);
  const share = () => chooseSharing(bank, banks);
  return [
    button("Edit", withErrors(edit), { class: "link", "aria-label": `Edit ${name}` }),
    sharable && button("Memory", withErrors(share), { class: "link", "aria-label": `What ${name} remembers` }),
  ];
}

/** Buttons for the card of a character, in its editor. */
function cardActions({ name, builtin, has_picture }, close) {
  const removeCard = async () => {
    const confirmed = await askChoice(
      `Remove ${name}?`,
      "The character's card is removed. Its chats stay where they are.",
      [
        ["Remove", true],
        ["Cancel", false],
      ],
    );
    if (confirmed) (await remove(characterPath(name)), emit("characters", name), close(true));
  };
  return [
    button(
      "Export card",
      withErrors(() => exportCard({ name, has_picture })),
      { class: "link" },
    ),
    !builtin && button("Remove", withErrors(removeCard), { class: "link" }),
  ];
}

/** Open the person's chats with a character, in a bank of its own. */
async function startChat(name) {
  const { id } = await put(bankPath(`/characters/${encodeURIComponent(name)}`)).catch((error) => {
    if (error.status === 403)
      error.message = `Your access key doesn't cover your chats with ${name}. Ask the person who created it for one that does.`;
    throw error;
  });
  navigate({ bank: id });
}

async function exportCard({ name, has_picture: png }) {
  const format = png ? "png" : "json";
  const response = await request("GET", characterPath(name, `/card?format=${format}`));
  download(await response.blob(), `${name.replaceAll(/[^\p{L}\p{N} _-]/gu, "_")}.${format}`);
}

export async function importCard(file) {
  if (file.size > MAX_CARD_BYTES)
    throw new Error(
      `${file.name} is ${(file.size / 2 ** 20).toFixed(1)} MB; a card may be at most 8 MB. Use a smaller picture.`,
    );
  const type = /\.png$/i.test(file.name) || file.type === "image/png" ? "image/png" : "application/json";
  const character = await postCard(file, type).catch((error) => {
    error.message = `${file.name}: ${error.message}`;
    throw error;
  });
  if (!character) return null;
  emit("characters", character.name);
  showNotice(`${character.name} was added. Choose “Chat” in the gallery to start.`);
  return character;
}

/** Store a card; if there is a character of its name, ask what to do. Resolves to null if the person cancels. */
async function postCard(file, type) {
  try {
    return await post("/characters", file, { type });
  } catch (error) {
    if (error.option !== "force") throw error;
    const choice = await askChoice(
      "Replace this character?",
      `The gallery already has the character of ${file.name}. If you keep both, the new one gets a number.`,
      [
        ["Replace", "replace"],
        ["Keep both", "rename"],
        ["Cancel", null],
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
