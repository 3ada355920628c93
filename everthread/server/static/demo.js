// The demo: a bank with a sample life, three questions, the line that answers each, and a button that forgets it.

import { homeBank } from "./account.js";
import { doubt } from "./answers.js";
import { bankPath, get, hasChats, post, remove, waitForRequests } from "./api.js";
import { demoBank, isDemoBank } from "./banknames.js";
import { dateTime, longDate } from "./dates.js";
import { button, byId, fill, h, textElement } from "./dom.js";
import { arrivingContext } from "./evidence.js";
import { emit, emitForgotten, on } from "./events.js";
import { clearNotice, showNotice, withErrors, withErrorsOf } from "./notices.js";
import { getPref, setPref } from "./prefs.js";
import { hashOf, navigate, route } from "./router.js";
import { language, languages, t } from "./words.js";

const BUDGET_TOKENS = 150; // of recalled lines; only the first is shown
const MAX_NEAR_MISSES = 3;
const SURE_RELEVANCE = 0.3; // as in stores/recall_records.py
const LANGUAGES = ["en", "de", "zh"];

let demo = null;

/** Fill the bank of the demo with the sample life of a language, and go there. */
export async function startDemo(language = preferredLanguage()) {
  const bank = demoBank();
  if (route.bank !== bank) setPref("bankBeforeDemo", route.bank);
  showNotice(t("demo.reading"), { lasting: true });
  try {
    await post(`/banks/${encodeURIComponent(bank)}/sample`, { language });
  } finally {
    clearNotice();
  }
  demo?.close();
  if (route.bank === bank) emit("sessions-changed");
  navigate({ bank });
}

/** Show the demo in place of the chat, if the bank of this address holds a sample life. An empty one is filled with it. */
export async function openDemo() {
  if (route.bank === demoBank() && !(await hasChats([])) && isDemoRoute()) return startDemo();
  const sample = await get(bankPath("/sample")).catch(() => null);
  if (!isDemoRoute() || !sample) return;
  demo ??= new Demo(sample);
  demo.show(true);
}

const isDemoRoute = () => isDemoBank(route.bank) && route.view === "talk";

on("route", () => isDemoRoute() || demo?.show(false));
on("forgotten", (seqs) => demo?.removeLines(seqs));

const preferredLanguage = () => (LANGUAGES.includes(language) ? language : "en");

class Demo {
  constructor(sample) {
    this.expected = sample.questions.map(({ line }) => line); // that its own questions are known to find
    withErrorsOf(this, "ask", "forget", "leave");
    this.log = h("div", { class: "log", role: "log", "aria-label": t("demo.answers") });
    this.box = h(
      "section",
      { id: "demo", class: "scroll", "aria-label": t("demo.title"), tabindex: "0" },
      this.introduction(sample),
      this.log,
    );
    this.footer = h("form", { id: "demo-form", on: { submit: (event) => this.onSubmit(event) } }, this.controls(sample));
    byId("lines").before(this.box, this.footer);
  }

  /** Show the demo and hide the chat, or the reverse. */
  show(shown) {
    byId("chat").classList.toggle("has-demo", shown);
    this.box.hidden = this.footer.hidden = !shown;
    const hidden = ["lines", "composer"].map(byId);
    if (shown && hidden.some((part) => part.contains(document.activeElement))) this.box.focus({ preventScroll: true });
  }

  close() {
    this.show(false);
    this.box.remove();
    this.footer.remove();
    demo = null;
    emit("context", null);
  }

  // ---- drawing

  introduction({ person, lines, first_said_at, last_said_at, questions }) {
    const messages = t("count.messages", { count: lines });
    const values = { messages, person, from: longDate(first_said_at), to: longDate(last_said_at) };
    return h(
      "header",
      { class: "welcome" },
      h("h2", {}, t("demo.life", { person })),
      textElement("p", t("demo.about", values)),
      h(
        "div",
        { class: "chips", role: "group", "aria-label": t("demo.questions") },
        questions.map(({ text }) => button(text, () => this.ask(text), { class: "chip", dir: "auto" })),
      ),
    );
  }

  controls(sample) {
    const field = { id: "demo-question", dir: "auto", autocomplete: "off", maxlength: 500, "aria-label": t("demo.your_question") };
    const others = LANGUAGES.filter((other) => other !== sample.language);
    this.field = h("input", { ...field, placeholder: t("demo.own_question") });
    return [
      h(
        "div",
        { class: "bar" },
        others.map((other) =>
          button(languages[other], withErrors(startDemo.bind(null, other)), { class: "link", lang: other }),
        ),
        button(t("demo.leave"), this.leave, { class: "leave", title: t("demo.leave_hint") }),
      ),
      h("div", { class: "field" }, this.field, h("button", { type: "submit", class: "primary" }, t("demo.ask"))),
    ];
  }

  append(...elements) {
    this.log.append(...elements);
    this.box.scrollTo({ top: this.box.scrollHeight, behavior: "smooth" });
  }

