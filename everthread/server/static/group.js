// A chat with several characters. Each has a bank of its own, which stores what is said while the character takes part;
// the page shows the chat as the bank in its address has it.

import { chatPath, get, request } from "./api.js";
import { avatar } from "./avatars.js";
import { button, byId, fill, h, textElement } from "./dom.js";
import { on } from "./events.js";
import { othersIn } from "./groupcopies.js";
import { route } from "./router.js";
import { joinList, t } from "./words.js";

const COLOURS = 6; // of names, in group.css
const UNSPACED = /\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Thai}/u;

export class Group {
  constructor(chat) {
    this.chat = chat;
    this.addressee = null; // the name of the character that the person has chosen to answer next
    this.replying = null; // the member whose reply was requested last
    this.bar = h("div", { id: "group", class: "bar", role: "group", "aria-label": t("group.who_answers") });
    byId("follow-ups").after(this.bar);
    this.field = byId("message");
    this.field.addEventListener("input", () => this.render());
    this.field.addEventListener("keydown", (event) => {
      if (event.key === "Tab" && !event.shiftKey && this.completeName()) event.preventDefault();
    });
    for (const name of ["state", "replying"]) on(name, () => this.render());
  }

  get members() {
    return this.chat.state.group;
  }

  /** "Ever and Captain Vey". */
  get title() {
    return joinList(this.members.map(({ name }) => name));
  }

  // ---- who answers

  /** The member that should answer a text: the one chosen, else the first it names, else the longest silent. */
  answererOf(text) {
    return this.memberNamed(this.addressee) ?? this.firstNamedIn(text) ?? this.longestSilent();
  }

  memberNamed(name) {
    return this.members.find((member) => member.name === name);
  }

  firstNamedIn(text) {
    const named = this.members
      .map((member) => ({ member, at: positionOf(member.name, text) }))
      .filter(({ at }) => at >= 0)
      .sort((one, other) => one.at - other.at || other.member.name.length - one.member.name.length);
    return named[0]?.member;
  }

  /** Complete a name that begins with an @ before the cursor. Returns whether there was one. */
  completeName() {
    const end = this.field.selectionStart;
    const [typed, start] = this.field.value.slice(0, end).match(/(?<!\S)@([^@\n]+)$/u) ?? [];
    const begins = ({ name }) => name.length > start.length && name.toLowerCase().startsWith(start.toLowerCase());
    const member = this.chat.isGroup && typed && this.members.find(begins);
    if (!member) return false;
    this.field.setRangeText(`@${member.name} `, end - typed.length, end, "end");
    this.field.dispatchEvent(new Event("input", { bubbles: true }));
    return true;
  }

  longestSilent() {
    const lastOf = ({ name }) => this.chat.state.lines.findLastIndex(({ speaker }) => speaker === name);
    return this.members.reduce((silent, member) => (lastOf(member) < lastOf(silent) ? member : silent));
  }

  /** Choose who answers, or the speaker of the reply that is generated again. Returns the options of the reply, which
   * the others hear. */
  chooseAnswerer(path, text = "") {
    const last = this.chat.state.lines.at(-1);
    this.replying = (path === "/regenerate" && this.memberNamed(last.speaker)) || this.answererOf(text);
    this.addressee = null;
    return { group: this.chat.groupBanks };
  }

  /** Replace a line's text in each bank. A message is answered by who is named in it, else by who answered it before. */
  async edit({ seq, role }, text) {
    const { lines } = this.chat.state;
    const answer = lines[lines.findIndex((line) => line.seq === seq) + 1];
    const body = { seq, text, answer: false, options: { group: this.chat.groupBanks } };
    const response = await request("POST", chatPath("/edit"), { body }).catch((error) => this.chat.onRefused(error));
    if (!response) return false;
    await response.text();
    await this.chat.reload();
    if (role !== "user") return true;
    this.addressee = (this.firstNamedIn(text) ?? this.memberNamed(answer?.speaker))?.name ?? null;
    await this.chat.answer();
    return true;
  }

  /** An API path in the conversation of the member that replies. */
  path(more) {
    return chatPath(more, this.chat.state.session, this.replying?.bank);
  }

  /** Mark in a state that a reply arrives in the bank of another member, if one does. */
  async findReply(state) {
    if (state.lines.at(-1)?.role !== "user" || this.chat.pending) return;
    for (const member of othersIn(state.group)) {
      const other = await get(chatPath("?last=1", state.session, member.bank)).catch(() => null);
      if (other?.replying) Object.assign(this, { replying: member }, (state.replying = true));
    }
  }

  /** Add to a state what answered the person's lines without a model, which the bank of each answerer records. */
  async addAnswers({ model, lines, group, session }) {
    if (model) return;
    for (const { name, bank } of group) {
      const own = bank === route.bank;
      const copies = own ? lines : await get(chatPath(`?last=${lines.length}`, session, bank)).then((other) => other.lines, () => []);
      for (const { said_at, text, answer } of copies) {
        const line = answer && lines.find((each) => each.said_at === said_at && each.text === text && (own || !each.answer));
        if (line) Object.assign(line, { answer: { ...answer, by: name }, ...(!own && { memories: 0 }) });
      }
    }
  }

  // ---- drawing

  /** Show who speaks: the portrait, and the name in the member's colour. */
  decorate(element, { speaker }) {
    const index = this.members.findIndex(({ name }) => name === speaker);
    element.classList.add("in-group", `speaker-${Math.max(0, index) % COLOURS}`);
    element.querySelector(".byline").prepend(avatar(speaker));
  }

  welcome() {
    return h(
      "div",
      { class: "welcome" },
      textElement("p", t("group.new_chat", { names: this.title }), { class: "small" }),
      h("p", { class: "small" }, t("group.memory")),
    );
  }

  render() {
    this.bar.hidden = !this.chat.isGroup;
    if (this.bar.hidden) return;
    byId("character-name").textContent = this.title;
    const next = this.answererOf(this.field.value);
    const choose = (name) => ((this.addressee = this.addressee === name ? null : name), this.render());
    const focused = this.bar.contains(document.activeElement) && document.activeElement.dataset.name;
    fill(
      this.bar,
      this.members.map(({ name }) =>
        button([avatar(name), textElement("span", name)], () => choose(name), {
          class: name === next.name ? "chip next" : "chip",
          "aria-pressed": String(this.addressee === name),
          title: t("group.answers_next", { name }),
          "data-name": name,
        }),
      ),
      this.chat.state.lines.length > 0 &&
        !this.chat.pending &&
        button(t("group.let_answer", { name: this.answererOf("").name }), () => this.chat.answer(), { class: "link", "data-name": "" }),
    );
    if (focused !== false) [...this.bar.children].find((child) => child.dataset.name === focused)?.focus();
  }
}

/** Where a text names someone; -1 if it does not. */
function positionOf(name, text) {
  const escaped = name.replaceAll(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  const word = UNSPACED.test(name) ? escaped : `(?<![\\p{L}\\p{N}_])${escaped}(?![\\p{L}\\p{N}_])`;
  return text.search(new RegExp(word, "iu"));
}
