// The REST API client. All of the page's requests go through here.

import { route } from "./router.js";
import { hasText, t } from "./words.js";

const API_ROOT = "/api/v1";
const KEY_STORAGE = "everthread key";
export const FINAL_STATUS = [413, 415, 422]; // of a file that is refused, however often it is sent

const underWay = new Map(); // the path of each request that has no response yet, by its promise
let promptForKey = async () => null;

/** An error from the server's problem document (RFC 9457); kind is its type without the prefix. Its message is in the
 * page's words, if there are any for its reason or its kind; `detail` is the server's. */
export class Problem extends Error {
  constructor(document) {
    const { option, where, message, remedy, detail, title, values } = document;
    const kind = (document.type ?? "").replace("urn:everthread:", "");
    const key = `problem.${document.reason ?? kind}`;
    const fault = message && (where ? `${where}: ` : "") + message + (remedy && !option ? `; ${remedy}` : ""); // of a file
    super(hasText(key) ? t(key, values) : fault || detail || title || t("error.refused"));
    this.kind = kind;
    this.detail = detail;
    this.option = option ?? null; // with which the server would do it
    this.status = document.status ?? 0;
  }
}

export const setKeyPrompt = (prompt) => (promptForKey = prompt);

export const hasKey = () => Boolean(sessionStorage.getItem(KEY_STORAGE));
export const setKey = (key) =>
  key ? sessionStorage.setItem(KEY_STORAGE, key) : sessionStorage.removeItem(KEY_STORAGE);

/** An API path in a bank: the current one unless another is given. */
export const bankPath = (path = "", bank = route.bank) => `/banks/${encodeURIComponent(bank)}${path}`;

/** An API path in a conversation of a bank. */
export const chatPath = (path = "", session = route.session, bank = route.bank) =>
  bankPath(`/chat/${encodeURIComponent(session)}${path}`, bank);

/** The API path of a conversation's relevance buffer. */
export const bufferPath = (session) => bankPath(`/sessions/${encodeURIComponent(session)}/buffer`);

export const randomId = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (n) => n.toString(16).padStart(2, "0")).join("");

/** Send a request; ask for a key and retry on 401. body is sent as JSON unless a type is given. transport: sends it as
 * fetch does. Throws Problem. */
export async function request(method, path, options = {}) {
  const response = sendUntilAllowed(method, path, options);
  underWay.set(response, path);
  try {
    return await response;
  } finally {
    underWay.delete(response);
  }
}

/** Wait until no request to a bank is under way. A bank that is deleted meanwhile would not be found. */
export async function waitForRequests(bank) {
  const path = bankPath("", bank);
  const find = () => [...underWay].filter(([, other]) => other === path || other.startsWith(`${path}/`));
  for (let found; (found = find()).length; ) await Promise.allSettled(found.map(([response]) => response));
}

async function sendUntilAllowed(method, path, { body, type, signal, transport = fetch }) {
  const headers = { Accept: "application/json, text/event-stream, */*" };
  if (body !== undefined) headers["Content-Type"] = type ?? "application/json";
  if (method !== "GET") headers["Idempotency-Key"] = randomId();
  const payload = body === undefined || type ? body : JSON.stringify(body);
  for (;;) {
    const key = sessionStorage.getItem(KEY_STORAGE);
    if (key) headers.Authorization = `Bearer ${key}`;
    const response = await send(transport, API_ROOT + path, { method, headers, body: payload, signal });
    if (response.ok) return response;
    const problem = await problemOf(response);
    if (response.status !== 401 || problem.kind === "wrong-password" || !(await promptForKey())) throw problem;
  }
}

async function send(transport, url, request) {
  try {
    return await transport(url, { credentials: "same-origin", ...request });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    const detail = t("error.unreachable");
    throw new Problem({ detail, type: "urn:everthread:unreachable" });
  }
}

async function problemOf(response) {
  try {
    const problem = new Problem(await response.json());
    problem.waitSeconds = Number(response.headers.get("Retry-After")); // before the request may be repeated
    return problem;
  } catch {
    return new Problem({
      status: response.status,
      detail: t("error.status", { status: response.status }),
    });
  }
}

/** Parse JSON; the time at which an undated line was stored is left out. */
const parseJson = (text) =>
  JSON.parse(text, (_, value) => (value?.undated ? { ...value, said_at: null } : value));

async function requestJson(method, path, body, more = {}) {
  const response = await request(method, path, { body, ...more });
  return response.status === 204 ? null : parseJson(await response.text());
}

export const get = (path, more) => requestJson("GET", path, undefined, more);
export const post = (path, body, more) => requestJson("POST", path, body, more);
export const put = (path, body) => requestJson("PUT", path, body);
export const patch = (path, body) => requestJson("PATCH", path, body);
export const remove = (path) => requestJson("DELETE", path);

/** The items of a paginated list, at most about 5,000. */
export async function getAll(path) {
  const items = [];
  let after = null;
  do {
    const sign = path.includes("?") ? "&" : "?";
    const page = await get(`${path}${sign}limit=500${after ? `&after=${encodeURIComponent(after)}` : ""}`);
    items.push(...page.items);
    after = page.next;
  } while (after && items.length < 5_000);
  return items;
}

/** The hits of a recall, each with a line: a unit, such as a note, gets one of its text at the end of its source. */
export const normalizeHits = (hits) => hits.map((hit) => (hit.line ? hit : { ...hit, line: lineOfUnit(hit.unit) }));

export function lineOfUnit({ kind, text, session, said_at, last_seq, metadata, retracted_at, valid_to }) {
  const replaced_at = retracted_at ?? valid_to;
  return { seq: last_seq, session, role: "system", speaker: kind, text, said_at, metadata, retracted_at: replaced_at };
}

/** Whether the bank has any chat. listed: a list without archived ones. */
export const hasChats = async (listed) =>
  listed.length > 0 || (await get(bankPath("/sessions?limit=1"))).items.length > 0;

/** The server-sent events of a response as they arrive: [name, data]. EventSource can't send a POST. */
export async function* readEvents(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (rest + value).split(/\r?\n\r?\n/);
      rest = blocks.pop();
      for (const block of blocks) {
        const event = parseEvent(block);
        if (event) yield event;
      }
    }
  } finally {
    reader.cancel().catch(() => {}); // the reader may have gone elsewhere
  }
}

function parseEvent(block) {
  let name = "message";
  const data = [];
  for (const row of block.split(/\r?\n/)) {
    if (row.startsWith("event:")) name = row.slice(6).trim();
    else if (row.startsWith("data:")) data.push(row.slice(5).replace(/^ /, ""));
  }
  return data.length ? [name, parseJson(data.join("\n"))] : null;
}
