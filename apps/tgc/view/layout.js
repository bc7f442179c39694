// Determines which nodes of a graph are drawn and how large they are. lib/view/layout_core.cpp, compiled to
// WebAssembly, determines their positions.
import {foldedGraph} from "./folding.js";
import {Box, Size} from "./box.js";
/** @typedef {import("./replay.js").Shown} Shown */
/** @typedef {import("./data.js").RecordedGraph} RecordedGraph */
/** @typedef {import("./expressions.js").InlineNodes} InlineNodes */

/** An edge from a box to a box that uses it. Of a stub, only the end at the user is drawn, with the source's name.
 * @typedef {{from: Box, to: Box, slot: number, stub: boolean, through: {x: number, y: number}[]}} Line */
/** @typedef {{boxes: Box[], lines: Line[], byKey: Map<number, Box>, home: NodeBoxes, left: number, top: number,
 *   right: number, bottom: number}} Drawing */

const kDirect = [];  // `through` of an edge without points between its ends

let wasm = null;

/** @param {BufferSource} code */
export async function loadLayout(code) {
  wasm = (await WebAssembly.instantiate(code)).instance.exports;
}

/** What to keep of an earlier drawing. `place`: the earlier position of a key; `rows`: nothing moves, and a node of
 * `base` with the same sources keeps its box; `ghosts`: removed nodes, which are drawn beside the nodes that replace
 * them; `displaced`: removed nodes that get new positions, because other nodes have taken theirs.
 * @typedef {{place: (key: number) => {x: number, row: number} | undefined, rows: boolean, base: Drawing,
 *   ghosts?: Map<number, Box>, displaced?: Set<number>}} Before */

/** Lays out one graph, or two as one: before and after a change. `inline`: which nodes are text in their users' boxes;
 * `foldRequest`: what to fold. @param {InlineNodes} inline @param {Shown[]} graphs @param {Before | null} before
 * @param {import("./folding.js").FoldRequest | null} foldRequest @returns {Drawing} */
export function drawingOf(inline, graphs, before,
  foldRequest = null) { return placeBoxes(boxesOf(inline, graphs, before, foldRequest)); }

/** The first step of drawingOf(): makes the boxes. placeBoxes() then gives them positions and edges. Both take a while.
 * @param {InlineNodes} inline @param {Shown[]} graphs @param {Before | null} before
 * @param {import("./folding.js").FoldRequest | null} foldRequest */
export function boxesOf(inline, graphs, before, foldRequest = null) {
  const {g} = inline, whole = mergeGraphs(graphs), isText = (n) => inline.has(n);
  const hidden = foldRequest ? foldedGraph(g, whole, graphs[graphs.length - 1].root, foldRequest, isText) : null;
  const {order, sources} = hidden ? hidden.graph : whole, boxes = [], byKey = new Map(), fresh = [];
  const base = before && before.rows && !hidden ? before.base : null;
  const ghosts = (before && before.ghosts) || new Map(), displaced = (before && before.displaced) || new Set();
  for (const key of order) {
    if (inline.has(key % g.count) && !graphs.some(({root}) => root === key) || ghosts.has(key)) continue;
    const list = sources.get(key), was = base && !displaced.has(key) ? base.byKey.get(key) : undefined;
    // A box is reused if it is neither displaced nor stale, and has the same sources, which still have boxes.
    const stays = was !== undefined && was.list === list && was.canBeReused(byKey, inline) && !inline.stale.has(key);
    const box = stays ? was : new Box(g, key, list, byKey, (hidden && hidden.folds.get(key)) || null, inline);
    if (!stays) fresh.push(boxes.length);
    boxes.push(box), byKey.set(key, box);
  }
  return {g, inline, before, base, boxes, byKey, fresh, ghosts, whole, hidden};
}

