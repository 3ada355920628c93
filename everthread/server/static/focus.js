// Keeps the focus where a person without a mouse expects it: if the element that has it disappears, an element of the same
// name gets it, or else the one that is now in its place.

const FOCUSABLE = "a[href], button, summary, input, select, textarea, [tabindex='0']";

const isShown = (element) => element.isConnected && element.checkVisibility();
const canFocus = (element) => element.matches(FOCUSABLE) && !element.disabled && isShown(element);
const nameOf = (element) => element.ariaLabel ?? (element.labels?.[0] ?? element).textContent;
const hasFocus = (element) => element !== document.body && isShown(element);

/** Where an element is: its ancestors, the innermost first, each with the index of the child that leads to it. */
function pathOf(element) {
  const path = [];
  for (let child = element; child.parentElement; child = child.parentElement)
    path.push({ parent: child.parentElement, index: [...child.parentElement.children].indexOf(child) });
  return path;
}

/** The element that takes the place of a lost one. */
function successorOf(lost, path) {
  const shown = path.findIndex(({ parent }) => isShown(parent));
  const places = path.slice(shown);
  const twins = [...places[0].parent.querySelectorAll(lost.tagName)].filter((each) => canFocus(each) && nameOf(each) === nameOf(lost));
  if (twins.length === 1) return twins[0];
  for (const { index } of path.slice(0, shown).reverse()) {
    const [{ parent, index: above }] = places;
    const drawnAgain = parent.children[above] ?? parent.lastElementChild;
    if (!drawnAgain) break;
    places.unshift({ parent: drawnAgain, index });
  }
  for (const { parent, index } of places) {
    const children = [...parent.children];
    const near = [...children.slice(index), ...children.slice(0, index).reverse()];
    const found = near.flatMap((child) => [child, ...child.querySelectorAll(FOCUSABLE)]).find(canFocus);
    if (found) return found;
  }
  return null;
}

let last = null; // what had the focus before the latest dialog, and the path there

/**
 * Remember which element has the focus; if none has, as between two dialogs that follow each other, the one before it.
 * Returns a function that moves the focus back there if nothing has it then.
 */
export function rememberFocus() {
  const active = document.activeElement;
  if (hasFocus(active)) last = { element: active, path: pathOf(active) };
  const remembered = last;
  return () => {
    if (!remembered || hasFocus(document.activeElement)) return;
    const { element, path } = remembered;
    (canFocus(element) ? element : successorOf(element, path))?.focus({ preventScroll: true });
  };
}

/** Hide the name that an icon shows while it has the focus. In a dialog Escape closes that. */
function hideName(event) {
  const { key, target } = event;
  if (key !== "Escape" || !target.matches("button.icon:focus-visible:not([data-unnamed])") || target.closest("dialog")) return;
  target.dataset.unnamed = "";
  event.stopPropagation(); // the next one does what it does elsewhere
}

/** Watch the page from now on. A dialog gives the focus back by itself (dialogs.js). */
export function watchFocus() {
  let element = null;
  let path = [];
  let waits = false; // for the element to be enabled again
  const forget = () => (element = null);
  const update = () => {
    if (!element || hasFocus(document.activeElement)) {
      element = hasFocus(document.activeElement) ? document.activeElement : null;
      path = element ? pathOf(element) : [];
      waits = false;
    } else if (isShown(element)) {
      if (element.disabled) waits = true;
      else if (waits) element.focus({ preventScroll: true });
    } else if (path.every(({ parent }) => parent.tagName !== "DIALOG" || parent.open)) {
      successorOf(element, path)?.focus({ preventScroll: true });
    }
  };
  document.addEventListener("focusin", update);
  document.addEventListener("keydown", hideName);
  document.addEventListener("focusout", ({ target }) => delete target.dataset.unnamed);
  document.addEventListener("pointerdown", forget);
  const options = { childList: true, subtree: true, attributes: true, attributeFilter: ["class", "data-view", "disabled", "hidden"] };
  new MutationObserver(update).observe(document.body, options);
}
