// The entry point. It starts the chat first, so that a message can be sent at once; then it loads the columns beside it
// (lazy.js), and connects the parts of the page.

import { homeBank, ownsBank, setAccount } from "./account.js";
import { bankPath, get, hasKey, put, remove, setKey, setKeyPrompt, waitForRequests } from "./api.js";
import { isDemoBank, withPerson } from "./banknames.js";
import { ChatView } from "./chat.js";
import { Composer } from "./composer.js";
import { acceptDrops, button, byId, fill, h, icon, iconButton, textElement } from "./dom.js";
import { emit, on } from "./events.js";
import { watchFocus } from "./focus.js";
import { mountRibbon, setIncognito } from "./incognito.js";
import { loadColumns, loadDemo, loadImport, loadOverlays } from "./lazy.js";
import { clearNotice, isWaiting, showError, showNotice, withErrors } from "./notices.js";
import { dropOpening, getOpening, getPref, setPref } from "./prefs.js";
import { applyHash, hashOf, navigate, route } from "./router.js";
import { t } from "./words.js";

const SIDES = { sessions: "navigation", memory: "complementary" }; // the columns beside the chat, and their roles
const NARROW = matchMedia("(max-width: 64rem)"); // as in responsive.css
const SESSIONS_PATH = "/sessions?limit=50&archived=false";
const OVERLAYS_DELAY_MS = 1_000; // after the page is complete; then its dialogs are loaded before one is opened

const chat = new ChatView();
const composer = new Composer(chat);
let serverInfo = null;
let shownBank = route.bank;
let listedBank = null; // the bank whose conversations and pins are shown
let sessionsChanged = false; // since they were last read
let transcript = null;
let keyPrompt = null; // a promise; requests that fail at the same time share one prompt

setKeyPrompt(() => (keyPrompt ??= promptForKey().finally(() => (keyPrompt = null))));

async function promptForKey() {
  const [{ askKey, askSignIn }, about] = await Promise.all([loadOverlays(), get("/about")]);
  const account = (about.has_accounts || about.openid) && !hasKey() ? await askSignIn(about) : null;
  if (account) return enter(account);
  const key = await askKey(hasKey());
  if (!key) return false;
  setKey(key);
  readServerInfo().catch(showError); // it contains more with a key
  return true;
}

/** Go on where the person who has signed in owns the bank of this address, or open their own. */
async function enter(account) {
  setAccount(account);
  if (ownsBank(route.bank)) {
    readServerInfo().catch(showError);
    return true;
  }
  setPref("known", null);
  navigate({ bank: homeBank() });
  location.reload();
  return new Promise(() => {}); // the page is left
}

async function readServerInfo() {
  serverInfo = await get("/about");
  setAccount(serverInfo.account);
}

// ---- routes

/** Show the place in the address. A bank that does not exist is created, so that one can talk at once. */
const showRoute = withErrors(async () => {
  try {
    await openRoute();
    setPref("held", route.bank);
    if (!location.hash) history.replaceState(history.state, "", hashOf(route)); // so that Back leads here
  } catch (error) {
    if (error.status !== 403) throw error;
    await readServerInfo();
    if (route.view !== "talk" && ownsBank(route.bank)) throw error;
    const bank = homeBank() ?? (await (await loadOverlays()).findAllowedBank());
    if (bank === null || bank === route.bank) throw error;
    clearNotice();
    navigate({ bank });
  }
});

async function openRoute() {
  byId("composer").hidden = route.view !== "talk";
  if (listedBank !== route.bank) showBank(route.bank);
  showView(history.state?.column ?? "chat");
  const bankReady = ensureBank();
  const lists = listedBank === route.bank ? null : bankReady.then(loadLists).catch(recreateBank).catch(showError);
  if (isDemoBank(route.bank)) bankReady.then(loadDemo).then(({ openDemo }) => openDemo()).catch(showError);
  if (route.view === "read") await openTranscript(bankReady);
  else await chat.open(bankReady).catch(showUnlessForbidden);
  performance.mark("read");
  await lists;
  if (!NARROW.matches || document.body.dataset.view === "memory") emit("column-opened", "memory");
}

/** Show an earlier conversation. The chat's state is read as well: the header shows its character. */
async function openTranscript(bankReady) {
  if (chat.state?.bank !== route.bank) await chat.open(bankReady).catch(showError);
  const { TranscriptView } = await loadOverlays();
  transcript ??= new TranscriptView(chat);
  await transcript.open();
}

/** Show an error, or pass it on if the key is for another bank. */
function showUnlessForbidden(error) {
  if (error.status === 403) throw error;
  showError(error);
}

