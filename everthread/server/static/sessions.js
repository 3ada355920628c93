// The list of a bank's conversations, which grows as one scrolls.

import { bankPath, get } from "./api.js";
import { avatar } from "./avatars.js";
import { monthName, shortDate } from "./dates.js";
import { byId, h, iconButton, textElement } from "./dom.js";
import { emit, on } from "./events.js";
import { withErrorsOf } from "./notices.js";
import { rerender } from "./rerender.js";
import { hashOf, navigate, route, shownSession } from "./router.js";
import { Search } from "./search.js";
import { SessionFilter, tagsOf } from "./sessionfilter.js";
import { t } from "./words.js";

const SEARCH_DELAY_MS = 200; // after the last key
const MAX_PORTRAITS = 5; // of a group chat
const TITLE_DELAY_MS = 5000; // in which a model writes a title
const FIRST_LINES = 3; // of a conversation that may get a title: a greeting, a message and its reply
const MORE_WITHIN_PX = 600; // of the end of the list

export class SessionList {
  constructor() {
    this.box = byId("session-list");
    this.items = [];
    this.next = null; // the cursor of the next page
    this.current = null; // the id of the running conversation
    withErrorsOf(this, "read", "readMore");
    this.filter = new SessionFilter(() => this.update());
    this.search = new Search(this.box, this.filter);
    this.box.addEventListener("scroll", () => this.onScroll());
    byId("search").addEventListener("submit", (event) => (event.preventDefault(), this.update()));
    byId("query").addEventListener("input", () => this.onInput());
    byId("query").addEventListener("keydown", (event) => event.key === "Escape" && this.clearSearch());
    on("sessions-changed", () => this.read().then(() => this.awaitTitle()));
    on("bank", () => (clearTimeout(this.titleTimer), (this.items = []), this.clearSearch()));
    on("route", () => this.search.query || this.render());
    on("reconnected", () => this.search.query && this.search.start());
    on("state", (state) => ((this.current = state.session), this.search.query || this.render()));
    on("forgotten", () => (clearTimeout(this.titleTimer), this.update()));
    on("month", (month) => ((byId("query").value = ""), this.filter.showMonth(month), emit("view", "sessions")));
  }

  onInput() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.update(), SEARCH_DELAY_MS);
  }

  clearSearch() {
    byId("query").value = "";
    this.render();
  }

  /** Show the search's results, or the list as it is now. */
  update() {
    return this.search.query ? this.search.start() : this.read();
  }

  async read() {
    const path = () => bankPath(`/sessions?${this.filter.query}`);
    const asked = path();
    const page = await get(asked);
    if (asked === path()) this.setItems(page.items, page.next); // else the person wants another list by now
  }

  /** Read the running conversation once more if a model may be writing its title. */
  awaitTitle() {
    clearTimeout(this.titleTimer);
    const current = this.items.find(({ id }) => id === this.current);
    if (!current || current.title || current.model_title || current.lines > FIRST_LINES) return;
    this.titleTimer = setTimeout(() => this.readTitle(current.id).catch(() => {}), TITLE_DELAY_MS); // else at the next change
  }

  async readTitle(id) {
    const session = await get(bankPath(`/sessions/${encodeURIComponent(id)}`));
    if (session.model_title) this.setItems(this.items.map((item) => (item.id === id ? session : item)), this.next);
  }

  async readMore() {
    if (!this.next || this.reading) return;
    this.reading = true;
    const { items } = this;
    const query = this.filter.query;
    query.set("after", this.next);
    const page = await get(bankPath(`/sessions?${query}`)).finally(() => (this.reading = false));
    if (items === this.items) this.setItems([...items, ...page.items], page.next);
  }

  setItems(items, next) {
    Object.assign(this, { items, next });
    this.filter.offerTags(items);
    if (!this.filter.isActive) emit("sessions-loaded", items);
    if (this.search.query) return;
    this.render();
    this.onScroll();
  }

  onScroll() {
    const { scrollTop, scrollHeight, clientHeight } = this.box;
    if (scrollHeight - scrollTop - clientHeight > MORE_WITHIN_PX) return;
    if (this.search.query) this.search.more();
    else this.readMore();
  }

  render() {
    const groups = [];
    for (const session of this.items.filter(({ id }) => id !== this.current)) {
      const name = session.metadata.pinned === true ? t("sessions.pinned") : monthName(session.last_at);
      if (groups.at(-1)?.[0] !== name) groups.push([name, []]);
      groups.at(-1)[1].push(sessionItem(session));
    }
    const hasCurrent = !this.filter.isActive || this.items.some(({ id }) => id === this.current);
    rerender(
      this.box,
      hasCurrent && this.currentChat(),
      groups.map(([name, items]) => [h("h2", { class: "small" }, name), h("ul", {}, items)]),
      !this.items.length && h("p", { class: "empty" }, t(this.filter.isActive ? "sessions.no_match" : "sessions.empty")),
    );
  }

  currentChat() {
    const session = this.items.find(({ id }) => id === this.current);
    const preview = session?.title || session?.model_title || session?.opening;
    const shown = route.view === "talk";
    const place = { session: shownSession() };
    return h(
      "div",
      { class: "session-row", "data-card": "current" },
      h(
        "a",
        { class: "session", href: hashOf(place), on: { click: () => shown && navigate(place) }, ...currentProps(shown) },
        h("span", { class: "current-chat" }, t("sessions.current")),
        session && groupPortraits(session),
        preview && textElement("span", preview, { class: "preview" }),
        session && h("span", { class: "small" }, session.metadata.pinned === true && tag(t("sessions.pinned")), tagsOf(session).map(tag)),
      ),
      session && optionsButton(session),
    );
  }
}

const currentProps = (current) => (current ? { "aria-current": "page" } : {});

const tag = (text) => textElement("span", text, { class: "tag" });

const nameOf = (session) => session.title || session.model_title || session.opening || session.summary || t("sessions.untitled");

function optionsButton(session) {
  const open = () => emit("session-options", session);
  return iconButton("more", t("sessions.options_of", { title: nameOf(session) }), open, { "aria-haspopup": "dialog", title: t("sessions.options") });
}

function sessionItem(session) {
  const href = hashOf({ view: "read", session: session.id });
  const shown = route.view === "read" && route.session === session.id;
  return h(
    "li",
    { class: "session-row", "data-card": session.id },
    h(
      "a",
      { class: "session", href, ...currentProps(shown) },
      groupPortraits(session),
      textElement("span", nameOf(session), { class: "preview" }),
      h("span", { class: "small" }, `${shortDate(session.last_at)} · ${t("count.messages", { count: session.lines })} `, tagsOf(session).map(tag)),
    ),
    optionsButton(session),
  );
}

/** The portraits of a group chat's characters; null for any other chat. */
function groupPortraits({ metadata: { group } }) {
  if (!Array.isArray(group)) return null;
  const names = group.map(({ name }) => String(name));
  return h(
    "span",
    { class: "portraits", role: "img", "aria-label": names.join(", "), title: names.join(", ") },
    names.slice(0, MAX_PORTRAITS).map(avatar),
  );
}
