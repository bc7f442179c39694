// A small picture of the whole graph with the part that is in view. It lies in the corner where it covers the fewest
// boxes.
import {Size} from "./box.js";
import {colorOfOp} from "./colors.js";

const kMapWidth = 110, kMapShare = 0.32;
const kMapEdge = 12;

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
    canvas.hidden = isWhole || !drawing.boxes.length || !size.height;  // a canvas that is not shown has no height
    if (canvas.hidden) return void (this.placedFor = "");
    const scale = Math.min(kMapWidth / (right - left), size.height * kMapShare / (bottom - top));
    if (this.drawing !== drawing || this.scale !== scale) this.placedFor = "", this.#prepare(scale);
    this.#chooseCorner(scale);
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

  // Chooses the corner when the graph, the canvas or the selection has changed, but not while the user moves the view.
  #chooseCorner(scale) {
    const {canvas, graph, placedFor} = this, {drawing, size, marks} = graph, seen = graph.seen();
    this.placedFor = [size.width, size.height, marks.selected].join();
    if (this.placedFor === placedFor) return;
    const gap = kMapEdge / graph.view.scale, width = (drawing.right - drawing.left) * scale / graph.view.scale + gap;
    const height = (drawing.bottom - drawing.top) * scale / graph.view.scale + gap;
    const isMarked = ({key}) => key === marks.selected || marks.came.has(key) || marks.went.has(key);
    const covered = ([isLeft, isTop]) => {
      const left = isLeft ? seen.left : seen.right - width, top = isTop ? seen.top : seen.bottom - height;
      const boxes = graph.boxesIn({left, right: left + width, top, bottom: top + height});
      return boxes.reduce((sum, box) => sum + (isMarked(box) ? drawing.boxes.length : 1), 0);
    };
    const corners = [[false, false], [true, false], [false, true], [true, true]], counts = corners.map(covered);
    const [isLeft, isTop] = corners[counts.indexOf(Math.min(...counts))];
    Object.assign(canvas.style, {left: isLeft ? kMapEdge + "px" : "auto", right: isLeft ? "auto" : kMapEdge + "px",
      top: isTop ? kMapEdge + "px" : "auto", bottom: isTop ? "auto" : kMapEdge + "px"});
  }

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
