// Choosing a character's picture, and its crop. The page scales it and converts it to PNG; the server checks it.

import { request } from "./api.js";
import { avatar, characterPath } from "./avatars.js";
import { acceptDrops, button, fill, h } from "./dom.js";
import { withErrorsOf } from "./notices.js";
import { t } from "./words.js";

const WIDTH_PX = 600;
const HEIGHT_PX = 720;
const MAX_ZOOM = 4; // times the size at which the picture fills the frame
const STEP_PX = 30; // of an arrow key
const ARROWS = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

/** A field for the picture of the character with this name. */
export class PortraitField {
  constructor(name) {
    this.crop = null;
    this.frame = h("div", { class: "portrait" }, avatar(name || "?"));
    this.zoom = h("input", { type: "range", min: 1, max: MAX_ZOOM, step: 0.01, value: "1", "aria-label": t("portrait.zoom") });
    this.zoom.addEventListener("input", () => this.crop.setZoom(Number(this.zoom.value)));
    this.controls = h("label", { class: "zoom", hidden: true }, h("span", {}, t("portrait.zoom")), this.zoom);
    const file = h("input", { type: "file", accept: "image/*", hidden: true, "aria-label": t("portrait.file") });
    file.addEventListener("change", () => this.choose(file.files[0]));
    withErrorsOf(this, "choose");
    this.element = h(
      "div",
      { class: "portrait-field" },
      this.frame,
      this.controls,
      button(t("portrait.choose"), () => file.click()),
      file,
    );
    acceptDrops(this.element, ([dropped]) => this.choose(dropped));
  }

  async choose(file) {
    if (!file) return;
    const image = await createImageBitmap(file).catch(() => {
      throw new Error(t("portrait.unreadable", { file: file.name }));
    });
    this.crop = new Crop(image);
    this.zoom.value = "1";
    this.controls.hidden = false;
    fill(this.frame, this.crop.canvas);
  }

  /** Store the chosen picture, if there is one, as that of a character. */
  async save(name) {
    if (this.crop) await request("PUT", characterPath(name, "/picture"), { body: await this.crop.toBlob(), type: "image/png" });
  }
}

/** The part of an image that fills the frame. It is moved by dragging or with the arrow keys. */
class Crop {
  constructor(image) {
    this.image = image;
    this.zoom = 1;
    this.centre = { x: image.width / 2, y: image.height / 2 }; // in pixels of the image
    this.canvas = h("canvas", {
      width: WIDTH_PX,
      height: HEIGHT_PX,
      tabindex: "0",
      role: "img",
      "aria-label": t("portrait.canvas"),
    });
    this.canvas.addEventListener("pointerdown", (event) => this.canvas.setPointerCapture(event.pointerId));
    this.canvas.addEventListener("pointermove", (event) => this.onDrag(event));
    this.canvas.addEventListener("keydown", (event) => this.onKey(event));
    this.draw();
  }

  /** Pixels of the canvas for a pixel of the image. */
  get scale() {
    return this.zoom * Math.max(WIDTH_PX / this.image.width, HEIGHT_PX / this.image.height);
  }

  setZoom(zoom) {
    this.zoom = zoom;
    this.move(0, 0);
  }

  onDrag({ buttons, movementX, movementY }) {
    if (!buttons) return;
    const pixels = WIDTH_PX / this.canvas.clientWidth;
    this.move(movementX * pixels, movementY * pixels);
  }

  onKey(event) {
    const direction = ARROWS[event.key];
    if (!direction) return;
    event.preventDefault();
    this.move(direction[0] * STEP_PX, direction[1] * STEP_PX);
  }

  /** Move the image by pixels of the canvas, as far as it still fills the frame. */
  move(x, y) {
    const halfWidth = WIDTH_PX / this.scale / 2;
    const halfHeight = HEIGHT_PX / this.scale / 2;
    this.centre.x = clamp(this.centre.x - x / this.scale, halfWidth, this.image.width - halfWidth);
    this.centre.y = clamp(this.centre.y - y / this.scale, halfHeight, this.image.height - halfHeight);
    this.draw();
  }

  draw() {
    const [width, height] = [WIDTH_PX / this.scale, HEIGHT_PX / this.scale];
    const { x, y } = this.centre;
    const context = this.canvas.getContext("2d");
    context.imageSmoothingQuality = "high";
    context.clearRect(0, 0, WIDTH_PX, HEIGHT_PX);
    context.drawImage(this.image, x - width / 2, y - height / 2, width, height, 0, 0, WIDTH_PX, HEIGHT_PX);
  }

  toBlob() {
    return new Promise((resolve) => this.canvas.toBlob(resolve, "image/png"));
  }
}

const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
