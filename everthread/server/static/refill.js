// Drawing a part of the page anew under the reader's hands.

import { fill } from "./dom.js";

const MARKS = "button, a, summary, input, textarea";

/** Put these in place of what a box holds: what had the focus has it still, what was unfolded is, nothing scrolls. */
export function refill(box, ...children) {
  const focused = box.contains(document.activeElement) ? name(document.activeElement) : null;
  const open = new Set([...box.querySelectorAll("details[open]")].map(name));
  const top = box.scrollTop;
  fill(box, ...children);
  for (const each of box.querySelectorAll("details")) each.open ||= open.has(name(each));
  box.scrollTop = top;
  if (focused) [...box.querySelectorAll(MARKS)].find((each) => name(each) === focused)?.focus({ preventScroll: true });
}

/** What an element is called in the card that it stands in. A button that is pressed may be called otherwise then. */
function name(element) {
  const card = element.closest("[data-card]");
  const place = [...(card?.querySelectorAll(`${MARKS}, details`) ?? [])].indexOf(element);
  return `${card?.dataset.card} ${place}`;
}
