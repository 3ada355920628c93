// The characters of the gallery, and their faces.

import { ask, get } from "./api.js";
import { on } from "./bus.js";
import { fill, h } from "./dom.js";

const pictures = new Map(); // blob URLs by name; null where there is none
let listed = null; // the characters of the gallery

on("characters", (name) => (pictures.delete(name), (listed = null)));

/** All characters; asked for anew, or as they were the last time. */
export function all(anew = false) {
  if (anew) listed = null;
  return (listed ??= get("/characters?limit=500").then((page) => page.items));
}

export const path = (name, more = "") => `/characters/${encodeURIComponent(name)}${more}`;

/** A character's face: its picture, or else the first letter of its name. */
export function face(name) {
  const box = h("span", { class: "face", "aria-hidden": "true" }, [...(name.trim() || "?")][0].toUpperCase());
  picture(name).then((url) => url && fill(box, h("img", { src: url, alt: "" })));
  return box;
}

function picture(name) {
  if (!pictures.has(name)) pictures.set(name, load(name));
  return pictures.get(name);
}

async function load(name) {
  try {
    if (!(await all()).find((each) => each.name === name)?.has_picture) return null;
    const answer = await ask("GET", path(name, "/picture"));
    return URL.createObjectURL(await answer.blob());
  } catch {
    return null; // without one, or out of reach: the letter stands
  }
}
