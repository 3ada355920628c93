// The page begins here: its parts are made, and what was told is handed around.

import { get, inBank, inChat, post, put, setKey, whoAsks } from "./api.js";
import { on, tell } from "./bus.js";
import "./away.js";
import { another, banks } from "./banks.js";
import { dropping, face, gallery, importCard } from "./characters.js";
import { Talk } from "./chat.js";
import { Compose } from "./compose.js";
import { askKey } from "./dialogs.js";
import { at, button, fill, icon, iconButton } from "./dom.js";
import { scene } from "./editor.js";
import { arrive, go, here } from "./here.js";
import { MemoryColumn } from "./memory.js";
import { careful, clear, failed, notice } from "./notices.js";
import { pref, prefer } from "./prefs.js";
import { Reading } from "./reading.js";
import { Sessions } from "./sessions.js";
import { settings, take } from "./settings.js";

const VIEWS = [
  ["sessions", "Conversations", "threads"],
  ["talk", "Talk", "talk"],
  ["memory", "Memory", "memory"],
];

let asking = null; // one question for a key, however many want it

whoAsks((why) => {
  asking ??= askKey(why).then(async (key) => {
    if (key) setKey(key);
    asking = null;
    if (key) get("/about").then((told) => (about = told), failed); // more of it is told to whoever has a key
    return Boolean(key);
  });
  return asking;
});

const talk = new Talk();
const reading = new Reading(talk);
const compose = new Compose(talk);
new MemoryColumn(talk);
const sessions = new Sessions();
let about = null;
let shown = null; // the bank whose conversations and pins are shown

// ------------------------------------------------------------------- places

/** Show what the address says. A bank that isn't there yet is made: one can talk at once. */
const show = careful(async () => {
  try {
    await arrived();
    prefer("held", here.bank);
  } catch (error) {
    const bank = error.status === 403 && here.view === "talk" ? await another() : null;
    if (bank === null) throw error;
    clear();
    go({ bank });
  }
});

async function arrived() {
  document.body.dataset.place = here.view;
  at("compose").hidden = here.view !== "talk";
  at("bank").textContent = here.bank;
  at("bank").setAttribute("aria-label", `Bank ${here.bank}: choose another`);
  view("talk");
  await ready();
  const lists = shown === here.bank ? null : readLists().catch(madeAnew).catch(failed);
  if (here.view === "read" && !talk.state) await talk.load().catch(failed);
  if (here.view === "read") await reading.open();
  else await talk.read().catch(unlessForbidden);
  performance.mark("interactive");
  await lists;
}

/** A key may be for another bank; whatever else goes wrong is told. */
function unlessForbidden(error) {
  if (error.status === 403) throw error;
  failed(error);
}

/** A bank that was there the last time and was forgotten since, elsewhere, is made anew. */
async function madeAnew(error) {
  if (error.status !== 404 || pref("known") !== here.bank) throw error;
  prefer("known", null);
  shown = null;
  await show();
  clear();
}

/** What stands in the columns beside the talk. */
async function readLists() {
  shown = here.bank;
  const [pins] = await Promise.all([get(inBank("/pins")), sessions.read()]);
  tell("pins", pins.items);
}

/** See that the bank is there, unless it was there the last time. */
async function ready() {
  if (pref("known") === here.bank) return;
  try {
    await put(inBank());
    prefer("known", here.bank);
  } catch (error) {
    if (error.status !== 403) throw error; // a key that may only read: the bank is there, or it says so by itself
  }
}

function view(name) {
  document.body.dataset.view = name;
  for (const each of at("views").children) each.toggleAttribute("aria-current", each.dataset.to === name);
}

on("place", show);
on("view", view);
on("ended", (ending) => {
  go({});
  if (!ending.receipt) notice("It is remembered. A new conversation begins with what you say next.");
});

// ------------------------------------------------------------------- header

on("state", ({ character, incognito, lines }) => {
  const name = character.nickname || character.name;
  const filled = (text) => (text ?? "").replaceAll("{{char}}", name).replaceAll("{{user}}", character.person ?? "you");
  document.title = `${name} · Everthread`;
  at("who").textContent = name;
  at("where").textContent = filled(character.location);
  if (at("face").dataset.of !== character.name) showFace(character.name);
  at("private").hidden = !incognito;
  fill(
    at("talk-acts"),
    iconButton("scene", "The scene: who, where, your name", () => scene(talk)),
    about?.incognito !== false &&
      iconButton("mask", "Incognito: write nothing down", () => hide(!incognito), { "aria-pressed": String(incognito) }),
    button("End", () => talk.end(), { class: "quiet", "aria-label": "End this conversation", disabled: !lines.length }),
  );
});

function showFace(name) {
  const box = face(name);
  Object.assign(box, { id: "face" }).dataset.of = name;
  at("face").replaceWith(box);
}

on("characters", () => delete at("face").dataset.of);

const hide = careful(async (on) => {
  const lost = !on && talk.state.lines.some((line) => line.seq < 0);
  talk.take(await post(inChat("/incognito"), { on }));
  if (lost) notice("What was said in incognito is gone: it was never written down.");
});

at("bank").addEventListener("click", careful(banks));
at("open-characters").addEventListener(
  "click",
  careful(() => gallery(talk)),
);
at("open-settings").addEventListener(
  "click",
  careful(() => settings(about, talk)),
);
fill(
  at("views"),
  VIEWS.map(([name, label, drawn]) => button([icon(drawn), label], () => view(name), { "data-to": name })),
);

// A card or a file of conversations may be dropped anywhere.
dropping(
  document.body,
  careful(async (files) => {
    for (const file of files) await ((await isCard(file)) ? importCard(file) : take(file));
  }),
);

async function isCard(file) {
  if (/\.png$/i.test(file.name)) return true;
  if (!/\.json$/i.test(file.name) || file.size > 8 << 20) return false;
  const text = await file.text();
  return /"spec"\s*:\s*"chara_card|"first_mes"\s*:|"char_name"\s*:/.test(text);
}

// -------------------------------------------------------------------- begin

on("back", () => (document.documentElement.dataset.ready === undefined ? begin() : ((shown = null), show())));
addEventListener("hashchange", arrive);
addEventListener("keydown", ({ key }) => {
  if (key === "Escape" && here.view === "read" && !document.querySelector("dialog[open]")) go({});
});
const begin = careful(async () => {
  compose.restore(true);
  const [told] = await Promise.all([get("/about"), show()]);
  about ??= told;
  if (!about.incognito && talk.state) tell("state", talk.state);
  document.documentElement.dataset.ready = "";
});
begin();
