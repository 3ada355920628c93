// The running conversation: its lines, the reply that arrives, and everything that can be done about them.

import { chatPath, get, hasChats, post, Problem, readEvents, request } from "./api.js";
import { storedAnswer, textOf } from "./answers.js";
import { homeOf } from "./banknames.js";
import { byId } from "./dom.js";
import { emit, on } from "./events.js";
import { arrivingContext, EvidenceCache, withCorrection, withoutLines } from "./evidence.js";
import { loadGroup, loadOverlays } from "./lazy.js";
import { dateSeparator, editInPlace, lineActions, lineElement, newPending, noteQuestion, sentMessage, streamingLine, swipeControls, unfold } from "./line.js";
import { correctLine, forgetLine, togglePin } from "./linechanges.js";
import { announce, clearNotice, showError, showNotice, withErrors, withErrorsOf } from "./notices.js";
import { getIncognitoSessions, getNewGroup, replyOptions, saveIncognitoSessions } from "./prefs.js";
import { ElementCache, reconcile } from "./rerender.js";
import { route, shownSession } from "./router.js";
import { ScrollFollower } from "./scroll.js";
import { endChat, endQuestion, linesWith, stateWith, transientReply } from "./transient.js";
import { welcomeScreen } from "./welcome.js";
import { t } from "./words.js";

const DRAWN_LINES = 80; // of a long chat at first, and more each time that one scrolls up to them
const CONNECTION_LOST = t("error.connection_lost");

export class ChatView {
  constructor() {
    this.box = byId("lines");
    this.follower = new ScrollFollower(this.box);
    this.state = null;
    this.place = null; // the place whose conversation is shown
    this.stateOf = null; // the place whose state it is: next to a transcript, that of the current chat
    this.contexts = new EvidenceCache();
    this.pins = new Set();
    this.transient = null; // a reply that is shown without being saved
    this.inspected = null; // the seq of the reply whose memories are shown
    this.pending = null; // the reply that is arriving
    this.waiting = []; // functions to call when it has arrived
    this.loading = null; // a promise of the conversation
    this.incognitoChange = null; // a promise, while incognito is turned on or off; a message is not sent if that fails
    this.queued = null; // the element of a message that waits for the conversation, or for the reply that is arriving
    this.unclear = false; // whether the last answer to the end question was neither yes nor no
    this.discarded = null; // the last line of what was set aside: {session, seq}
    this.elements = new ElementCache(); // by seq or name
    this.group = null; // loaded for the first chat with several characters
    this.drawnLines = DRAWN_LINES; // the latest ones; scrolling up draws more
    this.bankHasLines = null; // null until it is known
    this.correctLine = withErrors(correctLine);
    withErrorsOf(
      this,
      "reload",
      "refresh",
      "regenerate",
      "answer",
      "undo",
      "stop",
      "togglePin",
      "forgetLine",
      "edit",
      "branch",
      "swipe",
      "restore",
      "end",
      "onConversationEnd",
      "extend",
    );
    on("forgotten", (seqs) => this.removeLines(seqs));
    on("corrected", (change) => this.onCorrected(change));
    on("sessions-loaded", withErrors(async (listed) => ((this.bankHasLines = await hasChats(listed)), this.render())));
    on("bank", () => this.leaveBank());
    on("route", () => (this.queued = null));
    for (const name of ["person-named", "characters"]) on(name, () => this.reload());
    on("sharing-changed", () => this.contexts.clear());
    on("reconnected", () => this.transient?.kind === "partial" && (this.transient = null));
    on("pins", (lines) => ((this.pins = new Set(lines.map((line) => line.seq))), this.render()));
    window.addEventListener("focus", this.refresh);
  }

  get model() {
    return this.state?.model ?? null;
  }

  /** Whether several characters take part. */
  get isGroup() {
    return this.state?.group.length > 0;
  }

  /** The banks of the characters that take part, where several do. */
  get groupBanks() {
    return this.state.group.map(({ bank }) => bank);
  }

  get lastSeq() {
    return this.state.lines.at(-1).seq;
  }

  /** Whether another reply can take the place of a line. */
  canRegenerate({ role, speaker }) {
    return role === "assistant" && this.model && (!this.isGroup || this.group.memberNamed(speaker));
  }

