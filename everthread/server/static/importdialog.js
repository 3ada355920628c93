// Bringing earlier chats: files are sent once, their contents are shown, and what the person chooses is imported.

import { bankPath, get, patch, post } from "./api.js";
import { UNNAMED } from "./banknames.js";
import { askForget, openDialog, showReceipt } from "./dialogs.js";
import { button, byId, fill, h, textElement, truncate } from "./dom.js";
import { emit } from "./events.js";
import { importPreview, refusals, sum } from "./importpreview.js";
import { importProgress } from "./importprogress.js";
import { formatSize, Upload } from "./importupload.js";
import { navigate, route } from "./router.js";
import { joinList, t } from "./words.js";

const BYTES_PER_MB = 1e6;
const MAX_NAME_CHARS = 60;
const SOURCES = ["chatgpt", "claude", "whatsapp", "telegram", "discord", "messenger", "imessage", "others", "text"];

/** Import files, in a dialog. Resolves when it is closed; what is under way then is stopped. characters: the names of
 * those whose cards were among the files. broken: the cards that can't be read, each with the reason. */
export function openImport(files, characters, broken) {
  const { bank } = route;
  const uploads = [...broken, ...files.map((file) => [file])].map(([file, refusal]) => new Upload(file, bank, refusal));
  const stop = new AbortController();
  let running = null;
  const closed = openDialog(t("import.title"), (close, body) => {
    running = new Import(uploads, characters, bank, body, close, stop.signal);
    queueMicrotask(() => running.begin()); // once the dialog is open
    return null;
  }, { wide: true });
  return closed.then(() => {
    stop.abort();
    for (const upload of uploads) upload.discard();
    if (uploads.some(({ counts }) => counts)) emit("imported");
    if (running.chosen) emit("sessions-changed");
  });
}

class Import {
  constructor(uploads, characters, bank, body, close, signal) {
    Object.assign(this, { uploads, characters, bank, body, close, signal });
  }

  /** Show one step in place of another; its main control has the focus. */
  show(...parts) {
    fill(this.body, ...parts);
    const [main] = [".primary:enabled", "button"].flatMap((kind) => [...this.body.querySelectorAll(kind)]);
    main?.focus({ preventScroll: true });
  }

  end = (...buttons) => h("div", { class: "bar end" }, buttons);

  // ---- sending

  async begin() {
    const progress = importProgress([t("settings.cancel"), () => this.close()]);
    this.show(progress.element);
    try {
      this.character ??= await get(bankPath("/character", this.bank), { signal: this.signal });
      this.person ??= this.character.person;
      for (const upload of this.uploads) await upload.open();
      for (const upload of this.uploads) if (!upload.contents && !upload.refusal) await this.send(upload, progress, this.signal);
    } catch (error) {
      return this.fail(error, () => this.begin());
    }
    return this.uploads.some(({ contents }) => contents) ? this.choose() : this.refuse();
  }

  async send(upload, progress, signal) {
    const sizes = this.uploads.map(({ file }) => file.size);
    const total = sum(sizes);
    const before = sum(sizes.slice(0, this.uploads.indexOf(upload)));
    const file = truncate(upload.name, MAX_NAME_CHARS);
    progress.begin(t("import.sending", { file }));
    await upload.send((bytes) => {
      const done = before + Math.min(bytes, upload.file.size);
      if (bytes >= upload.file.size) progress.begin(t("import.reading", { file }));
      if (done >= total) progress.show(null);
      else progress.show(done / total, t("import.sent", { done: formatSize(done, BYTES_PER_MB), total: formatSize(total, BYTES_PER_MB) }));
    }, signal);
  }

  choose() {
    const start = () => {
      const chosen = this.uploads.filter(({ choices }) => choices && (choices.messages || !choices.sessions));
      this.chosen = chosen.sort((one, other) => startOf(one) - startOf(other)); // as the parts of a chat follow each other
      this.total = sum(this.chosen.map(({ choices }) => choices.messages));
      this.done = 0;
      this.run();
    };
    this.show(this.places(), importPreview(this.uploads, this.person, start, () => this.close()));
  }

  /** Whose chats these become, and the characters that came with them. */
  places() {
    const { characters, character: { name } } = this;
    return [
      textElement("p", t("import.into", { name }), { class: "small" }),
      characters.length > 0 && textElement("p", t("import.characters", { names: joinList(characters) }), { class: "small" }),
    ];
  }

  // ---- importing

  async run() {
    const stop = new AbortController();
    this.signal.addEventListener("abort", () => stop.abort());
    const progress = importProgress([t("composer.stop"), () => stop.abort()]);
    this.show(progress.element);
    try {
      for (let next; (next = this.chosen.filter(({ counts, refusal }) => !counts && !refusal)).length; ) {
        await this.import(next[0], next.length === 1, progress, stop.signal);
      }
    } catch (error) {
      return this.fail(error, () => this.run());
    }
    return this.embedded ?? (this.imported.length ? this.finish() : this.refuse());
  }

