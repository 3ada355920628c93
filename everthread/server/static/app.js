// The page begins here, with the talk: who comes to say something waits for nothing else. Then all that stands beside it
// is read (beside.js), and what was told is handed around.

import { get, inBank, inChat, post, Problem, put, setKey, whoAsks } from "./api.js";
import { on, tell } from "./bus.js";
import { Talk } from "./chat.js";
import { Compose } from "./compose.js";
import { at, button, fill, h, icon, iconButton } from "./dom.js";
import { arrive, go, here } from "./here.js";
import { careful, clear, failed, notice } from "./notices.js";
import { pref, prefer } from "./prefs.js";

const VIEWS = [
  ["sessions", "Conversations", "threads"],
  ["talk", "Talk", "talk"],
  ["memory", "Memory", "memory"],
];

const SHEETS = ["/static/memory.css", "/static/windows.css"]; // how that looks which stands beside the talk

const talk = new Talk();
const compose = new Compose(talk);
let about = null;
let shown = null; // the bank whose conversations and pins are shown
let rest = null; // what stands beside the talk, once it was asked for
let asking = null; // one question for a key, however many want it

/** What stands beside the talk and opens above it. Raises Problem. */
function beside() {
  rest ??= Promise.all([import("./beside.js"), ...SHEETS.map(sheet)]).then(
    ([all]) => (all.columns(talk), all),
    () => {
      rest = null; // to be tried again as soon as the server is there
      throw new Problem({ detail: "The server can't be reached, so the page isn't whole.", type: "urn:everthread:unreachable" });
    },
  );
  return rest;
}

function sheet(href) {
  return new Promise((load, error) => document.head.append(h("link", { rel: "stylesheet", href, on: { load, error } })));
}

whoAsks((why) => (asking ??= enter(why).finally(() => (asking = null))));

async function enter(why) {
  const key = await (await beside()).askKey(why);
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
    const bank = error.status === 403 && here.view === "talk" ? await (await beside()).another() : null;
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
  await lists;
}

/** Show an earlier conversation; who is talked with is told there, too. */
async function read(there) {
  if (!talk.state) await talk.open(there).catch(failed);
  await (await beside()).columns(talk).reading.open();
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
  const [pins, { columns }] = await Promise.all([get(inBank("/pins")), beside()]);
  tell("pins", pins.items);
  await columns(talk).sessions.read();
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
    iconButton("scene", "The scene: who, where, your name", async () => (await beside()).scene(talk)),
    about?.incognito !== false &&
      iconButton("mask", "Incognito: write nothing down", () => hide(!incognito), { "aria-pressed": String(incognito) }),
    button("End", () => talk.end(), { class: "quiet", "aria-label": "End this conversation", disabled: !lines.length }),
  );
});

const showFace = careful(async (name) => {
  at("face").dataset.of = name;
  const { face } = await beside();
  if (at("face").dataset.of !== name) return;
  const box = face(name);
  Object.assign(box, { id: "face" }).dataset.of = name;
  at("face").replaceWith(box);
});

on("characters", () => delete at("face").dataset.of);

const hide = careful(async (on) => {
  const lost = !on && talk.state.lines.some((line) => line.seq < 0);
  talk.take(await post(inChat("/incognito"), { on }));
  if (lost) notice("What was said in incognito is gone: it was never written down.");
});

const opens = (id, act) => at(id).addEventListener("click", careful(async () => act(await beside())));
opens("bank", ({ banks }) => banks());
opens("open-characters", ({ gallery }) => gallery(talk));
opens("open-settings", ({ settings }) => settings(about, talk));
fill(
  at("views"),
  VIEWS.map(([name, label, drawn]) => button([icon(drawn), label], () => view(name), { "data-to": name })),
);

// -------------------------------------------------------------------- begin

on("back", () => (document.documentElement.dataset.ready === undefined ? begin() : ((shown = null), show())));
addEventListener("hashchange", arrive);
addEventListener("keydown", ({ key }) => {
  if (key === "Escape" && here.view === "read" && !document.querySelector("dialog[open]")) go({});
});
const begin = careful(async () => {
  compose.begin();
  const place = show();
  performance.mark("interactive"); // what is typed is taken, and sent as soon as the conversation is read
  const [told] = await Promise.all([get("/about"), place, beside()]);
  about ??= told;
  if (!about.incognito && talk.state) tell("state", talk.state);
  document.documentElement.dataset.ready = "";
});
begin();