  /** The API path of something in the conversation of the character that replies. */
  replyPath(path) {
    return this.isGroup ? this.group.path(path) : chatPath(path);
  }

  /** Whether this tab assumes that nothing said here is saved. If that is wrong, the server refuses messages. */
  get assumesIncognito() {
    return getIncognitoSessions(route.bank).includes(shownSession());
  }

  // ---- state

  /** Read the conversation, and follow a reply that is arriving. */
  reload() {
    return this.open();
  }

  /** `reload` once the bank exists, without catching errors. Messages that are sent before it is done wait. */
  async open(bankReady = Promise.resolve()) {
    this.loading = bankReady.then(() => this.readState());
    const state = await this.loading;
    if (state?.replying && !this.pending) await this.followRunningReply();
  }

  /** Show what was said elsewhere, in another tab for instance, when this one gets the focus. */
  async refresh() {
    if (!this.state || this.isBusy) return;
    const place = currentPlace();
    const version = ({ session, incognito, lines, earlier }) =>
      JSON.stringify([session, incognito, lines.length + earlier, lines.slice(-DRAWN_LINES).map((line) => line.seq)]);
    const state = await this.fetchState();
    if (this.isBusy || place !== currentPlace() || version(state) === version(this.state)) return;
    if (state.replying) await this.followRunningReply();
    else this.setState(state);
    this.follower.scrollToEnd();
  }

  get isBusy() {
    return this.pending || this.queued || route.view !== "talk";
  }

  /** The conversation's state; null if the person went elsewhere meanwhile. */
  async readState() {
    const place = currentPlace();
    const { view } = route;
    if (view === "talk" && place === this.place && place === this.stateOf && !this.follower.place) this.arrive();
    const state = await this.fetchState();
    if (place !== currentPlace() || route.view !== view) return null;
    if (view === "talk" && this.place !== place) this.reset(place);
    this.setState(state); // the header shows the character next to a transcript, too
    if (view !== "talk") return null;
    if (this.follower.place === null) this.arrive();
    return state;
  }

  /** Scroll to where the reader left this place of the browser's history, or else to the end. */
  arrive() {
    this.render();
    const place = route.top && this.elementOf(route.top);
    this.follower.arrive(place, this.extend);
    this.follower.follows = true;
  }

  /** Draw earlier lines, and read some more. */
  async extend(side) {
    const { state } = this;
    if (side === "end" || this.extending || this.isBusy || this.drawnLines >= state.lines.length + state.earlier) return;
    this.extending = true;
    try {
      const more = state.earlier ? await this.fetchState(2 * DRAWN_LINES) : state;
      if (this.state !== state || this.isBusy) return;
      this.follower.keepPlace(() => ((this.drawnLines += DRAWN_LINES), this.setState(more)));
    } finally {
      this.extending = false;
    }
  }

  /** Leave the conversation: what belongs to it is no longer followed or shown. */
  leave() {
    if (this.pending) this.setPending(null); // a reply goes on without being followed
    this.contexts.clear();
  }

  /** Leave the bank: until the other one is read, none of this one's lines can be seen or pressed. */
  leaveBank() {
    this.clear();
    this.place = this.bankHasLines = null;
  }

  reset(place) {
    this.place = place;
    this.clear();
    this.drawnLines = DRAWN_LINES;
    this.follower.place = null;
    emit("context", null);
  }

  clear() {
    this.leave();
    this.elements.clear();
    this.transient = this.inspected = null;
    if (this.box.contains(document.activeElement)) byId("message").focus();
    this.box.replaceChildren();
  }

  setState(state) {
    const leftIncognito = this.state?.incognito && !state.incognito;
    if (leftIncognito) this.transient = null;
    this.state = state;
    state.bank = route.bank;
    this.stateOf = `${route.bank}/${shownSession()}`;
    if (state.incognito && !this.assumesIncognito)
      saveIncognitoSessions(route.bank, [...getIncognitoSessions(route.bank), shownSession()]);
    if (this.discarded?.session !== state.session) this.discarded = null;
    const leftReply = this.inspected && route.view === "talk" && !state.lines.some((line) => line.seq === this.inspected);
    if (leftIncognito || leftReply) {
      this.inspected = null;
      emit("context", null);
    }
    this.render();
    emit("state", state);
  }

