// The conversation that runs: what was said, the reply that arrives, and all that can be done about both.

import { ask, events, get, inBank, inChat, post, Problem, put, remove } from "./api.js";
import { on, tell } from "./bus.js";
import { at, button, h, said } from "./dom.js";
import { conversation, here } from "./here.js";
import { windows } from "./later.js";
import { acts, dayBefore, editing, growing, lineElement, swipes, unfold } from "./line.js";
import { careful, clear, failed, notice, speak } from "./notices.js";
import { keepUnwritten, options, unwritten } from "./prefs.js";
import { Following } from "./scroll.js";
import { connect, welcome } from "./welcome.js";

const ASIDE = "When it is saved, what came after it is set aside. It can be brought back until you say something new.";
const LOST = "When it is saved, what came after it is gone: nothing of it was written down.";
const ANSWERS = "You can also type yes or no. If you say something else, the conversation goes on.";
const UNCLEAR = "Please answer yes or no, or go on talking.";
const BROKEN = "The connection broke. As soon as the server is there again, you see what came of the reply.";

export class Talk {
  constructor() {
    this.box = at("lines");
    this.following = new Following(this.box);
    this.state = null;
    this.contexts = new Map(); // what was remembered for a reply, by its seq
    this.pins = new Set();
    this.shown = null; // what is shown in place of a reply where no model speaks; it is not kept
    this.inspected = null;
    this.arriving = null; // the reply that is on its way
    this.opened = null; // a promise that the conversation is read
    this.waiting = null; // the line that was said before that
    this.unclear = false; // whether the answer to a question was no clear one
    this.aside = null; // the last line of what was set aside: {session, seq}
    this.drawn = new Map(); // the elements of lines, by seq, each with what it shows
    this.knows = null; // whether anything was ever said in this bank; null until that is known
    for (const name of [
      "load",
      "lookAgain",
      "regenerate",
      "answer",
      "undo",
      "stop",
      "pin",
      "forget",
      "edit",
      "branch",
      "swipe",
      "bringBack",
      "end",
      "parted",
    ]) {
      this[name] = careful(this[name].bind(this));
    }
    on("forgotten", (seqs) => this.without(seqs));
    on("corrected", () => here.view === "talk" && this.load());
    on("listed", (sessions) => ((this.knows = sessions.length > 0), this.render()));
    on("bank", () => (this.knows = null));
    on("place", () => (this.waiting = null));
    on("named", () => this.load());
    window.addEventListener("focus", this.lookAgain);
    on("back", () => this.shown?.label && (this.shown = null));
    on("pins", (lines) => ((this.pins = new Set(lines.map((line) => line.seq))), this.render()));
  }

  get model() {
    return this.state?.model ?? null;
  }

  /** Whether the person takes it that nothing said here is written, be it so or not: the server refuses it if not. */
  get unwritten() {
    return unwritten(here.bank).includes(conversation());
  }

  // ------------------------------------------------------------------ state

  /** Read the conversation as it stands; a reply that runs is followed. */
  load() {
    return this.open();
  }

  /** The same, once its bank is there, for whoever wants to know what goes wrong. What is said meanwhile waits. */
  async open(there = Promise.resolve()) {
    this.opened = there.then(() => this.read());
    const state = await this.opened;
    if (state?.replying && !this.arriving) await this.attach();
  }

  /** See what was said elsewhere, in another tab for instance, by whoever comes back to this one. */
  async lookAgain() {
    if (!this.state || this.arriving || this.waiting || here.view !== "talk") return;
    const known = ({ session, incognito, lines }) => JSON.stringify([session, incognito, lines.map((line) => line.seq)]);
    const state = await standing();
    if (this.arriving || this.waiting || here.view !== "talk" || known(state) === known(this.state)) return;
    if (state.replying) await this.attach();
    else this.take(state);
    this.following.toEnd();
  }

  /** The conversation's state; null where the reader went elsewhere. */
  async read() {
    const place = spot();
    const { view } = here;
    const state = await standing();
    if (place !== spot() || here.view !== view) return null;
    if (view === "talk" && this.place !== place) this.arrived(place);
    this.take(state); // whom one talks with is told beside an earlier conversation, too
    return view === "talk" ? state : null;
  }

  arrived(place) {
    this.place = place;
    this.contexts.clear();
    this.drawn.clear();
    this.shown = this.inspected = null;
    this.box.replaceChildren();
    this.following.toEnd();
    tell("context", null);
  }

