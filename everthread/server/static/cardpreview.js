// How the first message and the example dialogues of a card read, with the names filled in.

import { fill, h, textElement } from "./dom.js";
import { t } from "./words.js";

const PERSON = t("header.you");
const PLACEHOLDERS = /\{\{(char|user)\}\}|<(char|bot|user)>/gi;
const DIALOGUE_START = /^\s*<START>\s*$/im;
const SPEAKER = /^\s*([^:\n]{1,60}):\s*/;

const fillNames = (text, name) =>
  text.replaceAll(PLACEHOLDERS, (_, braced, pointed) =>
    (braced ?? pointed).toLowerCase() === "user" ? PERSON : name,
  );

/** The messages of one dialogue: [{speaker, text}, …]. A row without a speaker continues the message before it. */
function parseMessages(dialogue, name) {
  const messages = [];
  for (const row of dialogue.split("\n").filter((row) => row.trim())) {
    const speaker = row.match(SPEAKER)?.[1];
    if (speaker === name || speaker === PERSON) messages.push({ speaker, text: row.replace(SPEAKER, "") });
    else if (messages.length) messages.at(-1).text += `\n${row}`;
    else messages.push({ speaker: name, text: row });
  }
  return messages;
}

/** Show a card in a box. */
export function showPreview(box, { name, nickname, greeting, examples }) {
  const shown = nickname || name || "…";
  const dialogues = [`{{char}}: ${greeting}`.trimEnd(), ...examples.split(DIALOGUE_START)]
    .map((dialogue) => parseMessages(fillNames(dialogue, shown), shown))
    .filter((messages) => messages.some(({ text }) => text.trim()));
  if (!dialogues.length) fill(box, h("p", { class: "small" }, t("card.preview_empty")));
  else fill(box, dialogues.map(dialogueElement));
}

const dialogueElement = (messages) =>
  h(
    "div",
    { class: "dialogue" },
    messages.map(({ speaker, text }) =>
      h(
        "p",
        { class: speaker === PERSON ? "from-you" : "from-it" },
        textElement("b", speaker === PERSON ? t("line.you") : speaker, { class: "small" }),
        textElement("span", text),
      ),
    ),
  );