  /** Stop assuming that the conversations of this bank are in incognito. */
  leaveIncognito() {
    saveIncognitoSessions(route.bank, []);
  }

  /** Emit the present state again, for parts of the page that were loaded late. */
  replayEvents() {
    if (!this.state) return;
    const context = this.pending?.context ?? this.contexts.get(this.inspected);
    emit("state", this.state);
    if (context) emit("context", { context, of: this.inspected });
  }

  async followRunningReply() {
    const pending = this.setPending(newPending()); // so that nothing is sent meanwhile
    try {
      const response = await request("GET", this.replyPath("/stream")).catch((error) => {
        if (error.status === 404) return null; // it has ended meanwhile
        throw error;
      });
      if (response) return void (await this.followReply(response, pending));
      const state = await this.fetchState();
      if (this.pending === pending) (this.setPending(null), this.setState(state));
    } finally {
      if (this.pending === pending) this.setPending(null);
    }
  }

  setPending(pending) {
    this.pending = pending;
    emit("replying", pending !== null);
    if (!pending) for (const resolve of this.waiting.splice(0)) resolve();
    return pending;
  }

  /** Wait until no reply is arriving. */
  async waitForReply() {
    while (this.pending) await new Promise((resolve) => this.waiting.push(resolve));
  }

  /** Read the state, with some more lines than are drawn. */
  async fetchState(more = DRAWN_LINES) {
    const { bank } = route;
    const state = await get(`${chatPath("", shownSession())}?last=${this.drawnLines + more}`);
    if (!state.lines.length) state.group = getNewGroup(`${bank}/${state.session}`);
    if (state.group.length) this.group ??= new (await loadGroup()).Group(this);
    await this.group?.findReply(state);
    await this.group?.addAnswers(state);
    return state;
  }

  // ---- talking

  /** Send a message, once no reply is arriving. Returns whether the server accepted it. */
  async send(text) {
    const message = sentMessage(text, this.state?.character.person);
    this.box.querySelector(".welcome")?.remove();
    this.queued = message;
    this.append(message);
    this.follower.scrollToEnd();
    const ready = await this.waitForTurn(message);
    if (this.queued === message) this.queued = null;
    const { transient, discarded } = this;
    if (ready) this.transient = this.discarded = null;
    const accepted = ready && (await this.requestReply("/reply", { text }, message));
    if (!accepted) message.remove();
    if (ready && !accepted) Object.assign(this, { transient, discarded });
    this.render();
    return accepted;
  }

  /** Wait for the conversation of this place, and for the reply that is arriving. Returns whether the message may be sent:
   * not where the person left meanwhile, or is asked a question to which it would be the answer. */
  async waitForTurn(message) {
    const place = currentPlace();
    const isAnswer = this.state?.question && !this.pending;
    try {
      await this.incognitoChange;
      await this.loading.catch(() => this.readState()); // which may succeed this time
      await this.waitForReply();
      return this.queued === message && place === this.place && (isAnswer || !this.state.question);
    } catch (error) {
      showError(error);
      return false;
    }
  }

  regenerate() {
    // A group's banks number the same line differently.
    return this.requestReply("/regenerate", this.isGroup ? {} : { last: this.lastSeq });
  }

  answer() {
    return this.requestReply("/answer", {});
  }

  /** Edit a line. What was typed stays in its field if it can't be saved, or goes to the message box if the line is gone. */
  async edit(line, typed = line.text) {
    const place = currentPlace();
    const last = this.state.lines.at(-1);
    const hint = last.seq !== line.seq && t(this.state.incognito ? "chat.edit_hint_incognito" : "chat.edit_hint");
    const text = await editInPlace(this.elementOf(line.seq), line, hint, typed);
    if (text === null) return;
    await this.waitForReply();
    const before = this.state.lines.at(-1);
    const { discarded } = this;
    if (before.seq !== line.seq) this.recordDiscarded(before);
    const isSaved = await (this.isGroup ? this.group.edit(line, text) : this.requestReply("/edit", { seq: line.seq, text }));
    if (isSaved) return;
    this.discarded = discarded;
    if (place !== currentPlace()) return;
    if (this.state.lines.some((other) => other.seq === line.seq)) await this.edit(line, text);
    else if (!byId("message").value) emit("draft", text);
  }

