// The page begins here, with the talk: who comes to say something waits for nothing else. Then all that stands beside it
// is read (later.js), and what was told is handed around.

import { get, inBank, put, setKey, whoAsks } from "./api.js";
import { on, tell } from "./bus.js";
import { Talk } from "./chat.js";
import { Compose } from "./compose.js";
import { at, button, dropping, fill, icon, iconButton } from "./dom.js";
import { arrive, go, here } from "./here.js";
import { hide, ribbon } from "./incognito.js";
import { columns, windows } from "./later.js";
import { careful, clear, failed, notice } from "./notices.js";
import { pref, prefer } from "./prefs.js";

const VIEWS = [
  ["sessions", "Conversations", "threads"],
  ["talk", "Talk", "talk"],
  ["memory", "Memory", "memory"],
];

const LISTED = "/sessions?limit=50";
const REST = 1_000; // milliseconds after which a page that is there reads its windows, before anyone opens one

const talk = new Talk();
const compose = new Compose(talk);
let about = null;
let shown = null; // the bank whose conversations and pins are shown
let outdated = false; // whether something was said since they were read
let reading = null; // what shows earlier conversations, once one was opened
let asking = null; // one question for a key, however many want it

whoAsks((why) => (asking ??= enter(why).finally(() => (asking = null))));

async function enter(why) {
  const key = await (await windows()).askKey(why);
  if (!key) return false;
  setKey(key);
  get("/about").then((told) => (about = told), failed); // more of it is told to whoever has a key
  return true;
}

// ------------------------------------------------------------------- places

/** Show what the address says. A bank that isn't there yet is made: one can talk at once. */
const show = careful(async () => {
  try {
    await arrived();
    prefer("held", here.bank);
  } catch (error) {
    const bank = error.status === 403 && here.view === "talk" ? await (await windows()).another() : null;
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
  const there = ready();
  const lists = shown === here.bank ? null : there.then(readLists).catch(madeAnew).catch(failed);
  if (here.view === "read") await read(there);
  else await talk.open(there).catch(unlessForbidden);
  performance.mark("read");
  await lists;
}

/** Show an earlier conversation; who is talked with is told there, too. */
async function read(there) {
  if (!talk.state) await talk.open(there).catch(failed);
  const { Reading } = await windows();
  reading ??= new Reading(talk);
  await reading.open();
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
  const { bank } = here;
  shown = bank;
  outdated = false;
  const [pins, listed] = await Promise.all([get(inBank("/pins")), get(inBank(LISTED))]);
  if (bank !== here.bank) return;
  tell("listed", listed.items);
  const { sessions } = (await columns()).beside(talk);
  if (bank !== here.bank) return;
  if (outdated) await sessions.read();
  else sessions.take(listed.items, listed.next);
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
on("sessions", () => (outdated = true));
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
  fill(
    at("talk-acts"),
    iconButton("scene", "The scene: who, where, your name", async () => (await windows()).scene(talk)),
    about?.incognito !== false &&
      iconButton("mask", "Incognito: write nothing down", () => hide(talk, !incognito), { "aria-pressed": String(incognito) }),
    button("End", () => talk.end(), { class: "quiet", "aria-label": "End this conversation", disabled: !lines.length }),
  );
});

const showFace = careful(async (name) => {
  at("face").dataset.of = name;
  const { face } = await columns();
  if (at("face").dataset.of !== name) return;
  const box = face(name);
  Object.assign(box, { id: "face" }).dataset.of = name;
  at("face").replaceWith(box);
});

on("characters", () => delete at("face").dataset.of);

ribbon(talk, () => about?.incognito !== false);

const opens = (id, act) => at(id).addEventListener("click", careful(async () => act(await windows())));
opens("bank", ({ banks }) => banks());
opens("open-characters", ({ gallery }) => gallery(talk));
opens("open-settings", ({ settings }) => settings(about, talk));
fill(
  at("views"),
  VIEWS.map(([name, label, drawn]) => button([icon(drawn), label], () => view(name), { "data-to": name })),
);

// A card or a file of conversations may be dropped anywhere.
dropping(
  document.body,
  careful(async (files) => {
    const { importCard, isCard, take } = await windows();
    for (const file of files) await ((await isCard(file)) ? importCard(file) : take(file));
  }),
);

// -------------------------------------------------------------------- begin

on("back", () => {
  shown = null;
  if (document.documentElement.dataset.ready === undefined) begin();
  else show();
});
addEventListener("hashchange", arrive);
addEventListener("keydown", ({ key }) => {
  if (key === "Escape" && here.view === "read" && !document.querySelector("dialog[open]")) go({});
});
const begin = careful(async () => {
  compose.begin();
  const place = show();
  compose.early();
  performance.mark("interactive"); // what is typed is taken, and what is sent waits for the conversation by itself
  const [told] = await Promise.all([get("/about"), place, columns()]);
  about ??= told;
  if (!about.incognito && talk.state) tell("state", talk.state);
  performance.mark("whole");
  document.documentElement.dataset.ready = "";
  setTimeout(() => windows().catch(() => {}), REST); // whoever opens one is told of what goes wrong
});
begin();
