// The transcript of an earlier conversation, in the chat's place: to read, correct, pin and forget.

import { storedAnswer, withQuoted } from "./answers.js";
import { bankPath, get } from "./api.js";
import { longDate } from "./dates.js";
import { showReceipt } from "./dialogs.js";
import { button, byId, h, textElement } from "./dom.js";
import { emitForgotten, on } from "./events.js";
import { forgetChat } from "./groupcopies.js";
import { dateSeparator, lineButton, lineElement, memoriesButton, personTest, pinButton } from "./line.js";
import { withErrorsOf } from "./notices.js";
import { ElementCache, reconcile } from "./rerender.js";
import { navigate, route } from "./router.js";
import { t } from "./words.js";

const LINES_AROUND = 80; // the line at which the reader arrives
const SUMMARY_ROW = /^- (\d{1,2} [A-Z][a-z]+ \d{4}): (.*)$/;
const MORE_LINES = 200; // around the first or the last line that is shown, when the reader comes near it

export class TranscriptView {
  constructor(chat) {
    this.chat = chat;
    this.box = byId("lines");
    this.elements = new ElementCache(); // by seq or name
    withErrorsOf(this, "open", "extend", "update", "forget");
    on("forgotten", (seqs) => {
      const left = (line) => (seqs.has(line.seq) ? null : line);
      this.update((lines) => withQuoted(lines.filter(left), left));
    });
    on("corrected", ({ old, line }) => {
      const corrected = (each) => (each.seq === old ? { ...line, answer: each.answer } : each);
      this.update((lines) => withQuoted(lines.map(corrected), corrected));
    });
    on("pins", () => this.render());
  }

  /** Show the conversation at the line where the reader left it, at the line in the address, or at its beginning. */
  async open() {
    const { session, seq, top } = route;
    const [info, lines] = await Promise.all([readSession(session), readFrom(session, top ?? seq)]);
    if (route.view !== "read" || route.session !== session) return;
    Object.assign(this, { session: info, lines, complete: new Set() });
    this.elements.clear();
    this.box.replaceChildren();
    this.render();
    const target = this.elementOf(top) ?? this.elementOf(seq) ?? this.box.firstElementChild;
    this.chat.follower.arrive(target, this.extend);
    if (!top && seq) target.scrollIntoView({ block: "center" });
  }

  /** Read and draw more lines before the first or after the last one. */
  async extend(side) {
    if (route.view !== "read" || this.complete.has(side) || this.extending || !this.lines.length) return;
    this.extending = true;
    const { lines } = this;
    const edge = lines.at(side === "start" ? 0 : -1);
    const around = await readAround(edge.seq, MORE_LINES).finally(() => (this.extending = false));
    if (lines !== this.lines || route.view !== "read") return;
    const index = around.findIndex((line) => line.seq === edge.seq);
    const more = side === "start" ? around.slice(0, index) : around.slice(index + 1);
    if (!more.length) this.complete.add(side);
    this.lines = side === "start" ? [...more, ...lines] : [...lines, ...more];
    this.chat.follower.keepPlace(() => this.render());
    this.chat.follower.onScroll(); // the reader may have gone to the other end while these were being read
  }

  /** Show changed lines, and what the change has made of the summary. */
  async update(change) {
    if (route.view !== "read") return;
    this.lines = change(this.lines);
    this.render();
    if (this.lines.length) this.session = await readSession(route.session);
    this.render();
  }

  render() {
    if (!this.lines || route.view !== "read") return;
    const { lines, elements } = this;
    const isFromPerson = personTest(lines, this.chat.state?.person_names ?? ["user"]);
    const parts = lines.flatMap((line, index) => {
      const fromPerson = isFromPerson(line);
      const draw = () => this.lineElement(line, fromPerson);
      return [
        index > 0 && dateSeparator(line, lines[index - 1], elements),
        elements.get(line.seq, [line, fromPerson, this.chat.pins.has(line.seq)], draw),
        line.answer &&
          lines[index + 1]?.role !== "assistant" &&
          elements.get(`answer to ${line.seq}`, line.answer, () => storedAnswer(line, this.chat)),
      ];
    });
    const head = elements.get("head", [this.session, lines[0]?.said_at], () => this.header());
    reconcile(this.box, [head, ...parts.filter(Boolean)], this.box);
  }

  lineElement(line, fromPerson) {
    const element = lineElement(line, this.actions(line), fromPerson);
    element.classList.toggle("target", line.seq === route.seq);
    return element;
  }

  elementOf(seq) {
    return seq && this.box.querySelector(`[data-seq="${seq}"]`);
  }

  header() {
    const { session, lines } = this;
    const date = session?.started_at ?? lines[0]?.said_at;
    const title = session?.title ?? session?.model_title;
    const from = lines.length ? t("transcript.from", { date: longDate(lines[0].undated ? null : date) }) : t("transcript.nothing");
    return h(
      "div",
      { class: "transcript-head" },
      textElement("p", title || from),
      title && h("p", { class: "small" }, from),
      session?.summary && h("ul", { class: "small summary" }, summaryRows(session.summary, date)),
      h(
        "div",
        { class: "bar" },
        button(t("transcript.back"), () => navigate({}), { class: "primary" }),
        button(t("transcript.continue"), () => navigate({ view: "talk", session: route.session })),
        button(t("transcript.forget"), () => this.forget()),
      ),
    );
  }

  actions(line) {
    return [
      (line.memories ?? this.isHeard(line)) > 0 && !line.answer && memoriesButton(line, this.chat, this.promptOf(line), true),
      lineButton(line, "edit", t("transcript.correct"), () => this.chat.correctLine(line)),
      pinButton(line, t("transcript.pin"), this.chat),
      lineButton(line, "forget", t("line.forget"), () => this.chat.forgetLine(line)),
    ];
  }

  /** Whether a line without memories of its own may be another character's reply. */
  isHeard(line) {
    return Boolean(line.role === "assistant" && this.session?.metadata.heard_by && this.promptOf(line));
  }

  promptOf(line) {
    return this.lines.slice(0, this.lines.indexOf(line)).findLast((other) => other.role === "user");
  }

  async forget() {
    const proof = await forgetChat(this.session ?? { id: route.session, metadata: {} }, this.chat.stopWarning);
    if (!proof) return;
    emitForgotten(proof);
    await showReceipt(proof);
    navigate({});
  }
}

/** The rows of a summary ("- 6 May 2024: …"), each with its date in the page's language where that changes. */
function summaryRows(summary, date) {
  let shown = longDate(date);
  return summary.split("\n").map((row) => {
    const [, day, text] = row.match(SUMMARY_ROW) ?? [row, "", row];
    const name = Number.isNaN(Date.parse(day)) ? shown : longDate(`${day} 12:00`);
    const changes = name !== shown;
    shown = name;
    return textElement("li", changes ? `${name}: ${text}` : text);
  });
}

const readSession = (session) => get(bankPath(`/sessions/${encodeURIComponent(session)}`)).catch(() => null);

const readAround = async (seq, count) => (await get(bankPath(`/lines?around=${seq}&limit=${count}`))).items;

/** The lines around one, or the first lines of a conversation if there is no such line. */
async function readFrom(session, seq) {
  try {
    if (seq) return await readAround(seq, LINES_AROUND);
  } catch (error) {
    if (error.status !== 404) throw error;
  }
  const { items } = await get(bankPath(`/lines?session=${encodeURIComponent(session)}&limit=1`));
  return items.length ? readAround(items[0].seq, LINES_AROUND) : [];
}
