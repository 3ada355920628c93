// The gallery: whom one can talk with. A card, JSON or a picture, is dropped here or chosen from the disk.

import { ask, get, inBank, post, put, remove } from "./api.js";
import { tell } from "./bus.js";
import { choose, open } from "./dialogs.js";
import { button, cut, download, dropping, fill, h, said } from "./dom.js";
import { edit } from "./editor.js";
import { all, face, path } from "./faces.js";
import { go, here } from "./here.js";
import { careful, notice } from "./notices.js";

const LARGEST = 8 << 20; // bytes of a card, as the server takes them

/** Open the gallery. */
export function gallery(talk) {
  return open(
    "Characters",
    (close, body) => {
      const grid = h("ul", { class: "gallery" });
      const draw = careful(async () => {
        fill(
          grid,
          (await all(true)).map((each) => tile(each, { talk, close, draw })),
        );
      });
      const file = h("input", {
        type: "file",
        accept: ".json,.png,application/json,image/png",
        "aria-label": "A character card",
        hidden: true,
      });
      const take = careful(async (files) => {
        for (const each of files) await importCard(each);
        await draw();
      });
      file.addEventListener("change", () => take([...file.files]));
      dropping(body, take);
      draw();
      return [
        h(
          "p",
          { class: "drop" },
          "Drop a character card here, a picture or JSON, or ",
          button("choose a file", () => file.click(), { class: "link" }),
          file,
        ),
        grid,
        h(
          "div",
          { class: "bar end" },
          button(
            "Make a new one",
            careful(async () => (await edit({ name: "", description: "" }, { fresh: true })) && draw()),
          ),
        ),
      ];
    },
    { wide: true },
  );
}

function tile(each, { talk, close, draw }) {
  const { name, builtin } = each;
  const now = talk.state?.character.name === name;
  const drop = async () => {
    const sure = await choose(
      `Remove ${name}?`,
      "The character's card is removed. What was said with it stays where it was said.",
      [
        ["Remove it", true],
        ["Keep it", false],
      ],
    );
    if (sure) (await remove(path(name)), tell("characters", name), await draw());
  };
  return h(
    "li",
    { class: `tile${now ? " chosen" : ""}` },
    face(name),
    h(
      "div",
      {},
      said("h3", name),
      said("p", cut(each.description.replaceAll("{{char}}", name).replaceAll("{{user}}", "you"), 180), {
        class: "small",
      }),
    ),
    h(
      "div",
      { class: "bar" },
      now
        ? h("span", { class: "small" }, "You talk with it here")
        : button(
            "Talk",
            careful(async () => (await meet(name, talk)) && close()),
            { "aria-label": `Talk with ${name}` },
          ),
      button(
        "Edit",
        careful(async () => (await edit(await get(path(name)), { fresh: builtin })) && draw()),
        { class: "link", "aria-label": `Edit ${name}` },
      ),
      button(
        "Card",
        careful(() => saveCard(each)),
        { class: "link", "aria-label": `Save the card of ${name}` },
      ),
      !builtin && button("Remove", careful(drop), { class: "link", "aria-label": `Remove ${name}` }),
    ),
  );
}

/** Talk with this one from now on; one's own name stays. Where another one remembers something, the person says in which
 * bank. Whether they did. */
async function meet(name, talk) {
  const now = talk.state?.character;
  const held = talk.state?.lines.length || (await get(inBank())).lines;
  const bank = held ? await whichBank(name, now?.name ?? "another character") : here.bank;
  if (!bank) return false;
  const of = `/banks/${encodeURIComponent(bank)}`;
  const met = bank !== here.bank && (await put(of)).lines > 0;
  if (!met) {
    const character = await get(path(name));
    await put(`${of}/character`, now?.person ? { ...character, person: now.person } : character);
  }
  const kept = bank === here.bank ? "It knows all that is remembered here." : `What is said is kept in the bank ${bank}.`;
  if (bank === here.bank) await talk.load();
  else go({ bank });
  notice(`You talk with ${name} from now on. ${kept}`);
  return true;
}

/** The bank to talk in with a character, where this one holds what another remembers; null where it is left as it is. */
function whichBank(name, now) {
  const own = ownBank(name, now);
  return choose(
    `Where do you want to talk with ${name}?`,
    `This bank, ${here.bank}, holds what ${now} remembers. In a bank of its own, ${own}, ${name} knows only what is said ` +
      `there. If you hand this bank over, ${name} takes ${now}'s place and knows everything said here.`,
    [
      ["Talk in a bank of its own", own],
      [`Hand this bank over to ${name}`, here.bank],
      ["Cancel", null],
    ],
  );
}

/** The bank of a character's own: laura/captain-vey, beside laura or laura/ever. */
function ownBank(name, now) {
  const below = (each) => `/${each.toLowerCase().replaceAll(/[\s/]+/g, "-")}`;
  const { bank } = here;
  return (bank.endsWith(below(now)) ? bank.slice(0, -below(now).length) : bank) + below(name);
}

async function saveCard({ name, has_picture: png }) {
  const format = png ? "png" : "json";
  const answer = await ask("GET", path(name, `/card?format=${format}`));
  download(await answer.blob(), `${name.replaceAll(/[^\p{L}\p{N} _-]/gu, "_")}.${format}`);
}

/** Keep a card's character. */
export async function importCard(file) {
  if (file.size > LARGEST)
    throw new Error(
      `${file.name} has ${(file.size / 2 ** 20).toFixed(1)} MB; a card has at most 8. Make its picture smaller.`,
    );
  const type = /\.png$/i.test(file.name) || file.type === "image/png" ? "image/png" : "application/json";
  const character = await post("/characters", file, { type }).catch((error) => {
    error.message = `${file.name}: ${error.message}`;
    throw error;
  });
  tell("characters", character.name);
  notice(`${character.name} is here. Choose “Talk” in the gallery to begin.`);
  return character;
}

/** Whether a file is a character's card, and not conversations. */
export async function isCard(file) {
  if (/\.png$/i.test(file.name)) return true;
  if (!/\.json$/i.test(file.name) || file.size > LARGEST) return false;
  const text = await file.text();
  return /"spec"\s*:\s*"chara_card|"first_mes"\s*:|"char_name"\s*:/.test(text);
}