  take(state) {
    this.state = state;
    if (state.incognito && !this.unwritten) keepUnwritten(here.bank, [...unwritten(here.bank), conversation()]);
    if (this.aside?.session !== state.session) this.aside = null;
    for (const line of state.lines) this.saidAgain(line);
    if (this.inspected && !state.lines.some((line) => line.seq === this.inspected)) {
      this.inspected = null;
      tell("context", null);
    }
    this.render();
    tell("state", state);
  }

  /** What is said in this bank may be written from now on: the person wants it so. */
  openly() {
    keepUnwritten(here.bank, []);
  }

  /** Tell what parts of the page have missed that were made only now. */
  tellAgain() {
    if (!this.state) return;
    const context = this.arriving?.context ?? this.contexts.get(this.inspected);
    tell("state", this.state);
    if (context) tell("context", { context, of: this.inspected });
  }

  async attach() {
    this.arriving = { element: null, text: null, context: null, mine: null }; // so nothing is said meanwhile
    const answer = await ask("GET", inChat("/stream")).catch((error) => {
      this.arriving = null;
      if (error.status === 404) return null; // it ended meanwhile
      throw error;
    });
    if (answer) await this.follow(answer);
    else this.take(await standing());
  }

  // ---------------------------------------------------------------- talking

  /** Say something. What couldn't be said is handed back, to stand where it was typed. */
  async say(text) {
    const speaker = this.state?.character.person ?? "user";
    const mine = lineElement({ seq: 0, role: "user", speaker, text, said_at: new Date().toISOString(), metadata: {} });
    mine.classList.add("sending");
    this.box.querySelector(".welcome")?.remove();
    this.waiting = mine;
    this.append(mine);
    this.following.toEnd();
    const there = await this.there();
    const { shown, aside } = this;
    this.waiting = this.shown = this.aside = null;
    const taken = there && (await this.stream("/reply", { text }, mine));
    if (!taken) (mine.remove(), Object.assign(this, { shown, aside }));
    this.render();
    return taken;
  }

  /** Whether the conversation of this place is read, so that something can be said in it. */
  async there() {
    const place = spot();
    try {
      await this.opened.catch(() => this.read()); // which may succeed this time
      return place === spot();
    } catch (error) {
      failed(error);
      return false;
    }
  }

  regenerate() {
    return this.stream("/regenerate", {});
  }

  answer() {
    return this.stream("/answer", {});
  }

  async edit(line) {
    const element = this.element(line.seq);
    const after = this.state.lines.at(-1).seq !== line.seq;
    const text = await editing(element, line, after && (this.state.incognito ? LOST : ASIDE));
    if (text === null) return;
    const before = this.state.lines.at(-1);
    const { aside } = this;
    if (before.seq !== line.seq) this.setAside(before);
    if (!(await this.stream("/edit", { seq: line.seq, text }))) this.aside = aside;
  }

  /** Ask for a reply, and follow it. Whether it was taken on. */
  async stream(path, body, mine = null) {
    if (this.arriving) return false;
    clear();
    this.arriving = { element: null, text: null, context: null, mine };
    tell("replying", true);
    try {
      const answer = await ask("POST", inChat(path), { body: { ...body, options: options(), incognito: this.unwritten } });
      return await this.follow(answer, mine);
    } catch (error) {
      mine?.remove();
      failed(error);
      if (error.kind === "not-incognito") this.take(await standing());
      return false;
    } finally {
      this.arriving = null;
      tell("replying", false);
    }
  }

  /** Show a reply as it arrives. Whether what was said is kept. */
  async follow(answer, mine = null) {
    const place = this.place;
    const reply = growing(this.state.character.nickname || this.state.character.name);
    this.arriving = { ...reply, context: null, done: null, problem: null, mine };
    tell("replying", true);
    this.render();
    try {
      for await (const [name, data] of events(answer)) {
        if (place !== this.place) return true; // the reader went elsewhere; the reply goes on
        await this.event(name, data);
      }
    } catch (error) {
      if (error.name !== "AbortError")
        this.arriving.problem = { detail: BROKEN, type: "urn:everthread:unreachable" };
    }
    const kept = this.arriving.mine === null;
    await this.ended(place);
    return kept;
  }

