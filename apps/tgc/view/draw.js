// The canvas of a graph: what it shows, and what the pointer does. Panning and zooming move the view, never the graph.
import {Size} from "./box.js";
import {viewStart} from "./layout.js";
import {Painting, kReadable, kText} from "./paint.js";
/** @typedef {import("./layout.js").Drawing} Drawing */
/** @typedef {import("./box.js").Box} Box */
/** @typedef {import("./paint.js").Marks} Marks */

// Scales of the view: minimum; maximum; least at which the initial view shows a whole graph; scale after zooming in to
// a box.
const kLeastScale = 0.004, kMostScale = 3, kFirstScale = 0.64, kReadScale = 0.8;
const kLeastWidthScale = 0.54,
  kMargin = 20;  // least scale of an initial view that has the graph's whole width; its margin
const kGestureMs = 250, kWheelStep = 50;  // pause between gestures; least step of a wheel in pixels
const kMinimapWidth = 120;  // width of the initial view that is left to the minimap, in pixels

export class GraphCanvas extends Painting {
  /** `picked` is called after each click, with the key of the clicked box, or of the clicked stub's source (-1:
   * neither), and whether it is a double click.
   * @param {HTMLCanvasElement} canvas @param {(key: number, again: boolean) => void} picked */
  constructor(canvas, picked) {
    super(canvas);
    // the box, such as the output, from which the initial view starts; null: the last
    /** @type {Box | null} */ this.anchor = null;
    this.beginsAtTop = false;  // whether the initial view starts at the top of a large graph instead
    this.picked = picked;
    this.waiting = false;
    this.frames = [];
    this.#addPointerListeners();
    new ResizeObserver(() => this.#resize()).observe(canvas);
  }

  /** @param {import("./data.js").RecordedGraph} graph @param {Drawing} drawing @param {Marks} marks */
  show(graph, drawing, marks) {
    if (drawing !== this.drawing) {
      this.hovered = null;
      this.rows = new Map();
      for (const box of drawing.boxes) {
        if (!this.rows.has(box.row)) this.rows.set(box.row, []);
        this.rows.get(box.row).push(box);
      }
      for (const list of this.rows.values()) list.sort((a, b) => a.x - b.x);
    }
    this.graph = graph, this.drawing = drawing, this.marks = marks;
    this.redraw();
  }

  redraw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      const begun = performance.now();
      this.draw();
      this.frames.push(performance.now() - begun);
      if (this.frames.length > 240) this.frames.shift();
    });
  }

  /** Sets the initial view: the whole graph if its text can be read, else the part around `anchor` (null: the last
   * box), or the top. `isSmall`: text may be small, because the user knows the graph. `isWide`: the view has the whole
   * width of the graph if titles can be read, because a change is to be seen in its graph. */
  begin(isSmall = false, isWide = false) {
    const d = this.drawing, {width, height} = this.size, end = this.anchor || (d && d.boxes[d.boxes.length - 1]);
    this.fit();
    if (!end || !width || this.view.scale >= (isSmall ? kText : kFirstScale)) return;
    // if the graph is too high but not too wide, scale it to the width of the view
    const whole = (width - 2 * kMargin) / (d.right - d.left),
      isWhole = whole >= (isWide ? kReadable : kLeastWidthScale);
    this.view.scale = isWhole ? Math.min(kReadScale, whole) : kFirstScale;
    const {scale} = this.view, across = (width - (isWhole ? 0 : kMinimapWidth)) / scale, down = height / scale;
    const margin = 50 / scale, first = d.boxes.filter((box) => box.y < d.top + down);
    const middle = this.beginsAtTop ? first.reduce((sum, box) => sum + box.x, 0) / first.length : end.x;
    const top = this.beginsAtTop ? d.top - margin : end.y + end.height / 2 + margin - down;
    this.view.x = viewStart(middle + Size.width / 2 - across / 2, d.left, d.right, across, kMargin);
    this.view.y = viewStart(top, d.top, d.bottom, down, margin);
    this.redraw();
  }
  /** Shows the whole graph. */
  fit() {
    const d = this.drawing, {width, height} = this.size;
    if (!d || !width) return;
    const scale = Math.min((width - 60) / (d.right - d.left), (height - 60) / (d.bottom - d.top), 1.1);
    this.view.scale = Math.max(kLeastScale, Math.min(kMostScale, scale));
    this.view.x = (d.left + d.right) / 2 - width / 2 / this.view.scale;
    this.view.y = (d.top + d.bottom) / 2 - height / 2 / this.view.scale;
    this.redraw();
  }
  /** Whether boxes are large enough for their titles. */
  isReadable() { return this.view.scale >= kReadable; }
  zoom(factor, at = null) {
    const {width, height} = this.size, p = at || {x: width / 2, y: height / 2}, before = this.view.scale;
    this.hidesOuterSpace = false;
    this.view.scale = Math.max(kLeastScale, Math.min(kMostScale, before * factor));
    this.view.x += p.x / before - p.x / this.view.scale, this.view.y += p.y / before - p.y / this.view.scale;
    this.redraw();
  }
  pan(dx, dy) {
    this.hidesOuterSpace = false;
    this.view.x += dx / this.view.scale, this.view.y += dy / this.view.scale;
    this.redraw();
  }
  /** Moves the view so that the box is visible, and zooms in if its text cannot be read. @param {Box} box */
  reveal(box) {
    const {width, height} = this.size, v = this.view, margin = 40 / v.scale;
    if (!width) return;
    if (v.scale < kText) this.zoom(kReadScale / v.scale);
    if (box.x < v.x + margin || box.x + Size.width > v.x + width / v.scale - margin)
      v.x = box.x + Size.width / 2 - width / 2 / v.scale;
    if (box.y - box.height < v.y + margin || box.y + box.height > v.y + height / v.scale - margin)
      v.y = box.y - height / 2 / v.scale;
    this.#removeOuterSpace();
    this.redraw();
  }

  /** Moves the view so that all boxes are visible. If these are too far apart, shows the two sides of a rewrite or, if
   * these are too far apart, too, only the last one, the result; without sides, the first box.
   * @param {Box[]} boxes @param {Box[]} sides */
  revealAll(boxes, sides = []) {
    const {width, height} = this.size, v = this.view, isSides = boxes === sides;
    if (!width || !boxes.length) return;
    const left = Math.min(...boxes.map((b) => b.x)), right = Math.max(...boxes.map((b) => b.x)) + Size.width;
    const top = Math.min(...boxes.map((b) => b.y - b.height / 2));
    const bottom = Math.max(...boxes.map((b) => b.y + b.height / 2));
    const scale = Math.min((width - 60) / (right - left), (height - 108) / (bottom - top), Math.max(v.scale, 0.8));
    if (scale < (isSides ? kReadable : kText)) {
      if (sides.length && !isSides) return this.revealAll(sides, sides);
      return this.reveal(isSides ? boxes[boxes.length - 1] : boxes[0]);
    }
    const seen = this.seen();
    const isSeen = left > seen.left && right < seen.right && top > seen.top + 20 / v.scale && bottom < seen.bottom;
    if (v.scale >= kReadable && isSeen) return;
    v.scale = Math.min(scale, v.scale < kReadable ? kReadScale : v.scale);
    v.x = (left + right) / 2 - width / 2 / v.scale, v.y = (top + bottom) / 2 - height / 2 / v.scale;
    this.#removeOuterSpace();
    this.redraw();
  }
  // Moves the view so that it shows little space beyond the graph's margins, now and after each change of the canvas's
  // size until the user moves the view.
  #removeOuterSpace() {
    const d = this.drawing, v = this.view, {width, height} = this.size;
    v.x = viewStart(v.x, d.left, d.right, width / v.scale, 20);
    v.y = viewStart(v.y, d.top, d.bottom, height / v.scale, 50 / v.scale);
    this.hidesOuterSpace = true;
  }

  /** Returns the box at a point of the canvas. @returns {Box | null} */
  boxAt(x, y) {
    const gx = this.view.x + x / this.view.scale, gy = this.view.y + y / this.view.scale;
    const row = Math.round(gy / Size.row);
    for (const box of (this.rows && this.rows.get(row)) || [])
      if (gx >= box.x && gx <= box.x + Size.width && Math.abs(gy - box.y) <= this.heightOf(box) / 2) return box;
    return null;
  }
  /** Returns the source's box of the stub at a point of the canvas; null: no stub is there. @returns {Box | null} */
  stubAt(x, y) {
    if (this.view.scale < kText) return null;
    const gx = this.view.x + x / this.view.scale, gy = this.view.y + y / this.view.scale;
    const found = this.stubs.find((line) => {
      const to = this.entry(line);
      return Math.abs(gx - to.x) < 16 && gy < to.y && gy > to.y - 20;
    });
    return found ? found.from : null;
  }
  /** Outlines the boxes within a range. @param {number} range the RANGE; -1: none */
  outline(range) {
    if (range !== this.outlined) this.outlined = range, this.redraw();
  }

  #resize() {
    const was = this.size, {scale} = this.view, share = was.width ? this.shareSeen() : 0;
    this.size = {width: this.canvas.clientWidth, height: this.canvas.clientHeight};
    if (was.width && this.size.width) {  // what is in the middle stays there
      this.view.x += (was.width - this.size.width) / 2 / scale;
      this.view.y += (was.height - this.size.height) / 2 / scale;
      if (this.hidesOuterSpace) this.#removeOuterSpace();
    }
    if (share && this.size.width && !keepsEnoughInView(this.shareSeen(), share)) this.begin(true);
    const ratio = devicePixelRatio || 1, {width, height} = this.size;
    this.canvas.width = Math.round(width * ratio), this.canvas.height = Math.round(height * ratio);
    if (this.whenSized && width) this.whenSized(), this.whenSized = null;
    if (this.drawing) this.draw();  // resizing has cleared the canvas
  }

  #addPointerListeners() {
    const c = this.canvas;
    let from = null, moved = false;
    c.addEventListener("pointerdown", (e) => {
      from = {x: e.clientX, y: e.clientY}, moved = false, c.setPointerCapture(e.pointerId);
    });
    c.addEventListener("pointermove", (e) => {
      if (!from) return this.#hover(e);
      const dx = e.clientX - from.x, dy = e.clientY - from.y;
      if (!moved && Math.abs(dx) + Math.abs(dy) < 4) return;
      moved = true, from = {x: e.clientX, y: e.clientY};
      this.pan(-dx, -dy);
    });
    c.addEventListener("pointerleave", () => this.#hover(null));
    c.addEventListener("pointerup", (e) => {
      if (from && !moved) {
        const box = this.boxAt(e.offsetX, e.offsetY), far = box ? null : this.stubAt(e.offsetX, e.offsetY);
        this.picked(box || far ? (box || far).key : -1, e.detail > 1);
      }
      from = null;
    });
    // A mouse's wheel zooms. A trackpad pans, and zooms by a pinch (then the browser sets ctrlKey). The first
    // event of a gesture decides which device it is.
    let last = 0, isWheel = false;
    c.addEventListener("wheel", (e) => {
      e.preventDefault();
      if (e.timeStamp - last > kGestureMs)
        isWheel = e.deltaMode !== 0 || !e.deltaX && Math.abs(e.deltaY) >= kWheelStep && Number.isInteger(e.deltaY);
      last = e.timeStamp;
      const lines = e.deltaMode ? 30 : 1;
      const at = {x: e.offsetX, y: e.offsetY};
      if (e.ctrlKey || e.metaKey) this.zoom(Math.exp(-Math.max(-30, Math.min(30, e.deltaY)) * 0.01), at);
      else if (isWheel && !e.shiftKey) this.zoom(Math.exp(-e.deltaY * lines * 0.0016), at);
      else this.pan(e.shiftKey && !e.deltaX ? e.deltaY * lines : e.deltaX, e.shiftKey ? 0 : e.deltaY);
    }, {passive: false});
  }

  /** @param {PointerEvent | null} e */
  #hover(e) {
    const box = e && this.drawing ? this.boxAt(e.offsetX, e.offsetY) || this.stubAt(e.offsetX, e.offsetY) : null;
    if (this.hovers) this.hovers(box, e);
    if (box === this.hovered) return;
    this.hovered = box, this.canvas.style.cursor = box ? "pointer" : "";
    this.redraw();
  }
}

/** Whether a change leaves enough of the graph in view. @param {number} share of the boxes that are in view
 * @param {number} before the share before the change */
export function keepsEnoughInView(share, before) {
  return share > 0 && (share >= 0.5 || share >= 0.8 * before) && !(before === 1 && share < 0.8);
}
