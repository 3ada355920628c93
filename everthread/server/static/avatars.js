// The characters of the gallery, and their pictures.

import { get, request } from "./api.js";
import { fill, h } from "./dom.js";
import { on } from "./events.js";

const pictures = new Map(); // promises of blob URLs by name; of null for characters without a picture
let charactersLoading = null; // a promise of the characters of the gallery

on("characters", (name) => (pictures.delete(name), (charactersLoading = null)));

/** All characters; cached unless they are to be fetched again. */
export function listCharacters({ refresh = false } = {}) {
  if (refresh) charactersLoading = null;
  return (charactersLoading ??= get("/characters?limit=500").then((page) => page.items));
}

export const characterPath = (name, more = "") => `/characters/${encodeURIComponent(name)}${more}`;

/** A character's picture, or the first letter of its name. */
export function avatar(name) {
  const box = h("span", { class: "avatar", "aria-hidden": "true" }, [...(name.trim() || "?")][0].toUpperCase());
  pictureUrl(name).then((url) => url && fill(box, h("img", { src: url, alt: "" })));
  return box;
}

function pictureUrl(name) {
  if (!pictures.has(name)) pictures.set(name, loadPicture(name));
  return pictures.get(name);
}

async function loadPicture(name) {
  try {
    if (!(await listCharacters()).find((character) => character.name === name)?.has_picture) return null;
    const response = await request("GET", characterPath(name, "/picture"));
    return URL.createObjectURL(await response.blob());
  } catch {
    return null; // the letter is shown instead
  }
}