  /** Edit the person's last message. */
  editLast() {
    const last = this.state?.lines.findLast((line) => line.role === "user");
    if (last && !this.isBusy) this.edit(last);
  }

  /** Request a reply and follow it. Returns whether the server accepted the request. */
  async requestReply(path, body, message = null) {
    if (this.pending) return false;
    clearNotice();
    const pending = this.setPending(newPending(message));
    try {
      const options = { ...replyOptions(), ...(this.isGroup && this.group.chooseAnswerer(path, body.text)) };
      const all = { ...body, options, incognito: this.assumesIncognito };
      if (path === "/reply") all.confirm_forget = true;
      const response = await request("POST", this.replyPath(path), { body: all });
      return await this.followReply(response, pending);
    } catch (error) {
      message?.remove();
      await this.onRefused(error);
      return false;
    } finally {
      if (this.pending === pending) this.setPending(null);
    }
  }

  /** Show an error, and the conversation as it is if it isn't as shown here. */
  async onRefused(error) {
    showError(error);
    if ([404, 409].includes(error.status)) this.setState(await this.fetchState());
  }

  /** Show a reply as it arrives, unless the person goes elsewhere; it goes on then. Returns whether the person's message
   * was stored. */
  async followReply(response, pending) {
    if (this.pending !== pending) return (response.body.cancel(), true);
    const speaker = this.isGroup ? this.group.replying.name : this.state.character.nickname || this.state.character.name;
    Object.assign(pending, streamingLine(speaker));
    if (this.isGroup) this.group.decorate(pending.element, { speaker });
    this.render();
    announce(t("chat.replying", { name: speaker }));
    try {
      for await (const [name, data] of readEvents(response)) {
        if (this.pending !== pending) return true;
        await this.onReplyEvent(pending, name, data);
      }
    } catch (error) {
      if (error.name !== "AbortError") pending.problem = { detail: CONNECTION_LOST, type: "urn:everthread:unreachable" };
    }
    if (this.pending !== pending) return true;
    const stored = pending.message === null;
    await this.onReplyEnd(pending);
    return stored;
  }

  async onReplyEvent(pending, name, data) {
    if (name === "line") await this.onLineStored(pending, data.line);
    else if (name === "context") {
      const question = this.state.lines.findLast((line) => line.role === "user")?.text;
      pending.quotes = !Object.keys(data.prompt).length;
      pending.context = arrivingContext(data, question, this.isGroup ? this.group.replying.bank : route.bank);
      if (route.view === "talk") emit("context", { context: pending.context, of: null });
    } else if (name === "piece" && pending.quotes) return; // the page has words of its own for it
    else if (name === "piece") (pending.text.appendData(data.text), this.follower.onGrow());
    else if (name === "question") noteQuestion(pending, data);
    else if (name === "ended") Object.assign(pending, { ending: data, message: null });
    else if (name === "done") pending.done = data;
    else if (name === "error") pending.problem = data;
  }

  async onLineStored(pending, line) {
    const read = () => this.fetchState();
    const lines = this.isGroup ? (await read().catch(() => this.state)).lines : await linesWith(this.state, line, read);
    pending.message = null;
    if (this.pending !== pending || currentPlace() !== this.place) return; // the person went elsewhere meanwhile
    this.state = { ...this.state, lines, swipes: [] };
    emit("line-stored", line.text);
    this.render();
  }

