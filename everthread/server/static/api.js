// The REST API. Everything that the page knows and does goes through here.

import { here } from "./here.js";

const ROOT = "/api/v1";
const KEY = "everthread key";

let askForKey = async () => null;

/** What went wrong, as the server's problem document says it. */
export class Problem extends Error {
  constructor(document) {
    super(document.detail || document.title || "The server could not do that.");
    this.status = document.status ?? 0;
    this.kind = (document.type ?? "").replace("urn:everthread:", "");
  }
}

/** Who asks the person for a key, when the server wants one. */
export const whoAsks = (ask) => (askForKey = ask);

export const hasKey = () => Boolean(sessionStorage.getItem(KEY));
export const setKey = (key) => (key ? sessionStorage.setItem(KEY, key) : sessionStorage.removeItem(KEY));

/** A path within the bank that the page is at. */
export const inBank = (path = "") => `/banks/${encodeURIComponent(here.bank)}${path}`;

/** A path within a conversation there. */
export const inChat = (path = "", session = here.session) => inBank(`/chat/${encodeURIComponent(session)}${path}`);

const digits = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (n) => n.toString(16).padStart(2, "0"));

/** The server's answer, whatever it is. body: what is sent, JSON unless it is a file. Raises Problem. */
export async function ask(method, path, { body, type, signal } = {}) {
  const headers = { Accept: "application/json, text/event-stream, */*" };
  if (body !== undefined) headers["Content-Type"] = type ?? "application/json";
  if (method !== "GET") headers["Idempotency-Key"] = digits().join("");
  const sent = body === undefined || type ? body : JSON.stringify(body);
  for (;;) {
    const key = sessionStorage.getItem(KEY);
    if (key) headers.Authorization = `Bearer ${key}`;
    const answer = await reach(ROOT + path, { method, headers, body: sent, signal });
    if (answer.ok) return answer;
    const problem = await explained(answer);
    if (answer.status !== 401 || !(await askForKey(problem.message))) throw problem;
  }
}

async function reach(url, request) {
  try {
    return await fetch(url, { credentials: "omit", ...request });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    const detail = "The server can't be reached. Nothing you typed is lost: see that it runs, and try again.";
    throw new Problem({ detail, type: "urn:everthread:unreachable" });
  }
}

async function explained(answer) {
  try {
    return new Problem(await answer.json());
  } catch {
    return new Problem({ status: answer.status, detail: `The server answered ${answer.status} and did not say why.` });
  }
}

async function json(method, path, body, more = {}) {
  const answer = await ask(method, path, { body, ...more });
  return answer.status === 204 ? null : answer.json();
}

export const get = (path, more) => json("GET", path, undefined, more);
export const post = (path, body, more) => json("POST", path, body, more);
export const put = (path, body) => json("PUT", path, body);
export const patch = (path, body) => json("PATCH", path, body);
export const remove = (path) => json("DELETE", path);

/** All items of a list, page by page, up to this many. */
export async function every(path, most = 5_000) {
  const found = [];
  let after = null;
  do {
    const sign = path.includes("?") ? "&" : "?";
    const page = await get(`${path}${sign}limit=500${after ? `&after=${encodeURIComponent(after)}` : ""}`);
    found.push(...page.items);
    after = page.next;
  } while (after && found.length < most);
  return found;
}

/** The server-sent events of an answer, as they arrive: [name, data]; to a POST too, which EventSource can't do. */
export async function* events(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split(/\r?\n\r?\n/);
    rest = blocks.pop();
    for (const block of blocks) {
      const event = parsed(block);
      if (event) yield event;
    }
  }
}

function parsed(block) {
  let name = "message";
  const data = [];
  for (const row of block.split(/\r?\n/)) {
    if (row.startsWith("event:")) name = row.slice(6).trim();
    else if (row.startsWith("data:")) data.push(row.slice(5).replace(/^ /, ""));
  }
  return data.length ? [name, JSON.parse(data.join("\n"))] : null;
}