/** The second step of drawingOf(): positions and edges. @param {ReturnType<typeof boxesOf>} begun @returns {Drawing} */
export function placeBoxes({g, inline, before, base, boxes, byKey, fresh, ghosts, whole, hidden}) {
  const lines = base ? linesOfStayingBoxes(base, byKey) : [];
  placeFreshBoxes(g, boxes, fresh, lines, before);
  for (const [key, {x, y, row}] of ghosts) {
    const box = new Box(g, key, whole.sources.get(key), byKey, null, inline);
    Object.assign(box, {x: freePlaceBeside(boxes, row, x), y, row, ghost: true});
    boxes.unshift(box), byKey.set(key, box);
  }
  for (const key of ghosts.keys()) lines.push(...linesOfGhost(byKey.get(key), byKey));
  const home = new NodeBoxes(inline, boxes, byKey, hidden ? hidden.owner : new Map());
  return storeBounds({boxes, lines, byKey, home, left: 0, top: 0, right: 0, bottom: 0});
}

/** Merges two graphs, sources first. A node of both graphs has the last graph's sources. Nodes that only the first
 * graph has come last, so that their sources precede them. @param {Shown[]} graphs one or two */
function mergeGraphs([was, is]) {
  if (!is) return was;
  const order = [...is.order, ...was.order.filter((key) => !is.sources.has(key))];
  const of = (key) => (is.sources.has(key) ? is : was).sources;
  return {order, sources: {has: (key) => of(key).has(key), get: (key) => of(key).get(key)}};
}

/** Finds the box that shows a node, with the interface of a Map: its own box, the first box in which it is text, or the
 * fold that hides it. */