  async onReplyEnd(pending) {
    const { done, context, problem, text, unclear, wantsForget, ending } = pending;
    const unsaved = done && !done.line && done.text && done.kind !== "ending";
    const shown = done?.text && textOf(done);
    this.transient = unsaved ? { ...done, text: shown, context } : null;
    announce(`${this.isGroup ? `${this.group.replying.name}: ` : ""}${shown ?? text.data}`);
    const state = await this.fetchState().catch((error) => (showError(error), stateWith(this.state, done?.line)));
    if (this.pending !== pending) return;
    const line = done?.line && (this.isGroup ? state.lines.at(-1) : done.line);
    if (line) unfold(line); // all of it was shown while it arrived
    if (line && context) this.contexts.set(line.seq, Object.assign(context, { seq: done.line.seq }));
    if (problem?.detail === CONNECTION_LOST && text.data)
      this.transient = { kind: "partial", text: text.data, context };
    this.setPending(null);
    const stored = state.lines.at(-1)?.answer;
    if (stored?.line || stored?.facts.length) this.transient = null; // the state has the same answer
    if (ending) return void this.onConversationEnd(ending);
    this.unclear = unclear;
    this.setState(state);
    if (line && context && route.view === "talk") this.selectReply(line.seq, context);
    if (problem) showError(new Problem(problem));
    else if (done?.refused) showNotice(t("chat.refused"));
    emit("sessions-changed");
    if (wantsForget) this.end(false);
  }

  // ---- undo, branch, versions

  async stop() {
    await post(this.replyPath("/stop"));
  }

  async undo() {
    const last = this.state.lines.findLast((line) => line.role === "user");
    const body = { group: this.groupBanks, last: this.lastSeq };
    const state = await post(chatPath("/undo"), body).catch((error) => this.onRefused(error));
    if (!state) return;
    this.transient = null;
    this.recordDiscarded(this.state.lines.at(-1));
    this.setState(state);
    if (last && !byId("message").value) emit("draft", last.text);
  }

  async branch(line) {
    const state = await this.branchTo(line.seq);
    this.recordDiscarded(this.state.lines.at(-1));
    this.setState(state);
  }

  branchTo(seq) {
    return post(chatPath("/branch"), { seq, group: this.groupBanks });
  }

  /** Record the last line of what is set aside, so that it can be restored. */
  recordDiscarded(line) {
    this.discarded = line.seq > 0 ? { session: line.session, seq: line.seq } : null;
  }

  /** Restore what was set aside. If something else was said meanwhile, that is set aside in turn. */
  async restore() {
    const last = this.state.lines.at(-1);
    const state = await this.branchTo(this.discarded.seq);
    this.discarded = null;
    if (last && !state.lines.some((line) => line.seq === last.seq)) this.recordDiscarded(last);
    this.setState(state);
  }

  /** Show the previous (-1) or next (1) version of the last reply; after the newest one, regenerate it. */
  async swipe(step) {
    if (!this.state || this.pending) return;
    const all = this.state.swipes ?? [];
    const index = all.findIndex((other) => other.seq === this.state.lines.at(-1)?.seq) + step;
    if (index < 0) return;
    if (index >= all.length) await (this.canRegenerate(this.state.lines.at(-1)) && this.regenerate());
    else await this.showVersion(all[index].seq);
    announce(this.state.lines.at(-1)?.text ?? "");
  }

  async showVersion(seq) {
    this.setState(await this.branchTo(seq));
    const line = this.state.lines.at(-1);
    const context = this.promptOf(line) ? await this.loadContext(line) : null;
    if (line.seq === this.state.lines.at(-1)?.seq) this.selectReply(line.seq, context);
  }

  // ---- pin, correct, forget, end

  togglePin(line, pinned = this.pins.has(line.seq), bank) {
    return togglePin(line, pinned, bank).catch((error) => this.onRefused(error));
  }

  /** What a question about forgetting adds while a reply is arriving. */
  get stopWarning() {
    return this.pending ? t("chat.also_stops") : "";
  }

  forgetLine(line, bank) {
    return forgetLine(line, this.stopWarning, bank);
  }

  removeLines(seqs) {
    this.contexts.update((context) => withoutLines(context, seqs));
    if (this.transient) this.transient = null;
    if (this.state && route.view === "talk") this.reload();
  }

  onCorrected({ old, line }) {
    this.contexts.update((context) => withCorrection(context, old, line));
    if (route.view === "talk") this.reload();
  }

  /** End the conversation. remember: the person's answer, or null for the bank's setting, which may be to ask. */
  async end(remember = null) {
    const ending = await endChat(remember, this.stopWarning);
    if (ending) await this.onConversationEnd(ending);
  }

