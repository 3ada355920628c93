// Bringing earlier chats: a file is sent once, its contents are shown, and what the person chooses is imported.

import { bankPath, get, patch, post, Problem, readEvents, remove, request } from "./api.js";
import { openDialog } from "./dialogs.js";
import { button, byId, fill, h, textElement } from "./dom.js";
import { emit } from "./events.js";
import { DEFAULT_SPEAKER, importPreview } from "./importpreview.js";
import { importProgress } from "./importprogress.js";
import { navigate } from "./router.js";
import { formatNumber, ONE_DECIMAL, t } from "./words.js";

const MAX_FILE_BYTES = 1e9; // the server's limit
const BYTES_PER_GB = 1e9;
const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;
const FINAL_STATUS = [413, 415, 422]; // of a file that is refused, however often it is sent
const SOURCES = ["chatgpt", "claude", "whatsapp", "telegram", "discord", "messenger", "others", "text"];

const randomId = () => crypto.getRandomValues(new Uint8Array(16)).toHex?.() ?? crypto.randomUUID().replaceAll("-", "");

/** Import a file, in a dialog. Resolves when it is closed; what is under way then is stopped. */
export function openImport(file) {
  const upload = { file, id: randomId(), zone: ZONE, isKept: false };
  const stop = new AbortController();
  const closed = openDialog(t("import.title"), (close, body) => {
    queueMicrotask(() => new Import(upload, body, close, stop.signal).begin()); // once the dialog is open
    return null;
  }, { wide: true });
  return closed.then(() => {
    stop.abort();
    if (upload.isKept) remove(uploadPath(upload)).catch(() => {}); // the server removes it later
    if (upload.isStored) emit("imported");
    if (upload.isBegun) emit("sessions-changed");
  });
}

const uploadPath = ({ id }) => bankPath(`/import/${id}`);

class Import {
  constructor(upload, body, close, signal) {
    Object.assign(this, { upload, body, close, signal });
  }

  /** Show one step in place of another; its main control has the focus. */
  show(...parts) {
    fill(this.body, ...parts);
    const [main] = [".primary:enabled", "button"].flatMap((kind) => [...this.body.querySelectorAll(kind)]);
    main.focus({ preventScroll: true });
  }

  async begin() {
    const { file } = this.upload;
    this.show(
      h("p", { role: "status", dir: "auto" }, t("import.reading", { file: file.name })),
      h("progress", { "aria-label": t("import.reading", { file: file.name }) }),
      this.end(button(t("settings.cancel"), () => this.close())),
    );
    try {
      if (file.size > MAX_FILE_BYTES) throw new Problem({ status: 413, detail: tooLarge(file) });
      const [contents, character] = await Promise.all([this.send(), get(bankPath("/character"), { signal: this.signal })]);
      this.contents = contents;
      this.person = character.person;
      this.choose();
    } catch (error) {
      this.fail(error, () => this.begin());
    }
  }

  end = (...buttons) => h("div", { class: "bar end" }, buttons);

  /** Send the file; the server keeps it for some minutes. */
  async send() {
    const { file, id, zone } = this.upload;
    const query = new URLSearchParams({ name: file.name.slice(-200), keep: id, ...(zone && { tz: zone }) });
    try {
      const path = bankPath(`/import/preview?${query}`);
      const contents = await post(path, file, { type: "application/octet-stream", signal: this.signal });
      this.upload.isKept = true;
      return contents;
    } catch (error) {
      if (error.option !== "tz" || !zone) throw error; // this format has no times without a zone
      this.upload.zone = null;
      return this.send();
    }
  }

  choose() {
    const start = (choices) => {
      this.choices = choices;
      this.run();
    };
    this.show(importPreview(this.contents, this.upload.file.name, this.person, start, () => this.close()));
  }

  async run() {
    const stop = new AbortController();
    this.upload.isBegun = true;
    const progress = importProgress(this.choices.messages, () => stop.abort());
    this.show(progress.element);
    this.signal.addEventListener("abort", () => stop.abort());
    try {
      await this.follow(stop.signal, progress);
    } catch (error) {
      this.fail(error, () => this.run(), progress.done);
    }
  }