  /** Import a file. One that the server no longer has is sent again. */
  async import(upload, isLast, progress, signal) {
    const before = this.messages;
    const { total } = this;
    const file = this.chosen.length > 1 && truncate(upload.name, MAX_NAME_CHARS);
    progress.begin(t("import.running"));
    try {
      for await (const [event, data] of upload.run(this.name, isLast, signal)) {
        if (event === "progress") {
          this.done = before + (data.total ? Math.round((upload.choices.messages * data.done) / data.total) : 0);
          progress.show(total ? this.done / total : null, file, t("import.progress", { done: this.done, total }));
        } else if (event === "stored") {
          await this.rememberName();
          if (isLast) this.finish();
        } else if (event === "embedding") this.showEmbedding(data);
      }
    } catch (error) {
      if (error.kind !== "upload-gone") throw error;
      await this.send(upload, progress, signal);
    }
    this.embedded?.remove();
  }

  /** The name under which the person's messages are imported: the one in the page, or in most of the files. */
  get name() {
    if (this.person && this.person !== UNNAMED) return this.person;
    const names = this.chosen.map(({ choices }) => choices.speaker).filter((speaker) => speaker && speaker !== UNNAMED);
    const count = (name) => names.filter((each) => each === name).length;
    return [...names].sort((one, other) => count(other) - count(one))[0] ?? null;
  }

  get imported() {
    return this.chosen.filter(({ counts }) => counts);
  }

  /** How many messages were imported or were there, without those set aside. */
  get messages() {
    return sum(this.imported.map(({ choices }) => choices.messages));
  }

  async rememberName() {
    const { name } = this;
    if (name && name !== this.person) await patch(bankPath("/character", this.bank), { person: name });
    this.person = name;
  }

  finish() {
    const { imported } = this;
    const added = sum(imported.map(({ counts }) => counts.new));
    const duplicates = this.messages - added;
    const seqs = imported.flatMap(({ counts }) => counts.seqs);
    this.embedded = h("div", { class: "progress" });
    const messages = t("count.messages", { count: added });
    this.show(
      h("p", { class: "headline", role: "status" }, added ? t("import.done", { messages }) : t("import.nothing_new")),
      added > 0 && duplicates > 0 && h("p", { class: "small" }, t("import.duplicates", { count: duplicates })),
      this.places(),
      refusals(this.uploads),
      this.embedded,
      this.end(
        button(t("dialog.close"), () => this.close()),
        seqs[0] && button(t("import.undo"), () => this.undo(seqs, added)),
        button(t("import.search"), () => (this.close(), emit("view", "sessions"), byId("query").select())),
        button(t("import.open_latest"), () => this.openLatest(seqs.flat().at(-1)), { class: "primary" }),
      ),
    );
  }

  /** Forget the messages that were added. */
  async undo(seqs, count) {
    if (!(await askForget(t("import.undo_title"), t("import.undo_effect", { count }), null, t("import.undo")))) return;
    this.show(h("p", { role: "status" }, t("import.undoing")));
    try {
      const receipt = await post(bankPath("/lines/forget", this.bank), { seqs });
      this.close();
      await showReceipt(receipt);
    } catch (error) {
      this.fail(error, () => this.undo(seqs, count));
    }
  }

  showEmbedding({ done, total }) {
    if (this.embedded.firstChild) return void (this.embedded.lastChild.value = done);
    const label = t("import.embedding");
    return fill(this.embedded, h("p", { class: "small" }, label), h("progress", { max: total, value: done, "aria-label": label }));
  }

  /** Show the imported chat with the newest message. last: the number of the last new one, which finds a chat without an
   * id. */
  async openLatest(last) {
    const { items } = await get(bankPath("/sessions?limit=50", this.bank));
    const known = new Set(this.imported.flatMap(({ contents, choices }) => choices.sessions ?? contents.conversations.map(({ id }) => id)));
    const added = last && (await get(bankPath(`/lines?after_seq=${last - 1}&limit=1`, this.bank))).items[0];
    const session = items.find(({ id }) => known.has(id))?.id ?? added?.session ?? items[0]?.id;
    this.close();
    if (session) navigate({ view: "read", session });
  }

  // ---- what went wrong

  /** Say why it did not go on, with a way to go on. */
  fail(error, goOn) {
    if (this.signal.aborted) return;
    const reason = error.name === "AbortError" ? t("import.stopped") : reasonOf(error);
    const kept = this.chosen && t("import.kept", { done: this.done, total: this.total });
    this.show(
      h("p", { role: "alert", dir: "auto" }, [reason, kept].filter(Boolean).join(" ")),
      this.end(button(t("dialog.close"), () => this.close()), button(t("import.go_on"), goOn, { class: "primary" })),
    );
  }

  /** Say that no file can be read, and which can. */
  refuse() {
    const [{ name, refusal }, ...others] = this.uploads.filter((upload) => upload.refusal);
    this.show(
      h("p", { class: "headline", role: "alert" }, others.length ? t("import.nothing_read") : t("import.refused", { file: name })),
      others.length ? refusals(this.uploads) : textElement("p", refusal, { class: "small" }),
      h("p", {}, t("import.readable")),
      h("ul", { class: "sources" }, SOURCES.map((source) => h("li", {}, t(`source.${source}`)))),
      h("p", {}, t("import.cards")),
      this.end(button(t("dialog.close"), () => this.close(), { class: "primary" })),
    );
  }
}

const startOf = ({ contents }) => Date.parse(contents.first_at) || 0;

function reasonOf({ name, status, kind, message, waitSeconds }) {
  if (status === 429) return t("import.wait", { count: waitSeconds || 1 });
  if (kind === "unreachable" || name === "TypeError") return t("import.interrupted");
  return status === 503 || status === 409 ? t("import.busy") : message;
}
