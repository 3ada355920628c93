// A file of earlier chats: it is sent to the server, which keeps it for some minutes, and imported from there.

import { bankPath, FINAL_STATUS, post, Problem, randomId, readEvents, remove, request } from "./api.js";
import { zipFolder } from "./importfolder.js";
import { formatNumber, ONE_DECIMAL, t } from "./words.js";

const MAX_FILE_BYTES = 1e9; // of the server
const BYTES_PER_GB = 1e9;
const MAX_NAME_CHARS = 200; // of the server, too
const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** contents: what the server found in it. refusal: why it can't be read. choices: {speaker, assistant, sessions (null:
 * all), messages}. counts: those of its import, once its messages are stored. */
export class Upload {
  contents = null;
  choices = null;
  counts = null;
  #id = randomId();
  #zone = ZONE;
  #isKept = false; // or may be

  constructor(file, bank, refusal = null) {
    Object.assign(this, { file, bank, refusal, name: file.name.slice(-MAX_NAME_CHARS) });
  }

  /** Make an archive of a folder, which can't be sent. */
  async open() {
    const { entry } = this.file;
    if (!entry?.isDirectory) return;
    try {
      this.file = await zipFolder(entry, MAX_FILE_BYTES);
      this.name = this.file.name.slice(-MAX_NAME_CHARS);
    } catch (error) {
      this.refusal = error.size ? tooLarge(error) : t(error.files ? "import.too_many" : "import.folder");
    }
  }

  /** Send the file, and have it read. show: called with the number of bytes that are sent. */
  async send(show, signal) {
    const { file, name } = this;
    if (file.size > MAX_FILE_BYTES) return this.#refuse({ status: 413, message: tooLarge(file) });
    if (!(await canOpen(file))) return this.#refuse({ status: 422, message: t("import.folder") });
    const query = new URLSearchParams({ name, keep: this.#id, ...(this.#zone && { tz: this.#zone }) });
    const path = bankPath(`/import/preview?${query}`, this.bank);
    this.#isKept = true;
    try {
      this.contents = await post(path, file, { type: "application/octet-stream", signal, transport: transportShowing(show) });
    } catch (error) {
      if (error.option !== "tz" || !this.#zone) return this.#refuse(error);
      this.#zone = null; // this format has no times without a zone
      await this.send(show, signal);
    }
    return undefined;
  }

  /** Import what is chosen of it, under the person's name; yields the server's events. isLast: no other file follows. */
  async *run(person, isLast, signal) {
    const { speaker, assistant, sessions, dateOrder } = this.choices;
    const body = {
      name: this.name,
      tz: this.#zone,
      date_order: dateOrder ?? null,
      sessions,
      speakers: speaker && person ? { [speaker]: person } : {},
      assistants: assistant ? [assistant] : [],
      embed: isLast,
    };
    try {
      for await (const [event, data] of readEvents(await request("POST", this.#path, { body, signal }))) {
        if (event === "error") throw new Problem(data);
        if (event === "stored") Object.assign(this, { counts: data }).#isKept = false;
        yield [event, data];
      }
    } catch (error) {
      if (!this.counts) this.#refuse(error); // otherwise the rest goes on without this page
    }
    if (!this.counts && !this.refusal) throw new Problem({ type: "urn:everthread:unreachable" });
  }

  /** Note why the file can't be read; throw an error that has another cause. */
  #refuse(error) {
    if (!FINAL_STATUS.includes(error.status)) throw error;
    this.refusal = error.message;
  }

  /** Have the server remove it; otherwise it does so later. */
  discard() {
    if (this.#isKept) remove(this.#path).catch(() => {});
    this.#isKept = false;
  }

  get #path() {
    return bankPath(`/import/${this.#id}`, this.bank);
  }
}

/** A function that sends a request as fetch does, which can't tell how much of its body is sent. */
const transportShowing = (show) => (url, { method, headers, body, signal }) =>
  new Promise((resolve, reject) => {
    const sender = new XMLHttpRequest();
    sender.open(method, url);
    for (const [name, value] of Object.entries(headers)) sender.setRequestHeader(name, value);
    sender.upload.onprogress = ({ loaded }) => show(loaded);
    sender.upload.onload = () => show(body.size);
    sender.onload = () => {
      const headers = { "retry-after": sender.getResponseHeader("retry-after") ?? "" };
      resolve(new Response(sender.response, { status: sender.status, headers }));
    };
    sender.onerror = () => reject(new TypeError());
    sender.onabort = () => reject(signal.reason);
    signal.throwIfAborted();
    signal.addEventListener("abort", () => sender.abort());
    sender.send(body);
  });

/** Whether the browser can read a file, which it can't do with a folder. */
const canOpen = (file) => file.slice(0, 1).arrayBuffer().then(() => true, () => false);

/** 1.5, of a unit of so many bytes. */
export const formatSize = (bytes, unit) => formatNumber(bytes / unit, ONE_DECIMAL);

const tooLarge = ({ size }) => t("import.too_large", { size: formatSize(size, BYTES_PER_GB), max: formatSize(MAX_FILE_BYTES, BYTES_PER_GB) });
