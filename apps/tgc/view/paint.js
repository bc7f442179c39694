import {Size} from "./box.js";
import {colorOfOp, colorOfRange, darkened, mixColors} from "./colors.js";
import {plainText} from "./data.js";
import {nameOf} from "./expressions.js";
/** @typedef {import("./layout.js").Drawing} Drawing */
/** @typedef {import("./box.js").Box} Box */

/** The keys of marked boxes. `came`: new; `went`: removed; `lit`: related to the selection; `found`: by the search;
 * `edited`: with changed text; `selected`: one key, or -1; `dims`: boxes without a mark are pale, so that others stand
 * out.
 * @typedef {{came: Set<number>, went: Set<number>, lit: Set<number>,
 *  edited: Set<number>, found: Set<number>, selected: number, dims?: boolean}} Marks */

const kStraight = 22;  // half the length of the vertical part of an edge beside a row of boxes
// Least scales of the view at which boxes have the names of ops, at which they are not drawn as dots, at which most
// titles fit and have a line below them, and at which they have all their text.
const kNames = 0.17, kDots = 0.12;
export const kReadable = 0.3, kText = 0.5;
const kLongestLabel = 16;
const kTitle = 10, kSmall = 9;  // minimum size of titles and of other text, in pixels

/** What is painted: a drawing, the part of it that the view shows, and its marks. */
export class Painting {
  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    this.view = {x: 0, y: 0, scale: 1};
    // cached, because reading it forces the browser to lay out the whole page
    this.size = {width: canvas.clientWidth, height: canvas.clientHeight};
    /** @type {Drawing | null} */ this.drawing = null;
    this.graph = null;
    /** @type {Marks} */
    this.marks = {came: new Set(), went: new Set(), lit: new Set(), edited: new Set(), found: new Set(), selected: -1,
      dims: false};
    this.regions = false;
    this.outlined = -1;  // the RANGE whose boxes are outlined; -1: none
    /** @type {Box | null} */ this.hovered = null;
    /** @type {import("./layout.js").Line[]} */ this.stubs = [];
    /** @type {string[]} */ this.labels = [];
    this.drawn = () => {};
  }

  // Returns the drawn height of a box. From kNames on, it suffices for the title and, from kReadable on, for a line.
  heightOf(box) {
    const {scale} = this.view, {big, step} = this.#textSizes();
    const hasLine = scale >= kReadable && box.height > 2 * Size.pad + Size.line;
    const least = hasLine ? 2 + 1.3 * big + step : (kTitle + 3) / scale;
    return scale >= kNames ? Math.max(box.height, least) : box.height;
  }
  // Returns the sizes of titles and of other text, and the distance of lines. Text has a minimum size on the screen.
  #textSizes() {
    const {scale} = this.view, big = Math.max(12, kTitle / scale), small = Math.max(11, kSmall / scale);
    return {big, small, step: Math.max(Size.line, small * 1.2)};
  }
  /** Returns the number of lines below the title that a box has room for. @param {Box} box */
  roomForLines(box) {
    const {big, step} = this.#textSizes();
    return Math.max(0, Math.floor((this.heightOf(box) - 1.9 - 1.3 * big) / step));
  }

  draw() {
    const c = this.canvas.getContext("2d"), ratio = devicePixelRatio || 1, v = this.view;
    const css = getComputedStyle(document.documentElement), of = (name) => css.getPropertyValue("--" + name).trim();
    this.paint = {back: of("back"), card: of("raised"), line: of("line"), text: of("text"), quiet: of("quiet"),
      accent: of("accent"), came: of("came"), cameBack: of("came-back"), went: of("went"), wentBack: of("went-back"),
      found: of("found"), lit: of("accent-back"), mono: of("mono"), sans: of("sans"),
      dark: document.documentElement.classList.contains("dark")};
    this.paint.edge = mixColors(this.paint.line, this.paint.quiet, 0.55), this.paint.wire = of("wire");
    c.setTransform(1, 0, 0, 1, 0, 0);
    c.fillStyle = this.paint.back;
    c.fillRect(0, 0, this.canvas.width, this.canvas.height);
    if (!this.drawing) return;
    c.setTransform(ratio * v.scale, 0, 0, ratio * v.scale, -v.x * v.scale * ratio, -v.y * v.scale * ratio);
    const seen = this.seen();
    // Boxes with text have light colours, so that the text can be read. Boxes without text have strong colours.
    const [near, far, dots] = this.paint.dark ? [0.22, 0.34, 0.7] : [0.22, 0.45, 0.85];
    const small = Math.min(1, Math.max(0, (1.05 - v.scale) / (1.05 - 0.34)));
    this.strength = v.scale < kNames ? dots : near + small * (far - near);
    this.fills = new Map();
    const boxes = this.boxesIn(seen);
    if (this.regions) this.#drawRegions(c, boxes);
    if (this.outlined >= 0) this.#drawOutline(c, boxes);
    this.#drawLines(c, seen);
    if (v.scale < kDots) this.#drawDots(c, boxes);
    else for (const box of boxes) this.#drawBox(c, box);
    this.labels = [];
    if (v.scale < kNames) this.#drawLabels(c, boxes);
    this.drawn();
  }

  /** Returns the part of the graph that is in the view. */
  seen() {
    const v = this.view, {width, height} = this.size;
    return {left: v.x, right: v.x + width / v.scale, top: v.y, bottom: v.y + height / v.scale};
  }

  /** Returns which share of the boxes is wholly in the view, from 0 to 1. */
  shareSeen() {
    const {left, right, top, bottom} = this.seen(), boxes = this.drawing ? this.drawing.boxes : [];
    const isSeen = (b) => b.x >= left && b.x + Size.width <= right && b.y - b.height / 2 >= top
      && b.y + b.height / 2 <= bottom;
    return boxes.filter(isSeen).length / (boxes.length || 1);
  }

  /** @param {{left: number, right: number, top: number, bottom: number}} seen @returns {Box[]} */
  boxesIn(seen) {
    const out = [];
    for (let row = Math.round(seen.top / Size.row); row <= Math.round(seen.bottom / Size.row); row++) {
      const list = this.rows.get(row);
      if (!list) continue;
      let low = 0, high = list.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (list[middle].x + Size.width < seen.left) low = middle + 1;
        else high = middle;
      }
      for (; low < list.length && list[low].x < seen.right; low++) out.push(list[low]);
    }
    return out;
  }

  #drawRegions(c, boxes) {
    const g = this.graph;
    c.globalAlpha = this.paint.dark ? 0.2 : 0.13;
    for (const box of boxes) {
      const list = g.rangeLists[g.ranges.get(box.n) || 0];
      if (!list.length) continue;
      const step = (Size.width + Size.gap) / list.length;
      list.forEach((range, i) => {
        c.fillStyle = colorOfRange(g.argText(range));
        c.fillRect(box.x - Size.gap / 2 + i * step, box.y - Size.row / 2, step + 0.5, Size.row + 0.5);
      });
    }
    c.globalAlpha = 1;
  }

  // Outlines the boxes that are in the loop of the RANGE `outlined`.
  #drawOutline(c, boxes) {
    const g = this.graph, color = colorOfRange(g.argText(this.outlined)), pad = Size.gap / 2;
    const isIn = (box) => g.rangeLists[g.ranges.get(box.n) || 0].includes(this.outlined) || box.n === this.outlined;
    c.fillStyle = color, c.strokeStyle = color, c.lineWidth = Math.max(2, 2 / this.view.scale);
    for (const box of boxes.filter(isIn)) {
      const height = this.heightOf(box) + 2 * pad;
      c.beginPath(), c.roundRect(box.x - pad, box.y - height / 2, Size.width + 2 * pad, height, 8);
      c.globalAlpha = 0.16, c.fill(), c.globalAlpha = 1, c.stroke();
    }
  }

  #drawLines(c, seen) {
    const m = this.marks, thin = this.view.scale < 0.2;
    const ordinary = new Path2D(), strong = new Path2D(), {hovered} = this;
    const stubs = this.stubs = [], isOf = (line, key) => line.from.key === key || line.to.key === key;
    const isLit = (line) => isOf(line, m.selected) || hovered !== null && isOf(line, hovered.key);
    for (const line of this.drawing.lines) {
      const y = line.from.y + line.from.height / 2, to = this.entry(line);
      if (y > seen.bottom || to.y < seen.top) continue;
      const isStrong = isLit(line);
      if (line.stub) {
        if (to.x > seen.left && to.x < seen.right && to.y < seen.bottom + 30) stubs.push(line);
        continue;
      }
      let px = line.from.x + Size.width / 2, py = y, low = Math.min(px, to.x), high = Math.max(px, to.x);
      for (const p of line.through) low = Math.min(low, p.x), high = Math.max(high, p.x);
      if (high < seen.left || low > seen.right) continue;
      const path = isStrong ? strong : ordinary;
      path.moveTo(px, py);
      const curve = (qx, qy) => {
        const middle = (py + qy) / 2;
        if (thin) path.lineTo(qx, qy);
        else path.bezierCurveTo(px, middle, qx, middle, qx, qy);
        px = qx, py = qy;
      };
      for (const p of line.through) {
        curve(p.x, p.y - kStraight);
        path.lineTo(p.x, p.y + kStraight), py = p.y + kStraight;
      }
      curve(to.x, to.y);
    }
    c.lineWidth = Math.max(thin ? 2 : 1.2, 0.5 / this.view.scale);
    c.strokeStyle = this.paint.wire;
    c.stroke(ordinary);
    c.lineWidth = Math.max(2.2, 1 / this.view.scale), c.strokeStyle = this.paint.accent;
    c.stroke(strong);
    if (this.view.scale < kText) return;
    const size = Math.max(10, kSmall / this.view.scale);
    c.font = size + "px " + this.paint.mono, c.textAlign = "center", c.textBaseline = "bottom";
    let last = {x: -Infinity, y: 0, half: 0};
    for (const line of stubs) {
      const to = this.entry(line), on = isLit(line);
      c.strokeStyle = c.fillStyle = on ? this.paint.accent : this.paint.quiet;
      c.lineWidth = 1;
      c.beginPath(), c.moveTo(to.x, to.y - 7), c.lineTo(to.x, to.y), c.stroke();
      const name = this.stubName(line.from), half = name.length * size * 0.31;
      if (to.y === last.y && Math.abs(to.x - last.x) < half + last.half + 5 && !on) continue;
      c.fillText(name, to.x, to.y - 7), last = {...to, half};
    }
    c.textAlign = "left";
  }

  /** Returns the name of a source whose edge is a stub, short enough for the space above a box. */
  stubName(box) {
    return plainText(nameOf(this.graph, box.n) || "#" + this.graph.number[box.n]).slice(0, 8);
  }

  /** Returns the point where an edge reaches its box. */
  entry(line) {
    const box = line.to, count = Math.max(box.list.length, line.slot + 1);
    return {x: box.x + (line.slot + 1) * Size.width / (count + 1), y: box.y - box.height / 2};
  }

  // Returns the colour of an op. Dots, which have no outline, are darker on a light background.
  #colorOf(op) {
    const color = colorOfOp(op);
    return this.paint.dark || this.view.scale >= kDots ? color : darkened(color);
  }

  /** Returns the background colour of an op's boxes in this drawing. @param {string} op */
  #fillOf(op) {
    if (!this.fills.has(op)) this.fills.set(op, mixColors(this.paint.card, this.#colorOf(op), this.strength));
    return this.fills.get(op);
  }

  // Draws boxes as dots that are large enough to see. Draws marked boxes last (on top of others) and larger.
  #drawDots(c, boxes) {
    const m = this.marks, p = this.paint, least = 1.5 / this.view.scale;
    const marked = ({key}) => {
      if (m.selected === key) return p.accent;
      if (m.found.has(key)) return p.found;
      return m.went.has(key) ? p.went : m.came.has(key) ? p.came : m.lit.has(key) ? p.accent : "";
    };
    const dot = (box, width, height) => c.fillRect(box.x + (Size.width - width) / 2, box.y - height / 2, width, height);
    const left = [];
    for (const box of boxes) {
      if (marked(box)) {
        left.push(box);
        continue;
      }
      c.fillStyle = this.#fillOf(this.graph.opName(box.n));
      dot(box, Math.max(Size.width, least), Math.max(box.height, least));
    }
    for (const box of left) {
      c.fillStyle = marked(box);
      dot(box, Math.max(Size.width, 2 * least), Math.max(box.height, 2 * least));
    }
  }

  // Draws the titles of boxes that are too small for them, over the boxes, without overlaps: those of marked and folded
  // boxes first, then those of rare ops.
  #drawLabels(c, boxes) {
    const {scale} = this.view, m = this.marks, size = kTitle / scale, taken = new Set(), counts = new Map();
    for (const {title} of boxes) counts.set(title, (counts.get(title) || 0) + 1);
    const isMarked = ({key}) => m.selected === key || m.came.has(key) || m.went.has(key) || m.found.has(key);
    const rank = (box) => (isMarked(box) ? -2 : box.fold && box.fold.count ? -1 : counts.get(box.title));
    c.font = `600 ${size}px ${this.paint.sans}`, c.textBaseline = "middle", c.textAlign = "left";
    c.lineWidth = 3 / scale, c.strokeStyle = this.paint.back, c.fillStyle = this.paint.text, c.lineJoin = "round";
    for (const box of [...boxes].sort((a, b) => rank(a) - rank(b))) {
      const title = truncate(box.title, kLongestLabel), length = Math.ceil(title.length * 0.62) + 2;
      const first = Math.floor(box.x / size), row = Math.round(box.y / size / 1.5), cells = [];
      for (let i = 0; i < length; i++) cells.push(`${first + i} ${row}`, `${first + i} ${row + 1}`);
      if (cells.some((cell) => taken.has(cell))) continue;
      for (const cell of cells) taken.add(cell);
      c.strokeText(title, box.x, box.y), c.fillText(title, box.x, box.y);
      this.labels.push(title);
    }
  }

  #drawBox(c, box) {
    const g = this.graph, m = this.marks, p = this.paint, op = g.opName(box.n), color = this.#colorOf(op);
    const came = m.came.has(box.key), went = m.went.has(box.key), lit = m.lit.has(box.key);
    const selected = m.selected === box.key, edited = m.edited.has(box.key), height = this.heightOf(box);
    const x = box.x, y = box.y - height / 2;
    const isPale = m.dims && !came && !lit && !selected && !edited && !m.found.has(box.key) && box !== this.hovered;
    c.globalAlpha = went ? 0.75 : isPale ? 0.55 : 1;
    if (box.fold && box.fold.count) this.#drawSheets(c, x, y, height, this.#fillOf(op));
    c.fillStyle = went ? p.wentBack : came ? p.cameBack : lit || selected ? p.lit : this.#fillOf(op);
    c.beginPath(), c.roundRect(x, y, Size.width, height, 5), c.fill();
    c.lineWidth = selected ? 2.5 : lit || came || went || edited ? 1.8 : 1;
    c.strokeStyle = selected || lit ? p.accent : came || edited ? p.came : went ? p.went : p.edge;
    if (box === this.hovered && !selected) c.strokeStyle = p.accent, c.lineWidth = 1.8;
    if (went) c.setLineDash([5, 3]);
    c.stroke();
    if (went) c.setLineDash([]);
    c.fillStyle = color;
    c.beginPath(), c.roundRect(x, y, 6, height, [5, 0, 0, 5]), c.fill();
    if (m.found.has(box.key)) {
      c.strokeStyle = p.found, c.lineWidth = 2;
      c.beginPath(), c.roundRect(x - 4, y - 4, Size.width + 8, height + 8, 8), c.stroke();
    }
    if (this.view.scale >= kNames) this.#drawNames(c, box, came, went, y, height);
    c.globalAlpha = 1;
  }

  #drawSheets(c, x, y, height, fill) {
    c.fillStyle = fill, c.strokeStyle = this.paint.edge, c.lineWidth = 1;
    for (const by of [8, 4]) c.beginPath(), c.roundRect(x + by, y + by, Size.width, height, 5), c.fill(), c.stroke();
  }

  #drawNames(c, box, came, went, y, height) {
    const p = this.paint, {scale} = this.view, left = box.x + 14, right = box.x + Size.width - 8;
    const {big, small, step} = this.#textSizes(), count = this.roomForLines(box);
    const lines = count ? box.lines.slice(0, count) : [];
    let line = lines.length ? y + Size.pad + big * 0.58 : y + height / 2;
    c.textBaseline = "middle", c.textAlign = "left";
    c.fillStyle = p.text, c.font = `600 ${big}px ${p.sans}`;
    const title = (came ? "+ " : went ? "\u2212 " : "") + box.title;
    c.fillText(truncate(title, Math.max(3, Math.floor((right - left) / big / 0.62))), left, line, right - left + 4);
    const dtype = this.graph.dtypeName(box.n), isTold = box.lines.length > 0 && box.lines[0].startsWith("data");
    if (scale >= kText && dtype && title.length < 15 && !isTold) {
      const room = Math.floor((right - left - 6 - c.measureText(title).width) / small / 0.6);
      c.fillStyle = this.strength > 0.24 ? p.text : p.quiet;
      c.font = `${small}px ${p.mono}`, c.textAlign = "right";
      if (room > 3) c.fillText(truncate(dtype, room), right, line);
    }
    c.textAlign = "left", c.font = `${small}px ${p.mono}`;
    const letters = Math.floor((right - left + 4) / small / 0.6);
    lines.forEach((text, i) => {
      const isMarked = i >= box.lines.length - box.marked;
      c.fillStyle = !isMarked ? p.text : text.startsWith("+") ? p.came : p.went;
      c.fillText(truncate(plainText(text), letters), left, line += step);
    });
    if (!box.fold || !box.fold.count || scale < kText) return;
    c.font = `600 ${Math.max(10, kSmall / scale)}px ${p.sans}`, c.fillStyle = p.text, c.textAlign = "right";
    c.fillText("\u25b8 " + box.fold.count + " folded", right, y + height - 8);
    c.textAlign = "left";
  }
}

function truncate(text, most) { return text.length <= most ? text : text.slice(0, Math.max(1, most - 1)) + "\u2026"; }