  async follow(signal, progress) {
    const { speaker, assistant, sessions } = this.choices;
    const name = this.hasName() ? this.person : null;
    const body = {
      name: this.upload.file.name.slice(-200),
      tz: this.upload.zone,
      sessions,
      speakers: speaker && name ? { [speaker]: name } : {},
      assistants: assistant ? [assistant] : [],
    };
    const response = await request("POST", uploadPath(this.upload), { body, signal });
    for await (const [event, data] of readEvents(response)) {
      if (event === "progress") progress.show(data);
      else if (event === "stored") await this.finish(data);
      else if (event === "embedding") this.showEmbedding(data);
      else if (event === "done") return this.embedded?.remove();
      else throw new Problem(data);
    }
    if (!this.embedded) throw new Problem({ type: "urn:everthread:unreachable" });
    return undefined;
  }

  hasName = () => Boolean(this.person) && this.person !== DEFAULT_SPEAKER;

  async finish({ new: added, read, added: stored }) {
    const { speaker } = this.choices;
    Object.assign(this.upload, { isKept: false, isStored: true });
    if (speaker && speaker !== DEFAULT_SPEAKER && !this.hasName()) await patch(bankPath("/character"), { person: speaker });
    const duplicates = read - stored;
    this.embedded = h("div", { class: "progress" });
    const messages = t("count.messages", { count: added });
    this.show(
      h("p", { class: "headline", role: "status" }, added ? t("import.done", { messages }) : t("import.nothing_new")),
      added > 0 && duplicates > 0 && h("p", { class: "small" }, t("import.duplicates", { count: duplicates })),
      this.embedded,
      this.end(
        button(t("dialog.close"), () => this.close()),
        button(t("import.search"), () => (this.close(), emit("view", "sessions"), byId("query").select())),
        button(t("import.open_latest"), () => this.openLatest(), { class: "primary" }),
      ),
    );
  }

  showEmbedding({ done, total }) {
    if (this.embedded.firstChild) return void (this.embedded.lastChild.value = done);
    const label = t("import.embedding");
    return fill(this.embedded, h("p", { class: "small" }, label), h("progress", { max: total, value: done, "aria-label": label }));
  }

  async openLatest() {
    const { items } = await get(bankPath("/sessions?limit=50"));
    const known = new Set(this.contents.conversations.filter(({ id }) => this.choices.sessions?.includes(id) ?? true).map(({ id }) => id));
    const session = (items.find(({ id }) => known.has(id)) ?? items[0])?.id;
    this.close();
    if (session) navigate({ view: "read", session });
  }

  /** Say why it did not go on, with a way to go on where there is one. */
  async fail(error, goOn, done = null) {
    if (this.signal.aborted) return;
    if (error.kind === "upload-gone") return this.sendAgain(goOn);
    if (FINAL_STATUS.includes(error.status)) return this.refuse(error);
    const reason = error.name === "AbortError" ? t("import.stopped") : reasonOf(error);
    const kept = done !== null && t("import.kept", { done, total: this.choices.messages });
    this.show(
      h("p", { role: "alert", dir: "auto" }, [reason, kept].filter(Boolean).join(" ")),
      this.end(button(t("dialog.close"), () => this.close()), button(t("import.go_on"), goOn, { class: "primary" })),
    );
  }

  /** Send the file once more, which the server no longer has. */
  async sendAgain(goOn) {
    try {
      await this.send();
    } catch (error) {
      return this.fail(error, goOn);
    }
    return goOn();
  }

  /** Say that the file can't be read, and which can. */
  refuse(error) {
    const { file } = this.upload;
    const reason = textElement("p", error.summary ?? error.message, { class: "small" });
    this.show(
      h("p", { class: "headline", role: "alert" }, t("import.refused", { file: file.name })),
      !error.summary && reason,
      h("p", {}, t("import.readable")),
      h("ul", { class: "sources" }, SOURCES.map((source) => h("li", {}, t(`source.${source}`)))),
      h("p", {}, t("import.cards")),
      error.summary && reason,
      this.end(button(t("dialog.close"), () => this.close(), { class: "primary" })),
    );
  }
}

function reasonOf({ status, kind, message, waitSeconds }) {
  if (status === 429) return t("import.wait", { count: waitSeconds || 1 });
  if (kind === "unreachable") return t("import.interrupted");
  return status === 503 || status === 409 ? t("import.busy") : message;
}

const gigabytes = (bytes) => formatNumber(bytes / BYTES_PER_GB, ONE_DECIMAL);

const tooLarge = ({ size }) => t("import.too_large", { size: gigabytes(size), max: gigabytes(MAX_FILE_BYTES) });