  async event(name, data) {
    const now = this.arriving;
    if (name === "line") await this.kept(data.line);
    else if (name === "context") ((now.context = data), tell("context", { context: data, of: null }));
    else if (name === "piece") (now.text.appendData(data.text), this.following.grown());
    else if (name === "question") Object.assign(now, { asked: data, unclear: now.mine !== null, mine: null });
    else if (name === "ended") Object.assign(now, { ending: data, mine: null });
    else if (name === "done") now.done = data;
    else if (name === "error") now.problem = data;
  }

  /** What the person said is kept: it stands behind the line that it answers, which may be a greeting kept just now. In
   * incognito no line tells which one it answers. */
  async kept(line) {
    const { lines } = this.state;
    const place = lines.findIndex((each) => each.seq === line.parent);
    const first = line.parent === null && line.seq > 0;
    const before = place < 0 && !first ? await this.before(line) : lines.slice(0, place + 1);
    this.arriving.mine = null;
    if (spot() !== this.place) return; // the reader went elsewhere meanwhile
    this.state = { ...this.state, lines: [...before, line], swipes: [] };
    tell("said", line.text);
    this.render();
  }

  async before(line) {
    const { lines } = await standing().catch(() => this.state); // what is said is kept all the same
    const place = lines.findIndex((each) => each.seq === line.seq);
    return place < 0 ? lines : lines.slice(0, place);
  }

  /** The reply is there, or as much of it as came. */
  async ended(place) {
    const { done, context, problem, text, asked, unclear, ending } = this.arriving;
    if (done?.line) unfold(done.line); // all of it was seen as it came
    if (done?.line && context) this.remembered(done.line.seq, context);
    this.shown = done && !done.line && done.text && !asked && !ending ? { text: done.text, labelled: done.labelled, context } : null;
    speak(done?.text ?? text.data);
    const state = await standing().catch((error) => (failed(error), this.as(done?.line)));
    if (problem?.detail === BROKEN && text.data) this.shown = { text: text.data, label: "This much of it came.", context };
    this.arriving = null;
    tell("replying", false);
    if (place !== this.place) return;
    if (ending) return void this.parted(ending);
    this.unclear = unclear ?? false;
    this.take(state);
    if (done?.line && context) this.look(done.line.seq, context);
    if (problem) failed(new Problem(problem));
    else if (done?.refused) notice("The model declined to answer. Say it otherwise, or ask for another reply.");
    tell("sessions");
  }

  /** The state with this reply in it, as it must be by now. */
  as(line) {
    const { state } = this;
    if (!line || state.lines.some((each) => each.seq === line.seq)) return state;
    const place = state.lines.findIndex((each) => each.seq === line.parent);
    return { ...state, lines: [...(place < 0 ? state.lines : state.lines.slice(0, place + 1)), line] };
  }

  remembered(seq, context) {
    this.contexts.set(seq, context);
    if (this.contexts.size > 200) this.contexts.delete(this.contexts.keys().next().value);
  }

  // ------------------------------------------------------- going back and on

  async stop() {
    await post(inChat("/stop"));
  }

  async undo() {
    const last = this.state.lines.findLast((line) => line.role === "user");
    const state = await post(inChat("/undo"));
    this.shown = null;
    this.setAside(this.state.lines.at(-1));
    this.take(state);
    const field = at("say");
    if (last && !field.value) tell("draft", last.text);
  }

  async branch(line) {
    const state = await post(inChat("/branch"), { seq: line.seq });
    this.setAside(this.state.lines.at(-1));
    this.take(state);
  }

  /** Remember where the talk stood before all after a line was set aside: there it can be gone back to. */
  setAside(line) {
    this.aside = line.seq > 0 ? { session: line.session, seq: line.seq } : null;
  }

  /** Bring back what was set aside; where something else was said meanwhile, that is set aside in its place. */
  async bringBack() {
    const last = this.state.lines.at(-1);
    const state = await post(inChat("/branch"), { seq: this.aside.seq });
    this.aside = null;
    if (last && !state.lines.some((line) => line.seq === last.seq)) this.setAside(last);
    this.take(state);
  }

  async swipe(step) {
    if (!this.state || this.arriving) return;
    const all = this.state.swipes ?? [];
    const place = all.findIndex((each) => each.seq === this.state.lines.at(-1)?.seq) + step;
    if (place < 0) return;
    if (place >= all.length) await (this.model && this.regenerate());
    else await this.version(all[place].seq);
    speak(this.state.lines.at(-1)?.text ?? "");
  }

