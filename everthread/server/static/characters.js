// The gallery of characters, and the import of character cards (JSON or PNG).

import { bankPath, get, post, put, remove, request } from "./api.js";
import { avatar, characterPath, listCharacters } from "./avatars.js";
import { askChoice, openDialog } from "./dialogs.js";
import { acceptDrops, button, download, fill, h, textElement, truncate } from "./dom.js";
import { editCharacter } from "./characterforms.js";
import { emit } from "./events.js";
import { showNotice, withErrors } from "./notices.js";
import { navigate, route } from "./router.js";

const MAX_CARD_BYTES = 8 << 20; // the server's limit

export function openGallery(chat) {
  return openDialog(
    "Characters",
    (close, body) => {
      const grid = h("ul", { class: "gallery" });
      const draw = withErrors(async () => {
        fill(
          grid,
          (await listCharacters({ refresh: true })).map((character) => characterTile(character, { chat, close, draw })),
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
      return [
        h(
          "p",
          { class: "drop" },
          "Drop a character card here (PNG or JSON), or ",
          button("choose a file", () => file.click(), { class: "link" }),
          file,
        ),
        grid,
        h(
          "div",
          { class: "bar end" },
          button(
            "New character",
            withErrors(async () => (await editCharacter({ name: "", description: "" }, { fresh: true })) && draw()),
          ),
        ),
      ];
    },
    { wide: true },
  );
}

function characterTile(character, { chat, close, draw }) {
  const { name, description, builtin } = character;
  const active = chat.state?.character.name === name;
  const removeCard = async () => {
    const confirmed = await askChoice(
      `Remove ${name}?`,
      "The character's card is removed. Its chats stay where they are.",
      [
        ["Remove", true],
        ["Cancel", false],
      ],
    );
    if (confirmed) (await remove(characterPath(name)), emit("characters", name), await draw());
  };
  return h(
    "li",
    { class: `tile${active ? " selected" : ""}` },
    avatar(name),
    h(
      "div",
      {},
      textElement("h3", name),
      textElement("p", truncate(description.replaceAll("{{char}}", name).replaceAll("{{user}}", "you"), 180), {
        class: "small",
      }),
    ),
    h(
      "div",
      { class: "bar" },
      active
        ? h("span", { class: "small" }, "Active here")
        : button(
            "Chat",
            withErrors(async () => (await startChat(name, chat)) && close()),
            { "aria-label": `Chat with ${name}` },
          ),
      button(
        "Edit",
        withErrors(async () => (await editCharacter(await get(characterPath(name)), { fresh: builtin })) && draw()),
        { class: "link", "aria-label": `Edit ${name}` },
      ),
      button(
        "Export card",
        withErrors(() => exportCard(character)),
        { class: "link", "aria-label": `Export the card of ${name}` },
      ),
      !builtin && button("Remove", withErrors(removeCard), { class: "link", "aria-label": `Remove ${name}` }),
    ),
  );
}

/** Start chatting with a character; the person's name is kept. If the bank holds another character's memories, ask
 * which bank to use. Returns whether one was chosen. */
async function startChat(name, chat) {
  const current = chat.state?.character;
  const hasLines = chat.state?.lines.length || (await get(bankPath())).lines;
  const bank = hasLines ? await chooseBank(name, current?.name ?? "another character") : route.bank;
  if (!bank) return false;
  const path = `/banks/${encodeURIComponent(bank)}`;
  const hasItsCharacter = bank !== route.bank && (await put(path)).lines > 0;
  if (!hasItsCharacter) {
    const character = await get(characterPath(name));
    await put(`${path}/character`, current?.person ? { ...character, person: current.person } : character);
  }
  if (bank === route.bank) await chat.reload();
  else navigate({ bank });
  const scope = bank === route.bank ? "who knows everything remembered here" : `in the bank ${bank}`;
  showNotice(`You are now chatting with ${name}, ${scope}.`);
  return true;
}

/** Ask in which bank to chat with a character, where this one holds the memories of another; null if cancelled. */
function chooseBank(name, current) {
  const separate = separateBank(name, current);
  return askChoice(
    `Where do you want to chat with ${name}?`,
    `This bank, ${route.bank}, holds what ${current} remembers. In a separate bank, ${separate}, ${name} knows ` +
      `only what is said there. If you hand this bank over, ${name} takes ${current}'s place and knows everything ` +
      `said here.`,
    [
      ["Use a separate bank", separate],
      [`Hand this bank over to ${name}`, route.bank],
      ["Cancel", null],
    ],
  );
}

/** The name of a character's separate bank: laura/captain-vey, next to laura or laura/ever. */
function separateBank(name, current) {
  const suffixOf = (text) => `/${text.toLowerCase().replaceAll(/[\s/]+/g, "-")}`;
  const { bank } = route;
  const suffix = suffixOf(current);
  return (bank.endsWith(suffix) ? bank.slice(0, -suffix.length) : bank) + suffixOf(name);
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
  const character = await post("/characters", file, { type }).catch((error) => {
    error.message = `${file.name}: ${error.message}`;
    throw error;
  });
  emit("characters", character.name);
  showNotice(`${character.name} was added. Choose “Chat” in the gallery to start.`);
  return character;
}

/** Whether a file looks like a character card, and not like a file of chats. */
export async function isCard(file) {
  if (/\.png$/i.test(file.name)) return true;
  if (!/\.json$/i.test(file.name) || file.size > MAX_CARD_BYTES) return false;
  const text = await file.text();
  return /"spec"\s*:\s*"chara_card|"first_mes"\s*:|"char_name"\s*:/.test(text);
}
