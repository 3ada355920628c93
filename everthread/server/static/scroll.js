// Keeps a scroll box at its end while text arrives, unless the reader has scrolled up.

const NEAR_END_PX = 48;

export class ScrollFollower {
  constructor(box) {
    this.box = box;
    this.following = true;
    this.scheduled = false;
    this.lastTop = 0; // only scrolling up stops following: text may also grow before the scroll event arrives
    box.addEventListener("scroll", () => this.onScroll());
    new ResizeObserver(() => this.onGrow()).observe(box);
    new MutationObserver(() => this.onGrow()).observe(box, { childList: true, subtree: true });
  }

  onScroll() {
    const { scrollTop, scrollHeight, clientHeight } = this.box;
    const nearEnd = scrollHeight - scrollTop - clientHeight < NEAR_END_PX;
    this.following = nearEnd || (this.following && scrollTop >= this.lastTop);
    this.lastTop = scrollTop;
  }

  /** Scroll to the end in the next frame if the box follows. */
  onGrow() {
    if (!this.following || this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      if (this.following) this.box.scrollTop = this.box.scrollHeight;
    });
  }

  scrollToEnd() {
    this.following = true;
    this.onGrow();
  }
}
