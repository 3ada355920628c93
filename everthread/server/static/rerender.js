// Replaces the contents of a box without disturbing the reader: focus, open details and scrolling are preserved.

import { fill } from "./dom.js";

const FOCUSABLE = "button, a, summary, input, textarea";

export function rerender(box, ...children) {
  const focused = box.contains(document.activeElement) ? elementKey(document.activeElement) : null;
  const open = new Set([...box.querySelectorAll("details[open]")].map(elementKey));
  const top = box.scrollTop;
  fill(box, ...children);
  for (const details of box.querySelectorAll("details")) details.open ||= open.has(elementKey(details));
  box.scrollTop = top;
  if (focused)
    [...box.querySelectorAll(FOCUSABLE)].find((item) => elementKey(item) === focused)?.focus({ preventScroll: true });
}

/** An element's card and its index there: a pressed button may have another label afterwards. */
function elementKey(element) {
  const card = element.closest("[data-card]");
  const index = [...(card?.querySelectorAll(`${FOCUSABLE}, details`) ?? [])].indexOf(element);
  return `${card?.dataset.card} ${index}`;
}

/** Elements that are drawn again only if the data they show have changed. */
export class ElementCache {
  constructor() {
    this.entries = new Map(); // by name, each with its data
  }

  get(name, data, draw) {
    const key = JSON.stringify(data);
    const old = this.entries.get(name);
    if (old?.key === key || old?.element.querySelector(".editing")) return old.element;
    const element = draw();
    this.entries.set(name, { key, element });
    return element;
  }

  clear() {
    this.entries.clear();
  }
}

/** Make these elements the children of a box, leaving those in place that are there already. If a line with a focused
 * button was drawn again, its new button gets the focus, or else the fallback. */
export function reconcile(box, elements, fallback) {
  const focused = box.contains(document.activeElement) ? document.activeElement : null;
  const seq = focused?.closest(".line")?.dataset.seq;
  elements.forEach(
    (child, index) => box.children[index] === child || box.insertBefore(child, box.children[index] ?? null),
  );
  while (box.children.length > elements.length) box.lastElementChild.remove();
  if (!focused || document.activeElement === focused) return;
  const buttons = seq ? [...box.querySelectorAll(`[data-seq="${seq}"] button`)] : [];
  const action = actionOf(focused);
  (buttons.find((button) => actionOf(button) === action) ?? fallback).focus({ preventScroll: true });
}

/** What a button does; pressing it may change its name. */
const actionOf = (button) => button.dataset.icon ?? button.textContent;
