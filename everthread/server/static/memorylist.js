// All that a bank remembers, by month, newest first.

import { bankPath, get, getAll, lineOfUnit, patch, post, remove } from "./api.js";
import { longDate, monthName } from "./dates.js";
import { button, byId, fill, h, select } from "./dom.js";
import { emit, on } from "./events.js";
import { quotedText } from "./line.js";
import { showNotice, withErrors, withErrorsOf } from "./notices.js";
import { lineChanges, whenLink } from "./replymemories.js";
import { rerender } from "./rerender.js";
import { navigate } from "./router.js";
import { toolbar } from "./toolbar.js";
import { hasText, t } from "./words.js";

const LINES_PER_PAGE = 50;
const SEARCH_DELAY_MS = 200; // after the last key
const MORE_WITHIN_PX = 1_500; // of the end of the list

export class MemoryListPanel {
  constructor(chat) {
    this.chat = chat;
    this.pinned = [];
    this.onChange = () => {};
    withErrorsOf(this, "read", "start", "more");
    this.role = "user";
    const whose = [[this.role, t("line.you")], ["", t("list.everyone")]];
    this.query = h("input", { type: "search", dir: "auto", autocomplete: "off", placeholder: t("list.search"), "aria-label": t("list.search") });
    this.query.addEventListener("input", () => (clearTimeout(this.timer), (this.timer = setTimeout(this.start, SEARCH_DELAY_MS))));
    this.who = select(t("list.who"), whose, this.role, (role) => ((this.role = role || null), this.start()));
    this.total = h("p", { class: "small", role: "status" });
    this.box = h("div");
    byId("panel").addEventListener("scroll", this.more);
    for (const name of ["bank", "sessions-changed"]) on(name, () => ((this.run = null), this.onChange()));
    on("forgotten", (seqs) => (this.change((each) => !seqs.has(each.seq) && each), this.run && this.read()));
    on("corrected", ({ old, line }) => this.change((each) => (each.seq === old ? line : each)));
    on("pins", (lines) => ((this.pinned = lines), this.change()));
  }

  show(panel) {
    fill(panel, this.query, this.who, this.total, this.box);
    if (this.run) this.more();
    else this.read().then(this.start);
  }

  async read() {
    const path = bankPath();
    const [bank, all] = await Promise.all([get(path), getAll(`${path}/units?current=true`)]);
    if (path !== bankPath()) return;
    const units = (this.units = all.filter(isListed).sort(byTime));
    fill(this.total, t("count.messages", { count: bank.lines }), " · ", t("count.units", { count: units.length }));
    this.change((each) => (!each.kind || units.some((unit) => keyOf(unit) === keyOf(each))) && each);
  }

  start() {
    const text = this.query.value;
    const words = wordsOf(text);
    const matches = (memory) => words.every((word) => fold(memory.text).includes(word));
    this.run = { text, matches, units: this.units.filter(matches), shown: [] };
    this.change();
    return this.more();
  }

  async more() {
    const { run } = this;
    const { scrollHeight, scrollTop, clientHeight } = byId("panel");
    const isNear = clientHeight && scrollHeight - scrollTop - clientHeight < MORE_WITHIN_PX;
    if (!run || run.reading || run.before === null || !isNear || !this.box.isConnected) return;
    run.reading = true;
    const body = { text: run.text, where: { role: this.role }, before: run.before, limit: LINES_PER_PAGE };
    const { items, next } = await post(bankPath("/search"), body).finally(() => (run.reading = false));
    if (run !== this.run) return;
    run.before = next;
    const units = run.units.filter((unit) => next === null || byTime(unit, items.at(-1)) <= 0);
    run.units.splice(0, units.length);
    const memories = [...units, ...items].sort(byTime);
    run.shown.push(...memories);
    if (!run.shown.length) this.change();
    else this.draw(this.box, memories);
    await this.more();
  }

  change(update = (each) => each) {
    const { run } = this;
    if (!run) return;
    run.shown = run.shown.map(update).filter(Boolean);
    const drawn = h("div");
    this.draw(drawn, this.pinned.filter(run.matches), t("tab.pinned"));
    this.draw(drawn, run.shown);
    if (run.before === null && !drawn.firstChild) drawn.append(h("p", { class: "empty", role: "status" }, t("search.none")));
    rerender(this.box, [...drawn.children]);
  }

  /** Draw memories under a heading, or unpinned ones by month. */
  draw(box, memories, heading) {
    for (const memory of memories) {
      const pinned = this.chat.pins.has(memory.seq);
      if (pinned && !heading) continue;
      const name = heading ?? monthName(memory.said_at);
      if (box.lastChild?.firstChild.textContent !== name) box.append(h("section", { class: "month" }, h("h2", {}, name), h("ul", { class: "hits" })));
      box.lastChild.lastChild.append(this.card(memory, pinned));
    }
  }

  card(memory, pinned) {
    const { kind } = memory;
    const line = kind ? { ...lineOfUnit(memory), speaker: t(`list.${kind}`) } : memory;
    return h(
      "li",
      { class: "hit", "data-card": keyOf(memory) },
      kind ? sourceButton(memory) : whenLink(line),
      h("div", { class: "passage" }, h("p", { class: "found" }, quotedText(line))),
      toolbar(t("memory.actions"), kind ? this.unitChanges(memory, line) : lineChanges(line, pinned, this.chat), "actions always-visible"),
    );
  }

  unitChanges(unit, line) {
    const path = bankPath(`/units/${unit.kind}/${unit.id}`);
    const replace = (changed) => {
      this.change((each) => (each === unit ? changed : each));
      emit("forgotten", new Set());
    };
    const correct = async () => {
      const { editText } = await import("./dialogs.js");
      const save = async (text) => (replace(await patch(path, { text })), showNotice(t("change.corrected")));
      await editText(t("change.correct"), line.text, t("list.correct_hint"), save, line);
    };
    const forget = async () => {
      const { askForget, showReceipt } = await import("./dialogs.js");
      if (!(await askForget(t("list.forget_question"), t("list.forget_effect"), line))) return;
      const receipt = await remove(path);
      replace(null);
      await showReceipt(receipt);
    };
    return [link(t("memory.correct"), correct), link(t("memory.forget"), forget)];
  }
}

/** Whether a unit is shown among the messages: facts with an attribute have a tab of their own. */
const isListed = ({ kind, metadata }) => hasText(`list.${kind}`) && !(kind === "fact" && metadata.attribute);

const link = (label, act, props) => button(label, withErrors(act), { class: "link", ...props });
const keyOf = ({ kind, id, seq }) => `${kind} ${id ?? seq}`;
const fold = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
const wordsOf = (text) => fold(text).match(/[\p{L}\p{N}]+/gu) ?? [];
const timeOf = ({ said_at }) => Date.parse(said_at) || Date.now();
const byTime = (a, b) => timeOf(b) - timeOf(a);

function sourceButton({ last_seq, said_at }) {
  const open = async () => navigate({ ...(await get(bankPath(`/lines/${last_seq}`))), view: "read" });
  return link(longDate(said_at), open, { title: t("memory.open"), disabled: !last_seq });
}
