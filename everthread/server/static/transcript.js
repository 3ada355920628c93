// The transcript of an earlier conversation, in the chat's place: to read, correct, pin and forget.

import { bankPath, get, getAll, remove } from "./api.js";
import { longDate } from "./dates.js";
import { confirmForget, showReceipt } from "./dialogs.js";
import { button, byId, fill, h, iconButton, textElement } from "./dom.js";
import { emit, on } from "./events.js";
import { dateSeparator, isFromPerson, lineElement } from "./line.js";
import { withErrors } from "./notices.js";
import { navigate, route } from "./router.js";

const LINES_AROUND = 60; // a target line, before the whole conversation is requested

export class TranscriptView {
  constructor(chat) {
    this.chat = chat;
    this.box = byId("lines");
    this.open = withErrors(this.open.bind(this));
    this.forget = withErrors(this.forget.bind(this));
    on("forgotten", () => route.view === "read" && this.open());
    on("corrected", ({ line }) => route.view === "read" && this.open(line.seq));
    on("pins", () => route.view === "read" && this.render());
  }

  /** Show the conversation: the lines around a target, or all of them. */
  async open(seq = route.seq, whole = false) {
    const { session } = route;
    const name = encodeURIComponent(session);
    const lines =
      seq && !whole
        ? (await get(bankPath(`/lines?around=${seq}&limit=${LINES_AROUND}`))).items
        : await getAll(bankPath(`/lines?session=${name}`));
    this.session = await get(bankPath(`/sessions/${name}`)).catch(() => null);
    if (route.view !== "read" || route.session !== session) return;
    Object.assign(this, { lines, seq });
    this.render();
    const target = seq && this.box.querySelector(`[data-seq="${seq}"]`);
    if (target) (target.classList.add("target"), target.scrollIntoView({ block: "center" }));
    else this.box.scrollTop = 0;
  }

  render() {
    if (!this.lines) return;
    const { lines } = this;
    const person = this.chat.state?.character.person ?? "user";
    const parts = lines.map((line, index) => [
      index > 0 && dateSeparator(line, lines[index - 1]),
      lineElement(line, this.actions(line), isFromPerson(line, lines, person)),
    ]);
    const top = this.box.scrollTop;
    fill(this.box, this.header(), parts);
    this.box.scrollTop = top;
  }

  header() {
    const { session, lines } = this;
    const more = session && session.lines > lines.length;
    return h(
      "div",
      { class: "transcript-head" },
      h("p", {}, lines.length ? `Chat from ${longDate(lines[0].said_at)}` : "Nothing is left of this chat."),
      session?.summary && textElement("p", session.summary, { class: "small line-text" }),
      h(
        "div",
        { class: "bar" },
        button("Back to current chat", () => navigate({}), { class: "primary" }),
        more && button("Show the whole chat", () => this.open(this.seq, true)),
        button("Continue this chat", () => navigate({ view: "talk", session: route.session })),
        button("Forget this chat", () => this.forget()),
      ),
    );
  }

  actions(line) {
    const pinned = this.chat.pins.has(line.seq);
    return [
      iconButton("edit", "Correct message", () => this.chat.correctLine(line)),
      iconButton("pin", pinned ? "Unpin message" : "Pin message", () => this.chat.togglePin(line), {
        "aria-pressed": String(pinned),
      }),
      iconButton("forget", "Forget message", () => this.chat.forgetLine(line)),
    ];
  }

  async forget() {
    if (!(await confirmForget(this.chat.stopWarning))) return;
    const proof = await remove(bankPath(`/sessions/${encodeURIComponent(route.session)}`));
    emit("forgotten", new Set(this.lines.map((line) => line.seq)));
    await showReceipt(proof);
    navigate({});
  }
}
