// Where the person types. Enter sends, Shift+Enter makes a new line; what is typed survives a reload.

import { on } from "./bus.js";
import { at, button, fill, h } from "./dom.js";
import { here } from "./here.js";
import { draft, keepDraft } from "./prefs.js";

const BACK = "What was set aside stands there again; until you say something new";

export class Compose {
  constructor(talk) {
    this.talk = talk;
    this.field = at("say");
    this.replying = false;
    at("compose").addEventListener("submit", (event) => (event.preventDefault(), this.act()));
    this.field.addEventListener("input", () => this.typed());
    this.field.addEventListener("keydown", (event) => this.key(event));
    on("draft", (text) => this.write(text));
    on("place", () => this.restore());
    on("said", (text) => draft(this.place) === text && keepDraft(this.place, ""));
    on("replying", (replying) => this.turn(replying));
    on("state", (state) => this.state(state));
  }

  get place() {
    return `${here.bank}/${here.session}`;
  }

  key(event) {
    const { key, shiftKey, isComposing } = event;
    if (key === "Enter" && !shiftKey && !isComposing) (event.preventDefault(), this.replying || this.act());
    if ((key === "ArrowLeft" || key === "ArrowRight") && !this.field.value) {
      event.preventDefault();
      this.talk.swipe(key === "ArrowLeft" ? -1 : 1);
    }
  }

  typed() {
    keepDraft(this.place, this.field.value);
    this.field.style.setProperty("height", "auto");
    this.field.style.setProperty("height", `${this.field.scrollHeight + 2}px`);
  }

  write(text, focus = true) {
    this.field.value = text;
    this.typed();
    if (focus) this.field.focus();
  }

  /** Take what is typed from now on. What was typed while the page was being read is there still. */
  begin() {
    const typed = this.field.value;
    this.restore();
    if (typed && !this.restored) this.write(typed);
    this.field.focus();
  }

  /** What was being typed here stands in the field again; unless it was said meanwhile, as the state shows. */
  restore() {
    this.restored = draft(this.place);
    this.write(this.restored, false);
  }

  async act() {
    if (this.replying) return this.talk.stop();
    const text = this.field.value.trim();
    if (!text || this.talk.waiting) return undefined;
    this.write("");
    return this.send(text);
  }

  async send(text) {
    const { place } = this;
    keepDraft(place, text); // until it is taken
    const taken = await this.talk.say(text);
    if (taken) keepDraft(place, place === this.place ? this.field.value : "");
    else if (place === this.place) this.write([text, this.field.value].filter(Boolean).join("\n"));
  }

  /** Send what was sent before the page could take it (early.js). */
  early() {
    const waiting = at("early");
    if (!waiting) return;
    waiting.remove();
    if (here.view === "talk") this.send(waiting.textContent);
    else this.write([waiting.textContent, this.field.value].filter(Boolean).join("\n"));
  }

  turn(replying) {
    this.replying = replying;
    const send = at("send");
    send.textContent = replying ? "Stop" : "Send";
    send.classList.toggle("stop", replying);
    at("pending").hidden = replying;
  }

  /** What can be done, where the talk stands still: answer, undo, and what it cost so far. */
  state({ unanswered, lines, usage, model }) {
    const last = lines.findLast((line) => line.role === "user")?.text;
    if (this.restored && this.restored === last && this.field.value === last) this.write("", false);
    this.restored = null;
    const both = [
      unanswered && button(model ? "Answer this" : "Look it up again", () => this.talk.answer(), { class: "link" }),
      lines.some((line) => line.role === "user") &&
        button("Take back my last line", () => this.talk.undo(), { class: "link" }),
      this.talk.aside && button("Bring it back", () => this.talk.bringBack(), { class: "link", title: BACK }),
    ];
    fill(at("pending"), both);
    fill(at("cost"), cost(usage, model));
  }
}

function cost(usage, model) {
  const total = (usage?.prompt ?? 0) + (usage?.completion ?? 0);
  const parts = [model ?? ""];
  if (total) parts.push(`${total.toLocaleString()} tokens so far${usage.estimated ? ", estimated" : ""}`);
  if (usage?.cost !== null && usage?.cost !== undefined) parts.push(`cost ${usage.cost.toFixed(4)}`);
  const title = total
    ? `${usage.prompt.toLocaleString()} read, ${usage.completion.toLocaleString()} written in this conversation`
    : "";
  return h("span", { title }, parts.filter(Boolean).join(" · "));
}