  /** Put another version of the last reply in its place, and beside it what was remembered for that one. */
  async version(seq) {
    this.take(await post(inChat("/branch"), { seq }));
    const line = this.state.lines.at(-1);
    const context = this.contexts.get(line.seq) ?? (this.said(line) && (await this.again(line)));
    if (line.seq === this.state.lines.at(-1)?.seq) this.look(line.seq, context ?? null);
  }

  /** A line that was gone back to has a new number; what was remembered for it is the same. */
  saidAgain(line) {
    const context = this.contexts.get(line.metadata?.["everthread.again"]);
    if (context && !this.contexts.has(line.seq)) this.remembered(line.seq, context);
  }

  async pin(line) {
    const pinned = this.pins.has(line.seq);
    const { items } = await (pinned ? remove : put)(inBank(`/pins/${line.seq}`));
    tell("pins", items);
  }

  /** What a question about forgetting says besides, while a reply is on its way. */
  get stopping() {
    return this.arriving ? " The reply that is on its way is stopped by it, for it may be made of it." : "";
  }

  async forget(line) {
    const { choose, receipt } = await windows();
    const sure = await choose(
      "Forget this line?",
      `It is removed for good, wherever it was kept. This can't be undone.${this.stopping}`,
      [
        ["Forget it", true],
        ["Keep it", false],
      ],
      line,
    );
    if (!sure) return;
    const proof = await remove(inBank(`/lines/${line.seq}`));
    tell("forgotten", new Set([line.seq]));
    await receipt(proof);
  }

  /** Lines are gone: nothing shown may hold them still. */
  without(seqs) {
    const clean = (hit) => !seqs.has(hit.line.seq) && !hit.passage.some((line) => seqs.has(line.seq));
    for (const context of new Set(this.contexts.values())) context.hits = context.hits.filter(clean);
    if (this.shown) this.shown = null;
    if (this.state && here.view === "talk") this.load();
  }

  /** End the conversation: remembered, or forgotten, as the person says, or has answered already. */
  async end(answer = null) {
    const { choose, sureToForget } = await windows();
    if (answer === false && !(await sureToForget(this.stopping))) return;
    let ending = await post(inChat("/end"), { remember: answer });
    if (ending.remembered === null && ending.question) {
      const agreed = await choose(ending.question, "It can be forgotten later as well: all of it, or a single line.", [
        ["Remember it", true],
        ["Forget all of it", false],
      ]);
      if (agreed === null || (!agreed && !(await sureToForget(this.stopping)))) return;
      ending = await post(inChat("/end"), { remember: agreed });
    }
    await this.parted(ending);
  }

  /** The conversation has ended; another one begins. */
  async parted(ending) {
    this.place = null;
    tell("sessions");
    tell("ended", ending);
    if (ending.receipt) await (await windows()).receipt(ending.receipt);
  }

  // ---------------------------------------------------------------- showing

  /** Show in the memory column what was remembered for a reply. */
  async inspect(line) {
    this.look(line.seq, this.contexts.get(line.seq) ?? (await this.again(line)));
    tell("view", "memory");
  }

  look(seq, context) {
    this.inspected = seq;
    tell("context", { context, of: seq });
    this.render();
  }

  /** What would be remembered for an older reply, asked as of its moment. */
  async again(line) {
    const said = this.said(line);
    const without = this.state.lines.map((each) => each.seq).filter((seq) => seq > 0);
    const body = { query: said.text, as_of: said.said_at, exclude: without, ...budget() };
    const context = await careful(post)(inBank("/context"), body);
    if (context) this.remembered(line.seq, { ...context, again: true });
    return this.contexts.get(line.seq) ?? null;
  }

  /** What the person said before this line; undefined before a greeting. */
  said(line) {
    const place = this.state.lines.findIndex((each) => each.seq === line.seq);
    return this.state.lines.slice(0, place).findLast((each) => each.role === "user");
  }

  element(seq) {
    return this.box.querySelector(`[data-seq="${seq}"]`);
  }

  append(element) {
    this.box.append(element);
    this.following.grown();
  }

