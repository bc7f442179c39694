// A small picture of the whole graph with the part that is in view. A click on it moves the view.
import {Size} from "./box.js";
import {colorOfOp} from "./colors.js";

const kMapWidth = 110, kMapShare = 0.32;  // maximum width in pixels, and maximum height as a share of the canvas

export class Minimap {
  /** @param {HTMLCanvasElement} canvas @param {import("./draw.js").GraphCanvas} graph */
  constructor(canvas, graph) {
    this.canvas = canvas, this.graph = graph, this.picture = document.createElement("canvas");
    graph.drawn = () => this.#update();
    const move = (e) => {
      if (!e.buttons) return;
      const {drawing, view, size} = graph;
      view.x = drawing.left + e.offsetX / this.scale - size.width / 2 / view.scale;
      view.y = drawing.top + e.offsetY / this.scale - size.height / 2 / view.scale;
      graph.redraw();
    };
    canvas.addEventListener("pointerdown", (e) => { canvas.setPointerCapture(e.pointerId), move(e); });
    canvas.addEventListener("pointermove", move);
  }

  #update() {
    const {canvas, graph} = this, {drawing, size} = graph, seen = graph.seen();
    const {left, right, top, bottom} = drawing;
    const isWhole = seen.left <= left && seen.right >= right && seen.top <= top && seen.bottom >= bottom;
    canvas.hidden = isWhole || !drawing.boxes.length || !size.height;  // a frame that is not shown has no height
    if (canvas.hidden) return;
    const scale = Math.min(kMapWidth / (right - left), size.height * kMapShare / (bottom - top));
    if (this.drawing !== drawing || this.scale !== scale) this.#prepare(scale);
    const c = canvas.getContext("2d"), ratio = devicePixelRatio || 1;
    c.setTransform(1, 0, 0, 1, 0, 0);
    c.clearRect(0, 0, canvas.width, canvas.height);
    c.drawImage(this.picture, 0, 0);
    c.scale(ratio, ratio);
    const [x, y] = [(seen.left - left) * scale, (seen.top - top) * scale];
    const width = Math.max(4, (seen.right - seen.left) * scale), height = Math.max(4, (seen.bottom - seen.top) * scale);
    c.fillStyle = c.strokeStyle = graph.paint.accent, c.lineWidth = 1.5;
    c.globalAlpha = 0.14, c.fillRect(x, y, width, height);
    c.globalAlpha = 1, c.strokeRect(x, y, width, height);
  }

  // Sets the size, and draws the boxes in idle time.
  #prepare(scale) {
    const {canvas, graph, picture} = this, {drawing} = graph, ratio = devicePixelRatio || 1;
    const width = Math.max(12, (drawing.right - drawing.left) * scale), height = (drawing.bottom - drawing.top) * scale;
    const isResized = this.scale !== scale || canvas.style.width !== width + "px";
    Object.assign(this, {drawing, scale});
    if (isResized) {
      canvas.style.width = width + "px", canvas.style.height = height + "px";
      for (const c of [canvas, picture]) c.width = Math.ceil(width * ratio), c.height = Math.ceil(height * ratio);
    }
    cancelIdleCallback(this.waiting);
    this.waiting = requestIdleCallback(() => this.#paint(ratio));
  }
  #paint(ratio) {
    const {graph, picture, drawing, scale} = this, c = picture.getContext("2d"), colors = new Map();
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, picture.width, picture.height);
    const width = Math.max(1, Size.width * scale);
    for (const box of drawing.boxes) {
      const op = graph.graph.opName(box.n);
      if (!colors.has(op)) colors.set(op, colorOfOp(op));
      c.fillStyle = colors.get(op);
      const height = Math.max(1, box.height * scale);
      c.fillRect((box.x - drawing.left) * scale, (box.y - drawing.top) * scale - height / 2, width, height);
    }
    graph.redraw();
  }
}