/** Create a bank that existed at the last visit and has been deleted elsewhere since. */
async function recreateBank(error) {
  if (error.status !== 404 || getPref("known") !== route.bank) throw error;
  setPref("known", null);
  listedBank = null;
  await showRoute();
  clearNotice();
}

async function loadLists() {
  const { bank } = route;
  listedBank = bank;
  sessionsChanged = false;
  const [pins, page] = await Promise.all([get(bankPath("/pins")), get(bankPath(SESSIONS_PATH))]);
  if (bank !== route.bank) return;
  emit("sessions-loaded", page.items);
  const { sessions } = (await loadColumns()).createColumns(chat);
  if (bank !== route.bank) return;
  if (sessionsChanged) await sessions.read();
  else sessions.setItems(page.items, page.next);
  emit("pins", pins.items);
}

/** Create the bank, unless it existed at the last visit. */
async function ensureBank() {
  if (getPref("known") === route.bank) return;
  try {
    const opening = getOpening(route.bank);
    const path = opening && bankPath(`/characters/${encodeURIComponent(opening.name)}`, opening.beside);
    await (path ? put(path).catch(() => put(bankPath())) : put(bankPath()));
    setPref("known", route.bank);
  } catch (error) {
    if (error.status !== 403) throw error; // a read-only key: a later request fails if the bank does not exist
  }
}

/** Where a narrow window shows one column at a time, show this one, as the main one. "Back" returns to it. */
function showView(name) {
  history.replaceState({ ...history.state, column: name }, "");
  document.body.dataset.view = name;
  for (const link of byId("views").children) link.toggleAttribute("aria-current", link.dataset.to === name);
  for (const [id, role] of Object.entries(SIDES)) byId(id).role = NARROW.matches && id === name ? "main" : role;
}

/** Show another column on request, so that "Back" leads to the present one and not away from the page. */
function changeView(name) {
  if (NARROW.matches && name !== document.body.dataset.view) history.pushState(history.state, "");
  showView(name);
}

NARROW.addEventListener("change", () => showView(document.body.dataset.view));
addEventListener("popstate", () => showView(history.state?.column ?? "chat"));

/** Remove the banks that were opened for the characters of the chat that is left, if nothing was said or set in them. */
function leaveBanks(current) {
  const left = [shownBank, ...(chat.state?.group ?? []).map(({ bank }) => bank)];
  for (const bank of new Set(left)) {
    if (bank !== current && getOpening(bank)) removeOpened(bank).catch(() => {}); // it stays then
  }
  shownBank = current;
}

async function removeOpened(bank) {
  await waitForRequests(bank);
  if (bank !== route.bank) await remove(bankPath("/characters", bank));
}

on("bank", leaveBanks);
on("line-stored", () => dropOpening(route.bank));

on("route", showRoute);
on("sessions-changed", () => (sessionsChanged = true));
on(
  "demo-wanted",
  withErrors(async () => (await loadDemo()).startDemo()),
);
on("view", changeView);
on(
  "session-options",
  withErrors(async (session) => (await loadOverlays()).openSessionOptions(session)),
);
on("conversation-ended", (ending) => {
  navigate(newPlace());
  if (!ending.receipt) showNotice(t("header.remembered"));
});

// ---- header

/** Show who talks with whom in the bank, and its id as a hint. */
function showBank(character, person = "") {
  fill(byId("bank"), textElement("b", character), " ", textElement("span", person));
  byId("bank").title = route.bank;
  byId("bank").setAttribute("aria-label", t("header.switch", { character, person }));
}

on("state", ({ character, incognito, lines, model, group }) => {
  const name = character.nickname || character.name;
  showBank(name, withPerson({ id: route.bank, character: character.name, person: character.person }));
  const expand = (text) => (text ?? "").replaceAll("{{char}}", name).replaceAll("{{user}}", character.person ?? t("header.you"));
  document.title = `${name} · Everthread`;
  byId("character-name").textContent = name;
  byId("location").textContent = expand(character.location);
  showModel(model);
  if (byId("avatar").dataset.of !== character.name) showAvatar(character.name);
  fill(
    byId("chat-actions"),
    group.length > 0 &&
      iconButton("people", t("group.participants"), async () => (await loadOverlays()).editParticipants(chat)),
    iconButton("scene", t("header.scene"), async () => (await loadOverlays()).editScene(chat)),
    serverInfo?.incognito !== false &&
      !group.length &&
      iconButton("mask", t("header.incognito"), () => setIncognito(chat, !incognito), {
        "aria-pressed": String(incognito),
      }),
    button(t("header.new_chat"), newChat, { class: "quiet", title: t("header.new_chat_hint"), disabled: !lines.length }),
  );
});

