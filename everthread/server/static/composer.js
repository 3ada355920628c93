// The message box. Enter sends, Shift+Enter starts a new line; unsent text survives a reload.

import { button, byId, fill, h, isEnter } from "./dom.js";
import { emit, on } from "./events.js";
import { showNotice } from "./notices.js";
import { getDraft, saveDraft } from "./prefs.js";
import { route } from "./router.js";
import { nextStarter } from "./welcome.js";
import { t } from "./words.js";

export class Composer {
  constructor(chat) {
    this.chat = chat;
    this.field = byId("message");
    this.replying = false;
    this.unsent = ""; // a message that the server has not accepted yet
    byId("composer").addEventListener("submit", (event) => (event.preventDefault(), this.replying ? this.chat.stop() : this.submit()));
    // The second click of a double click on Send must not stop the reply.
    byId("send").addEventListener("click", (event) => this.replying && event.detail > 1 && event.preventDefault());
    this.field.addEventListener("input", () => this.onInput());
    this.field.addEventListener("keydown", (event) => this.onKey(event));
    on("draft", (text) => this.write(text));
    on("say", (text) => (this.write(text), this.submit()));
    on("route", () => this.restoreDraft());
    on("line-stored", (text) => text === this.unsent && this.onSent());
    on("replying", (replying) => this.setReplying(replying));
    on("state", (state) => this.onState(state));
  }

  get place() {
    return `${route.bank}/${route.session}`;
  }

  onKey(event) {
    const { key } = event;
    if (isEnter(event)) (event.preventDefault(), this.submit());
    if (key === "ArrowUp" && !this.field.value) (event.preventDefault(), this.chat.editLast());
    if ((key === "ArrowLeft" || key === "ArrowRight") && !this.field.value) {
      event.preventDefault();
      this.chat.swipe(key === "ArrowLeft" ? -1 : 1);
    }
  }

  onInput() {
    this.saveDraft();
    this.field.style.setProperty("height", "auto");
    const height = this.field.scrollHeight + 3; // borders and rounding
    this.field.style.setProperty("height", `${height}px`);
  }

  /** Save what a reload would lose. */
  saveDraft() {
    saveDraft(this.place, [this.unsent, this.field.value].filter(Boolean).join("\n"));
  }

  onSent() {
    this.unsent = "";
    this.saveDraft();
  }

  write(text, focus = true) {
    this.field.value = text;
    this.onInput();
    if (focus) this.field.focus();
  }

  /** Show the draft, unless something was typed while the page was loading. */
  start() {
    const typed = this.field.value;
    this.restoreDraft();
    if (typed && !this.restored) this.write(typed);
    this.field.focus();
  }

  /** Show the draft of this place. If its text turns out to have been sent, `onState` removes it. */
  restoreDraft() {
    this.unsent = "";
    this.restored = getDraft(this.place);
    this.write(this.restored, false);
  }

  submit() {
    const text = this.field.value.trim();
    if (!text) return undefined;
    if (this.chat.queued) return showNotice(t("composer.wait"));
    if (this.replying) showNotice(t("composer.queued"));
    this.write("");
    return this.send(text);
  }

  async send(text) {
    const { place } = this;
    this.unsent = text;
    this.saveDraft();
    const accepted = await this.chat.send(text);
    if (place !== this.place) return void (accepted && saveDraft(place, getDraft(place).replace(text, "").trimStart()));
    if (this.unsent !== text) return; // it was stored, or is in the draft that was restored
    if (accepted) this.onSent();
    else ((this.unsent = ""), this.write([text, this.field.value].filter(Boolean).join("\n")));
  }

  /** Send the message that was submitted before the page was loaded (prehydrate.js). */
  sendQueued() {
    const queued = byId("queued");
    if (!queued) return;
    queued.remove();
    if (route.view === "talk") this.send(queued.textContent);
    else this.write([queued.textContent, this.field.value].filter(Boolean).join("\n"));
  }

  setReplying(replying) {
    this.replying = replying;
    const send = byId("send");
    send.textContent = replying ? t("composer.stop") : t("index.send");
    send.classList.toggle("stop", replying);
    byId("follow-ups").hidden = replying;
  }

  /** Show what can be done next, and the tokens used so far. */
  onState({ unanswered, lines, usage, group, model }) {
    const last = lines.findLast((line) => line.role === "user")?.text;
    if (this.restored && this.restored === last && this.field.value === last) this.write("", false);
    this.restored = null;
    const next = nextStarter(last, model);
    const alone = !group.length;
    const answer = lines.at(-1)?.answer;
    fill(
      byId("follow-ups"),
      next && alone && button(next, () => emit("say", next), { class: "link" }),
      alone && unanswered && !(model ? answer?.line : answer) && button(t("composer.retry"), () => this.chat.answer(), { class: "link" }),
      lines.some((line) => line.role === "user") && button(t("composer.undo"), () => this.chat.undo(), { class: "link" }),
      alone && lines.length > 0 && button(t("composer.end"), () => this.chat.end(), { class: "link", title: t("composer.end_hint") }),
      this.chat.discarded &&
        button(t("composer.restore"), () => this.chat.restore(), { class: "link", title: t("composer.restore_hint") }),
    );
    fill(byId("usage"), usageLine(usage));
  }
}

function usageLine(usage) {
  const total = (usage?.prompt ?? 0) + (usage?.completion ?? 0);
  const parts = [];
  if (total) parts.push(t(usage.estimated ? "composer.tokens_estimated" : "composer.tokens", { count: total }));
  if (usage?.cost !== null && usage?.cost !== undefined) parts.push(t("composer.cost", { cost: usage.cost.toFixed(4) }));
  const title = total ? t("composer.token_kinds", { prompt: usage.prompt, completion: usage.completion }) : "";
  return h("span", { title }, parts.join(" · "));
}
