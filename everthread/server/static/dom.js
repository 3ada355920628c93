// Elements. Text is text: nothing here or elsewhere in the page ever reads a string as HTML.

const SVG = "http://www.w3.org/2000/svg";

/** An element. props: class, on: {event: listener}, properties by name, and attributes for all else. */
export function h(tag, props = {}, ...children) {
  return filled(document.createElement(tag), props, children);
}

/** An element of a picture. */
export function svg(tag, props = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), props, children);
}

function filled(element, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (name === "on") for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    else if (value === false || value === null || value === undefined) continue;
    else if (name === "value" || name === "checked" || name === "disabled" || name === "hidden") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...shown(children));
  return element;
}

/** What there is of these, in one row. */
const shown = (children) =>
  children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false && child !== "");

/** The element of this id. */
export const at = (id) => document.getElementById(id);

/** Text by someone, whichever way it is written. */
export const said = (tag, text, props = {}) => h(tag, { dir: "auto", ...props }, text);

/** A button that does something. */
export function button(label, act, props = {}) {
  return h("button", { type: "button", on: { click: act }, ...props }, label);
}

/** A button with a picture, and its name for those who don't see it. */
export function iconButton(name, label, act, props = {}) {
  return button(icon(name), act, { class: "icon", "aria-label": label, title: label, ...props });
}

const PATHS = {
  again: "M20 11a8 8 0 1 0-2.3 6.3M20 5v6h-6",
  back: "M15 5l-7 7 7 7",
  branch: "M6 4v9a4 4 0 0 0 4 4h9m-4-4 4 4-4 4",
  edit: "M4 20l1-4L16 5l3 3L8 19zM14 7l3 3",
  forget: "M5 7h14M10 4h4M7 7l1 13h8l1-13",
  forth: "M9 5l7 7-7 7",
  memory: "M5 6h14M5 12h9M5 18h11",
  mask: "M3 12h18M6 12l2-7h8l2 7M5 16a3 3 0 1 0 6 0 3 3 0 1 0-6 0zM13 16a3 3 0 1 0 6 0 3 3 0 1 0-6 0z",
  pin: "M9 4h6l-1 6 3 3H7l3-3zM12 13v7",
  scene: "M12 21s-6-6-6-11a6 6 0 0 1 12 0c0 5-6 11-6 11zM12 12a2 2 0 1 0 0-4 2 2 0 0 0 0 4z",
  talk: "M4 5h16v11H9l-5 4z",
  threads: "M4 7h16M4 12h16M4 17h10",
  undo: "M9 6L4 11l5 5M4 11h10a6 6 0 0 1 6 6v1",
};

/** A small picture. */
export function icon(name) {
  const path = svg("path", { d: PATHS[name] });
  return svg("svg", { viewBox: "0 0 24 24", class: "drawn", "aria-hidden": "true" }, path);
}

/** A choice, with its label in one row. */
export function select(label, choices, value, change) {
  const options = choices.map(([each, shown]) => h("option", { value: each }, shown));
  const box = h("select", { on: { change: () => change(box.value) } }, options);
  box.value = value;
  return h("label", { class: "row" }, h("span", {}, label), box);
}

/** Put these in place of what an element holds. */
export function fill(element, ...children) {
  element.replaceChildren(...shown(children));
}

/** A text as long as this at most. */
export const cut = (text, length) => (text.length > length ? `${text.slice(0, length - 1).trimEnd()}…` : text);

/** Hand a file to the person. */
export function download(blob, name) {
  const url = URL.createObjectURL(blob);
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Have a box take files that are dropped on it. */
export function dropping(box, take) {
  const over = (on) => (event) => {
    if (![...event.dataTransfer.types].includes("Files")) return;
    event.preventDefault();
    event.stopPropagation();
    box.classList.toggle("dropping", on);
  };
  box.addEventListener("dragover", over(true));
  box.addEventListener("dragleave", over(false));
  box.addEventListener("drop", (event) => {
    over(false)(event);
    if (event.dataTransfer.files.length) take([...event.dataTransfer.files]);
  });
}