function showModel(model) {
  byId("model").hidden = false;
  const shortName = model?.replace(/:latest$/, "").replace(/^.*\//, ""); // without its maker
  fill(byId("model"), h("span", {}, shortName ?? t("header.no_model")));
  byId("model").title = model ?? "";
  byId("model").setAttribute("aria-label", model ? t("header.change_model", { model }) : t("header.connect"));
}

const showAvatar = withErrors(async (name) => {
  byId("avatar").dataset.of = name;
  const { avatar } = await loadColumns();
  if (byId("avatar").dataset.of !== name) return;
  const box = avatar(name);
  Object.assign(box, { id: "avatar" }).dataset.of = name;
  byId("avatar").replaceWith(box);
});

on("characters", () => delete byId("avatar").dataset.of);

mountRibbon(chat, () => serverInfo?.incognito !== false);

const onClick = (id, act) =>
  byId(id).addEventListener(
    "click",
    withErrors(async () => act(await loadOverlays())),
  );
onClick("bank", ({ openBanks }) => openBanks());
onClick("open-characters", ({ openGallery }) => openGallery(chat));
onClick("model", ({ openModels }) => openModels());
on(
  "models-wanted",
  withErrors(async () => (await loadOverlays()).openModels()),
);
on(
  "model-changed",
  withErrors(async () => {
    await readServerInfo();
    await chat.reload();
  }),
);
onClick("open-settings", ({ openSettings }) => openSettings(serverInfo, chat));
fill(
  byId("views"),
  ["sessions", "chat", "memory"].map((name) => button([icon(name), t(`view.${name}`)], () => (changeView(name), emit("column-opened", name)), { "data-to": name })),
);

/** Skip to where one writes, or to what one reads: an address in the link would name a bank. */
byId("skip").addEventListener("click", (event) => {
  event.preventDefault();
  showView("chat");
  ["demo-question", "message", "lines"].map(byId).find((target) => target?.checkVisibility()).focus();
});

acceptDrops(document.body, (files) => emit("files-chosen", files));
on(
  "files-chosen",
  withErrors(async (files) => {
    const [{ importCards, isCard, refuseCards }, { openImport }] = await Promise.all([loadOverlays(), loadImport()]);
    const chats = [];
    const cards = [];
    for (const file of files) ((await isCard(file)) ? cards : chats).push(file);
    const { names, broken } = await importCards(cards);
    if (chats.length) await openImport(chats, names, broken);
    else refuseCards(broken);
  }),
);

// ---- start

on("reconnected", () => {
  listedBank = null;
  if (document.documentElement.dataset.ready === undefined) start();
  else showRoute();
});
addEventListener("hashchange", applyHash);
addEventListener("keydown", (event) => {
  if (document.querySelector("dialog[open]")) return;
  const act = keyAction(event);
  if (act) (event.preventDefault(), act());
});

/** What a key does anywhere on the page. */
function keyAction({ key, ctrlKey, metaKey, shiftKey, target }) {
  const control = ctrlKey || metaKey;
  if (control && key.toLowerCase() === "k") return () => (changeView("sessions"), byId("query").select());
  if (control && shiftKey && key.toLowerCase() === "o") return newChat;
  if (key === "?" && !control && !target.matches("input, textarea, select")) return showKeys;
  if (key === "Escape" && route.view === "read") return () => navigate({});
  return null;
}

const showKeys = withErrors(async () => (await loadOverlays()).openKeys());

/** Begin another chat; one in incognito ends. */
function newChat() {
  if (chat.state?.incognito) return chat.end();
  navigate(newPlace());
  return byId("message").focus();
}

const newPlace = () => ({ session: new Date().toISOString() });

watchFocus();
const start = withErrors(async () => {
  composer.start();
  const shown = showRoute();
  composer.sendQueued();
  performance.mark("interactive"); // from here on a message that is sent waits for the conversation by itself
  await Promise.all([readServerInfo(), shown, loadColumns()]);
  if (isWaiting()) return; // and starts again
  if (!serverInfo.incognito && chat.state) emit("state", chat.state);
  performance.mark("whole");
  document.documentElement.dataset.ready = "";
  if (history.state?.settings) byId("open-settings").click(); // the language was changed there
  setTimeout(() => loadOverlays().catch(() => {}), OVERLAYS_DELAY_MS); // opening a dialog shows the error
  setTimeout(() => navigator.serviceWorker?.register("/serviceworker.js").catch(() => {}), OVERLAYS_DELAY_MS);
});
start();