  async onConversationEnd(ending) {
    this.place = null;
    emit("sessions-changed");
    emit("conversation-ended", ending);
    if (ending.receipt) await (await loadOverlays()).showReceipt(ending.receipt);
  }

  // ---- memories

  /** Show the memories of a reply. prompt: the person's line that it answers. */
  async inspect(line, prompt = this.promptOf(line)) {
    const { bank } = route;
    const context = await this.loadContext(line, prompt);
    if (bank !== route.bank) return;
    this.selectReply(line.seq, context);
    emit("view", "memory");
  }

  async loadContext(line, prompt = this.promptOf(line)) {
    const lines = !this.isGroup && route.view === "talk" && this.state.lines;
    return (await withErrors(() => this.contexts.load(line, prompt, lines))()) ?? null;
  }

  selectReply(seq, context) {
    this.inspected = seq;
    emit("context", { context, of: seq });
    this.render();
  }

  /** The person's line that a line answers; undefined for a greeting. */
  promptOf(line) {
    const index = this.state.lines.findIndex((other) => other.seq === line.seq);
    return this.state.lines.slice(0, index).findLast((other) => other.role === "user");
  }

  // ---- rendering

  elementOf(seq) {
    return this.box.querySelector(`[data-seq="${seq}"]`);
  }

  append(element) {
    this.box.append(element);
    this.follower.onGrow();
  }

  render() {
    if (this.state?.bank !== route.bank || route.view !== "talk") return;
    const { lines } = this.state;
    const first = Math.max(0, lines.length - this.drawnLines);
    const drawLine = (line, index) => [
      dateSeparator(line, lines[first + index - 1], this.elements),
      this.cachedLine(line, first + index === lines.length - 1),
      this.answerTo(line, lines[first + index + 1]),
    ];
    const parts = [this.welcome(), ...lines.slice(first).flatMap(drawLine), this.pending?.message];
    if (this.pending?.element) parts.push(this.pending.element);
    else if (this.transient) parts.push(transientReply(this.transient, this));
    parts.push(this.question(), this.queued);
    reconcile(this.box, parts.filter(Boolean), byId("message"));
    this.follower.onGrow();
  }

  cachedLine(line, last) {
    const state = last && [this.pending !== null, Boolean(this.pending?.message), this.state.swipes, this.model];
    const data = [line, this.pins.has(line.seq), this.inspected === line.seq, state, this.state.group];
    return this.elements.get(line.seq, data, () => this.drawLine(line, last));
  }

  /** What answered a person's line without a model. */
  answerTo(line, next) {
    const comes = !next && (this.transient || this.state.question || (this.pending && !this.pending.message));
    if (!line.answer || comes || next?.role === "assistant") return null;
    const data = [line, this.inspected === line.seq];
    return this.elements.get(`answer to ${line.seq}`, data, () => storedAnswer(line, this));
  }

  drawLine(line, last) {
    const controls = last && !this.pending && swipeControls(this.state, this);
    const element = lineElement(line, [controls, lineActions(line, { last, chat: this })]);
    if (this.isGroup && line.role === "assistant") this.group.decorate(element, line);
    const replaces = this.pending && !this.pending.message && (!this.isGroup || this.group.replying?.name === line.speaker);
    if (replaces && last && line.role === "assistant") element.classList.add("replaced");
    return element;
  }

  question() {
    const { question, session } = this.state;
    if (!question || this.pending || this.queued) return null;
    return this.elements.get("question", [session, question, this.unclear], () => endQuestion(this, this.unclear));
  }

  welcome() {
    const { lines, greeting, offer, character } = this.state;
    if (lines.length || this.pending || this.queued || this.bankHasLines === null) return null;
    if (this.isGroup) return this.elements.get("welcome", this.state.group, () => this.group.welcome());
    const first = !this.bankHasLines && homeOf(route.bank, character.name) === null; // not one more character
    const data = { greeting, offer, character, first, model: this.model };
    return this.elements.get("welcome", data, () => welcomeScreen(data));
  }
}

const currentPlace = () => `${route.bank}/${route.session}`;
