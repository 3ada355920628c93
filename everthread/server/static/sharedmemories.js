// Memories that a reply was given from the chats with other characters: quoted, without actions.

import { get } from "./api.js";
import { longDate } from "./dates.js";
import { fill, h } from "./dom.js";
import { quotedText } from "./line.js";
import { t } from "./words.js";

const characters = new Map(); // promises of the names of banks' characters, by the banks' ids

/** A list for each of the other banks. shared: the banks, each with its lines. */
export const sharedMemories = (shared) =>
  shared.map(({ bank, lines }) => [bankHeading(bank), lines.length ? quotes(lines) : h("p", { class: "small" }, t("memory.forgotten_there"))]);

function bankHeading(bank) {
  const heading = h("h2", { dir: "auto" }, t("memory.of_bank", { bank }));
  const named = (name) => fill(heading, t("memory.of_character", { name }));
  characterOf(bank).then(named, () => null); // the id remains
  return heading;
}

function characterOf(bank) {
  if (!characters.has(bank))
    characters.set(
      bank,
      get(`/banks/${encodeURIComponent(bank)}/character`).then(({ nickname, name }) => nickname || name),
    );
  return characters.get(bank);
}

const quotes = (lines) =>
  h(
    "ol",
    { class: "hits" },
    lines.map((line) =>
      h(
        "li",
        { class: "hit" },
        h("header", { class: "byline" }, longDate(line.said_at)),
        h("p", { class: "passage" }, quotedText(line)),
        line.retracted_at && h("p", { class: "small changed" }, t("memory.set_aside")),
      ),
    ),
  );