class NodeBoxes {
  /** `owner`: for a hidden node, its box. @param {InlineNodes} inline @param {Box[]} boxes
   * @param {Map<number, Box>} byKey @param {Map<number, number>} owner */
  constructor(inline, boxes, byKey, owner) {
    this.inline = inline, this.g = inline.g, this.boxes = boxes, this.byKey = byKey, this.owner = owner;
  }
  has(n) { return this.get(n) !== undefined; }
  /** @param {number} n @returns {Box | undefined} */
  get(n) { return this.all(n)[0]; }
  /** Returns a node's own box or, without one, all boxes that show it. @param {number} n @returns {Box[]} */
  all(n) {
    const copy = n + this.g.count, box = this.byKey.get(n) || this.byKey.get(copy);
    if (box) return [box];
    const fold = this.byKey.get(this.owner.get(n) ?? this.owner.get(copy));
    return this.#boxesOfTextNodes().get(n) || (fold ? [fold] : []);
  }
  /** Returns the nodes that boxes show, as boxes of their own or as text. */
  nodes() { return new Set([...this.boxes.map((box) => box.n), ...this.#boxesOfTextNodes().keys()]); }
  #boxesOfTextNodes() {
    if (this.texts) return this.texts;
    this.texts = new Map();
    for (const box of this.boxes)
      this.inline.forEach(box.n, (s) => {
        this.texts.has(s) ? this.texts.get(s).push(box) : this.texts.set(s, [box]);
      });
    return this.texts;
  }
}

/** Returns the left edge of the free place in a row that is nearest to `x`, apart from `x` itself.
 * @param {Box[]} boxes @param {number} row @param {number} x */
function freePlaceBeside(boxes, row, x) {
  const taken = boxes.filter((box) => box.row === row).map((box) => box.x), step = Size.width + Size.gap;
  const isFree = (at) => taken.every((other) => Math.abs(other - at) >= step - 1);
  const free = [x, ...taken].flatMap((at) => [at - step, at + step]).filter(isFree);
  return free.reduce((best, at) => (Math.abs(at - x) < Math.abs(best - x) ? at : best), Infinity);
}

/** Returns the edges to a removed node from its sources.
 * @param {Box} box @param {Map<number, Box>} byKey @returns {Line[]} */
function linesOfGhost(box, byKey) {
  return box.sources.map((s, k) => ({from: byKey.get(s), to: box, slot: box.slots[k], through: kDirect,
    stub: Math.abs(box.row - byKey.get(s).row) > Size.longest || byKey.get(s).row >= box.row}));
}

/** Returns the edges of `base` to boxes that stay. @param {Drawing} base @param {Map<number, Box>} byKey */
function linesOfStayingBoxes(base, byKey) {
  const out = [];
  for (const line of base.lines) {
    if (byKey.get(line.to.key) !== line.to) continue;
    const from = byKey.get(line.from.key);
    out.push(from === line.from ? line : {...line, from});
  }
  return out;
}

/** Gives boxes positions and adds their edges to `lines`. `fresh`: the boxes without a position; the others stay.
 * @param {RecordedGraph} g @param {Box[]} boxes
 *  @param {number[]} fresh @param {Line[]} lines @param {Before | null} before */
function placeFreshBoxes(g, boxes, fresh, lines, before) {
  const n = boxes.length, index = new Int32Array(2 * g.count);
  const edges = fresh.reduce((sum, i) => sum + boxes[i].sources.length, 0);
  wasm.reset();
  const room = (count, bytes = 4) => wasm.allocate(Math.max(count, 1) * bytes);
  const at = {first: room(n + 1), source: room(edges), size: room(n), want: room(n), wantRow: room(n), at: room(n),
    row: room(n), stub: room(edges, 1), chainFirst: room(n + 1), chainAt: room(n * (Size.longest - 1))};
  const ints = (offset, count) => new Int32Array(wasm.memory.buffer, offset, count);
  const floats = (offset, count) => new Float32Array(wasm.memory.buffer, offset, count);
  const first = ints(at.first, n + 1), source = ints(at.source, edges);
  const size = floats(at.size, n), want = floats(at.want, n), wantRow = ints(at.wantRow, n);
  let e = 0;
  for (let i = 0, k = 0; i < n; i++) {
    const box = boxes[i], isFresh = fresh[k] === i, was = isFresh ? before && before.place(box.key) : box;
    index[box.key] = i, first[i] = e, size[i] = Size.width;
    want[i] = was ? was.x + Size.width / 2 : NaN;
    wantRow[i] = was && before.rows ? was.row : -1;
    if (!isFresh) continue;
    for (const s of box.sources) source[e++] = index[s];
    k++;
  }
  first[n] = e;
  const isStill = before && before.rows ? 1 : 0;
  wasm.layout(n, at.first, at.source, at.size, at.want, at.wantRow, Size.longest, Size.gap, isStill, at.at, at.row,
    at.stub, at.chainFirst, at.chainAt);
  const x = floats(at.at, n), row = ints(at.row, n), stub = new Uint8Array(wasm.memory.buffer, at.stub, edges);
  const chainFirst = ints(at.chainFirst, n + 1), chainAt = floats(at.chainAt, n * (Size.longest - 1));
  for (const i of fresh) boxes[i].x = x[i] - Size.width / 2, boxes[i].row = row[i], boxes[i].y = row[i] * Size.row;
  e = 0;
  for (const i of fresh) {
    const box = boxes[i];
    box.sources.forEach((s, k) => {
      const from = boxes[index[s]], isStub = stub[e++] === 1, rows = isStub ? 0 : box.row - from.row - 1;
      const through = rows > 0 ? new Array(rows) : kDirect;
      for (let r = 0; r < rows; r++)
        through[r] = {x: chainAt[chainFirst[index[s]] + r], y: (from.row + r + 1) * Size.row};
      lines.push({from, to: box, slot: box.slots[k], stub: isStub, through});
    });
  }
}

/** Stores the bounds of a drawing's boxes in the drawing. @param {any} drawing @returns {Drawing} */
export function storeBounds(drawing) {
  drawing.left = drawing.top = Infinity, drawing.right = drawing.bottom = -Infinity;
  for (const b of drawing.boxes) {
    drawing.left = Math.min(drawing.left, b.x), drawing.right = Math.max(drawing.right, b.x + Size.width);
    drawing.top = Math.min(drawing.top, b.y - b.height / 2);
    drawing.bottom = Math.max(drawing.bottom, b.y + b.height / 2);
  }
  if (!drawing.boxes.length) drawing.left = drawing.top = drawing.right = drawing.bottom = 0;
  return drawing;
}

/** Returns where a view of size `room` begins along one axis: at `at`, but the view shows no space beyond the margins
 * of the graph, which reaches from `low` to `high`. A graph that fits is in the middle. */
export function viewStart(at, low, high, room, margin) {
  if (high - low + 2 * margin <= room) return (low + high) / 2 - room / 2;
  return Math.max(low - margin, Math.min(at, high + margin - room));
}
