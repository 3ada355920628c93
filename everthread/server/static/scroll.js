// A box that stays at its end while text arrives, but only if the reader is there.

export class Following {
  constructor(box) {
    this.box = box;
    this.stuck = true;
    this.asked = false;
    this.last = 0; // where it stood; only who goes back up leaves the end, not what grows before the event has come
    box.addEventListener("scroll", () => this.scrolled());
    new ResizeObserver(() => this.grown()).observe(box);
  }

  scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.box;
    const near = scrollHeight - scrollTop - clientHeight < 48;
    this.stuck = near || (this.stuck && scrollTop >= this.last);
    this.last = scrollTop;
  }

  /** Something was added. */
  grown() {
    if (!this.stuck || this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      if (this.stuck) this.box.scrollTop = this.box.scrollHeight;
    });
  }

  toEnd() {
    this.stuck = true;
    this.grown();
  }
}