  // ---- asking and forgetting

  onSubmit(event) {
    event.preventDefault();
    const text = this.field.value.trim();
    this.field.value = "";
    if (text) this.ask(text);
  }

  async ask(text, ifNothing) {
    const started = performance.now();
    const context = await post(bankPath("/context"), { query: text, budget: BUDGET_TOKENS });
    const milliseconds = Math.max(1, Math.round(performance.now() - started));
    const hit = context.hits.find(({ line }) => line);
    const question = h("article", { class: "line from-person" }, textElement("div", text, { class: "line-text" }));
    const nothing = ifNothing ? h("p", {}, ifNothing) : hit ? null : await this.nearMisses(text);
    const answer = replyElement(t("demo.time", { milliseconds }), hit ? this.answer(hit, text) : nothing);
    this.append(question, answer);
    const shown = { ...context, hits: hit ? [hit] : [], lines: hit ? hit.passage : [] };
    emit("context", { context: arrivingContext(shown, text), of: null });
    emit("demo-answered");
    return answer;
  }

  /** That nothing answers, and the closest lines. */
  async nearMisses(query) {
    const { items } = await post(bankPath("/recall"), { query, k: MAX_NEAR_MISSES });
    const lines = items.map(({ line }) => line).filter(Boolean);
    return [
      h("p", {}, t(lines.length ? "demo.closest" : "demo.no_memory")),
      h("ul", { class: "near" }, lines.map((line) => h("li", { class: "dim", dir: "auto", "data-seq": line.seq }, line.text))),
    ];
  }

  answer(hit, question) {
    const { line, relevance } = hit;
    const isSure = relevance >= SURE_RELEVANCE || this.expected.includes(line.seq);
    const place = hashOf({ view: "read", session: line.session, seq: line.seq });
    const forget = button(t("demo.forget"), () => this.forget(line, question, forget), { class: "primary" });
    return [
      h("p", { class: "lead" }, doubt(saidOn(line), isSure)),
      h(
        "div",
        { class: "quoted" },
        hit.passage.map((other) =>
          h(
            other.seq === line.seq ? "blockquote" : "p",
            { class: other.seq === line.seq ? "lit" : "dim", dir: "auto", "data-seq": other.seq },
            other.seq !== line.seq && h("b", {}, other.speaker),
            textElement("span", other.text),
          ),
        ),
      ),
      h("div", { class: "bar" }, forget, h("a", { href: place }, t("demo.show"))),
    ];
  }

  /** Forget a line for good, show the receipt in its place, and ask again. */
  async forget(line, question, pressed) {
    pressed.disabled = true;
    const receipt = await remove(bankPath(`/lines/${line.seq}`));
    const articles = this.answersWith(line.seq);
    emitForgotten(receipt);
    for (const article of articles) fill(article, receiptElement(receipt));
    const answer = await this.ask(question, [
      h("p", {}, t("demo.nothing")),
      h("div", { class: "bar" }, button(t("demo.start_own"), this.leave, { class: "primary" })),
    ]);
    for (const chip of this.box.querySelectorAll(".chip")) if (chip.textContent === question) chip.disabled = true;
    answer.focus({ preventScroll: true });
  }

  answersWith(seq) {
    return [...this.log.querySelectorAll(`.lit[data-seq="${seq}"]`)].map((quote) => quote.closest("article"));
  }

  /** Remove forgotten lines from the answers. */
  removeLines(seqs) {
    for (const seq of seqs) {
      for (const article of this.answersWith(seq)) fill(article, h("p", { class: "lead" }, t("demo.forgotten")));
      for (const line of this.log.querySelectorAll(`.dim[data-seq="${seq}"]`)) line.remove();
    }
  }

  /** Go back to where the demo was begun, and delete its bank: in this order, so that nothing more is read from it. */
  async leave() {
    const { bank } = route;
    setPref("known", null);
    this.close();
    await navigate({ bank: getPref("bankBeforeDemo") ?? homeBank() ?? "default" });
    await waitForRequests(bank);
    await remove(bankPath("", bank));
    showNotice(t("demo.deleted"));
  }
}

const saidOn = ({ role, said_at, speaker }) =>
  t(role === "user" ? "demo.you_said" : "answer.other_said", { date: longDate(said_at), speaker });

const replyElement = (time, content) =>
  h(
    "article",
    { class: "line from-character", tabindex: "-1" },
    h("header", { class: "byline" }, h("span", { class: "speaker" }, "Everthread"), h("span", {}, time)),
    h("div", { class: "line-text" }, content),
  );

function receiptElement({ forgotten_at }) {
  const rows = [
    [t("receipt.forgotten"), dateTime(forgotten_at)],
    [t("receipt.removed"), t("demo.removed")],
  ];
  return h(
    "div",
    { class: "receipt" },
    h("h3", {}, t("demo.receipt")),
    h(
      "dl",
      { class: "facts" },
      rows.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]),
    ),
    h("p", { class: "small" }, t("demo.no_word")),
  );
}
