// A box that stays at its end while text arrives, but only if the reader is there.

export class Following {
  constructor(box) {
    this.box = box;
    this.stuck = true;
    this.asked = false;
    box.addEventListener("scroll", () => (this.stuck = box.scrollHeight - box.scrollTop - box.clientHeight < 48));
    new ResizeObserver(() => this.grown()).observe(box);
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
