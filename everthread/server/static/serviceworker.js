// Shows a page that says so while the server can't be reached. Only this page and what it needs are stored, in the
// person's language, and stored again on each visit; nothing of the API ever is.

const CACHE = "everthread-offline";
const PAGE = "/static/offline.html";
const SHELL = [PAGE, "/static/offline.css", "/static/offline.js", "/static/theme.js", "/static/icon.svg"];

const store = async () => (await caches.open(CACHE)).addAll(SHELL);

addEventListener("install", (event) => {
  skipWaiting();
  event.waitUntil(store());
});
addEventListener("activate", (event) => event.waitUntil(clients.claim()));

addEventListener("fetch", (event) => {
  const { mode, method, url } = event.request;
  const { origin, pathname } = new URL(url);
  if (method !== "GET" || origin !== location.origin) return;
  if (mode === "navigate" && pathname === "/") event.respondWith(visit(event));
  else if (SHELL.includes(pathname)) event.respondWith(fetch(event.request).catch(() => caches.match(pathname)));
});

/** The page, or the one that says that the server can't be reached. */
async function visit(event) {
  try {
    const response = await fetch(event.request);
    event.waitUntil(store().catch(() => {}));
    return response;
  } catch {
    return (await caches.match(PAGE)) ?? Response.error();
  }
}
