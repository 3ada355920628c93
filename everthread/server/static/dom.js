// Helpers that create elements. Texts are set as text; only the Markdown of replies is parsed (richtext.js).

const SVG = "http://www.w3.org/2000/svg";

/** Create an element. props: `on: {event: listener}`, a few properties by name, and attributes for everything else. */
export function h(tag, props = {}, ...children) {
  return applyProps(document.createElement(tag), props, children);
}

export function svg(tag, props = {}, ...children) {
  return applyProps(document.createElementNS(SVG, tag), props, children);
}

function applyProps(element, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (name === "on") for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    else if (value === false || value == null) continue;
    else if (name === "value" || name === "checked" || name === "disabled" || name === "hidden") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...flatten(children));
  return element;
}

/** All children in one list, without empty ones. */
const flatten = (children) => children.flat(Infinity).filter((child) => child || child === 0);

export const byId = (id) => document.getElementById(id);

/** An element with text in any script: the browser picks its direction. */
export const textElement = (tag, text, props = {}) => h(tag, { dir: "auto", ...props }, text);

export function button(label, act, props = {}) {
  return h("button", { type: "button", on: { click: act }, ...props }, label);
}

/** A button with an icon; its label is read by screen readers and shown as a tooltip. */
export function iconButton(name, label, act, props = {}) {
  return button(icon(name), act, { class: "icon", "data-icon": name, "aria-label": label, title: label, ...props });
}

const PATHS = {
  regenerate: "M20 11a8 8 0 1 0-2.3 6.3M20 5v6h-6",
  previous: "M15 5l-7 7 7 7",
  branch: "M6 4v9a4 4 0 0 0 4 4h9m-4-4 4 4-4 4",
  edit: "M4 20l1-4L16 5l3 3L8 19zM14 7l3 3",
  copy: "M9 9h10v11H9zM6 15H5V4h10v2",
  forget: "M5 7h14M10 4h4M7 7l1 13h8l1-13",
  next: "M9 5l7 7-7 7",
  more: "M5 12h1M11.5 12h1M18 12h1",
  memory: "M5 6h14M5 12h9M5 18h11",
  mask: "M3 12h18M6 12l2-7h8l2 7M5 16a3 3 0 1 0 6 0 3 3 0 1 0-6 0zM13 16a3 3 0 1 0 6 0 3 3 0 1 0-6 0z",
  pin: "M9 4h6l-1 6 3 3H7l3-3zM12 13v7",
  scene: "M12 21s-6-6-6-11a6 6 0 0 1 12 0c0 5-6 11-6 11zM12 12a2 2 0 1 0 0-4 2 2 0 0 0 0 4z",
  chat: "M4 5h16v11H9l-5 4z",
  people: "M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM3 20a6 6 0 0 1 12 0M16 4.5a3.5 3.5 0 0 1 0 6.5M18 14.5a6 6 0 0 1 3 5.5",
  sessions: "M4 7h16M4 12h16M4 17h10",
  close: "M6 6l12 12M18 6 6 18",
};

export function icon(name) {
  const path = svg("path", { d: PATHS[name] });
  return svg("svg", { viewBox: "0 0 24 24", class: "glyph", "aria-hidden": "true" }, path);
}

/** Whether a key is Enter without Shift, and not the one that confirms a conversion of an input method. That has the
 * keyCode 229, in Safari too, where `isComposing` is false by then. */
export const isEnter = ({ keyCode, shiftKey }) => keyCode === 13 && !shiftKey;

/** A select box in one row with its label. choices: [[value, label], …]. */
export function select(label, choices, value, change) {
  const options = choices.map(([choice, shown]) => h("option", { value: choice }, shown));
  const box = h("select", { on: { change: () => change(box.value) } }, options);
  box.value = value;
  return h("label", { class: "row" }, h("span", {}, label), box);
}

export function fill(element, ...children) {
  element.replaceChildren(...flatten(children));
}

/** Cut a text to a maximum length, with an ellipsis. */
export const truncate = (text, length) => (text.length > length ? `${text.slice(0, length - 1).trimEnd()}…` : text);

export function download(blob, name) {
  const url = URL.createObjectURL(blob);
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Call a function with the files that are dropped on an element. A folder is a file with its `entry`. */
export function acceptDrops(box, accept) {
  const setDropping = (on) => (event) => {
    if (![...event.dataTransfer.types].includes("Files")) return;
    event.preventDefault();
    event.stopPropagation();
    box.classList.toggle("dropping", on);
  };
  box.addEventListener("dragover", setDropping(true));
  box.addEventListener("dragleave", setDropping(false));
  box.addEventListener("drop", (event) => {
    setDropping(false)(event);
    const { files, items } = event.dataTransfer;
    const entries = [...items].filter(({ kind }) => kind === "file").map((item) => item.webkitGetAsEntry());
    if (files.length) accept([...files].map((file, index) => Object.assign(file, { entry: entries[index] })));
  });
}