  render() {
    if (!this.state || here.view !== "talk") return;
    const { lines } = this.state;
    const one = (line, place) => [dayBefore(line, lines[place - 1], this.drawn), this.one(line, place === lines.length - 1)];
    const parts = [this.opening(), ...lines.flatMap(one)];
    const mine = this.arriving?.mine ?? this.waiting;
    if (mine) parts.push(mine);
    if (this.arriving?.element) parts.push(this.arriving.element);
    else if (this.shown) parts.push(recalled(this.shown, this));
    parts.push(this.question());
    keep(this.box, parts.filter(Boolean));
    this.following.grown();
  }

  /** A line's element: the one that is there, as long as it would look the same. */
  one(line, last) {
    const state = last && [this.arriving !== null, Boolean(this.arriving?.mine), this.state.swipes, this.model];
    const looks = JSON.stringify([line, this.pins.has(line.seq), this.inspected === line.seq, state]);
    const old = this.drawn.get(line.seq);
    if (old?.looks === looks || old?.element.querySelector(".editing")) return old.element;
    const element = this.draw(line, last);
    this.drawn.set(line.seq, { looks, element });
    return element;
  }

  draw(line, last) {
    const element = lineElement(line, acts(line, { last, talk: this }));
    const choice = last && !this.arriving && swipes(this.state, this);
    if (choice) element.querySelector(".acts").prepend(choice);
    if (this.arriving && last && line.role === "assistant" && !this.arriving.mine) element.classList.add("replaced");
    return element;
  }

  /** The question that the person's goodbye leads to, as long as it is not answered. */
  question() {
    const { question, session } = this.state;
    if (!question || this.arriving || this.waiting) return null;
    const looks = JSON.stringify([session, question, this.unclear]);
    if (this.drawn.get("question")?.looks !== looks) this.drawn.set("question", { looks, element: asking(question, this) });
    return this.drawn.get("question").element;
  }

  opening() {
    const { lines, greeting, offer, character } = this.state;
    if (lines.length || this.arriving || this.waiting || this.knows === null) return null;
    const told = { greeting, offer, character, fresh: !this.knows, model: this.model };
    const looks = JSON.stringify(told);
    if (this.drawn.get("welcome")?.looks !== looks) this.drawn.set("welcome", { looks, element: welcome(told) });
    return this.drawn.get("welcome").element;
  }
}

const spot = () => `${here.bank}/${here.session}`; // the place where the page is

const standing = () => get(inChat("", conversation())); // the state that the page is to show

const budget = () => (options().budget ? { budget: options().budget } : {});

/** Put these in the box; who had the focus has it still, and nothing moves. */
function keep(box, parts) {
  const focused = box.contains(document.activeElement) ? document.activeElement : null;
  const seq = focused?.closest(".line")?.dataset.seq;
  parts.forEach((part, place) => box.children[place] === part || box.insertBefore(part, box.children[place] ?? null));
  while (box.children.length > parts.length) box.lastElementChild.remove();
  if (!focused || document.activeElement === focused) return;
  const buttons = seq ? [...box.querySelectorAll(`[data-seq="${seq}"] button`)] : [];
  (buttons.find((each) => name(each) === name(focused)) ?? at("say")).focus({ preventScroll: true });
}

const name = (element) => element.getAttribute("aria-label") ?? element.textContent;

/** A question to the person, with its answers; they may be typed as well. */
const asking = (question, talk) =>
  h(
    "article",
    { class: "line of-character recall-only", "aria-label": "A question to you" },
    said("div", `Goodbye! ${question}`, { class: "said" }),
    h("p", { class: "small label" }, talk.unclear ? UNCLEAR : ANSWERS),
    h(
      "div",
      { class: "bar" },
      button("Remember it", () => talk.end(true), { class: "main" }),
      button("Forget all of it", () => talk.end(false)),
    ),
  );

/** What is remembered, where there is no model that would put it into words. */
function recalled(shown, talk) {
  const label = shown.labelled ? ["Recall only: what was said before, in its own words. ", connect()] : shown.label;
  return h(
    "article",
    { class: "line of-character recall-only", "aria-label": "What is remembered" },
    label && h("p", { class: "small label" }, label),
    said("div", shown.text.replace(/^\(no language model configured\) /, ""), { class: "said" }), // the label tells it
    h(
      "footer",
      { class: "acts" },
      shown.context &&
        button("Remembered", () => (tell("context", { context: shown.context, of: null }), tell("view", "memory")), {
          class: "link recalled",
        }),
      talk.model && button("Answer", () => talk.answer(), { class: "link" }),
    ),
  );
}
