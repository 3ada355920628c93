// The scroll position of the box of a chat. It follows text that arrives unless the reader has scrolled up, is saved in the
// browser's history, and has more lines drawn before the reader arrives at them.

import { on } from "./events.js";

const NEAR_END_PX = 48;
const MORE_WITHIN_PX = 1_500; // of the first or the last line that is drawn
const SAVE_DELAY_MS = 150; // after the last scrolling: browsers limit how often the history may change

export class ScrollFollower {
  constructor(box) {
    this.box = box;
    this.place = null; // the address whose lines are shown; null while they are being read
    this.following = true;
    this.scheduled = false;
    this.lastTop = 0; // only scrolling up stops following: text may also grow before the scroll event arrives
    box.addEventListener("scroll", () => this.onScroll());
    new ResizeObserver(() => this.onResize()).observe(box);
    new MutationObserver(() => this.onGrow()).observe(box, { childList: true, subtree: true });
    on("route", () => (this.place = null));
  }

  /** Called when the lines of an address have been drawn. target: the element to scroll to; null for the end, which is
   * then followed. extend(side): draws more lines at the "start" or the "end". */
  arrive(target, extend) {
    this.place = location.hash;
    this.extend = extend;
    this.target = target;
    this.follows = target === null;
    if (this.follows) return this.scrollToEnd();
    this.following = false;
    return this.onResize();
  }

  /** Scroll to where the reader arrives once the box is shown, and keep to the end if it follows. */
  onResize() {
    if (this.target && this.box.clientHeight) {
      this.target.scrollIntoView({ block: "start" });
      this.target = null;
      this.onScroll();
    }
    this.onGrow();
  }

  onScroll() {
    const { scrollTop, scrollHeight, clientHeight } = this.box;
    if (!clientHeight) return; // another column is shown
    const below = scrollHeight - scrollTop - clientHeight;
    this.following = this.follows && (below < NEAR_END_PX || (this.following && scrollTop >= this.lastTop));
    this.lastTop = scrollTop;
    if (this.place === null) return;
    if (scrollTop < MORE_WITHIN_PX) this.extend("start");
    if (below < MORE_WITHIN_PX) this.extend("end");
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.save(), SAVE_DELAY_MS);
  }

  /** Save the line at the top of the box, which "back" and a reload return to. */
  save() {
    if (this.place !== location.hash || !this.box.clientHeight) return;
    const top = this.following || (!this.follows && !this.box.scrollTop) ? null : Number(this.topLine()?.dataset.seq) || null;
    if ((history.state?.top ?? null) !== top) history.replaceState({ ...history.state, top }, "");
  }

  topLine() {
    const { top } = this.box.getBoundingClientRect();
    return [...this.box.querySelectorAll("[data-seq]")].find((line) => line.getBoundingClientRect().bottom > top + 1);
  }

  /** Draw something without moving what the reader sees. */
  keepPlace(draw) {
    const seq = this.topLine()?.dataset.seq;
    const find = () => this.box.querySelector(`[data-seq="${seq}"]`)?.getBoundingClientRect().top;
    const before = find();
    draw();
    this.box.scrollTop += (find() ?? before ?? 0) - (before ?? 0);
  }

  /** Scroll to the end in the next frame if the box follows. The screen of a new chat is read from its beginning. */
  onGrow() {
    if (!this.following || this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      if (!this.following || this.box.firstElementChild?.matches(".welcome")) return;
      this.box.scrollTop = this.box.scrollHeight;
      this.lastTop = this.box.scrollTop;
    });
  }

  scrollToEnd() {
    this.following = this.follows = true;
    this.lastTop = 0;
    this.onGrow();
  }
}
