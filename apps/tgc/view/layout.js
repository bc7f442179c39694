// Places for the nodes of a graph: which nodes are drawn, how large, and where; the places come from the program's own
// layout (lib/view/layout_core.cpp), compiled to WebAssembly.
import {foldedGraph} from "./folding.js";
import {isValue, valueText} from "./values.js";
/** @typedef {import("./replay.js").Shown} Shown */
/** @typedef {import("./data.js").Recorded} Recorded */

export const Size = {width: 176, row: 94, line: 14, pad: 6, gap: 18, longest: 4};

/** A drawn node: `x` is its left edge, `y` its middle. `inputs`: how many sources may reach it, those of slots among
 * them; a ghost went, and stands behind what took its place.
 * @typedef {{key: number, n: number, x: number, y: number, height: number, row: number, lines: string[],
 *   sources: number[], slots: number[], inputs: number, users: number, ghost: boolean, title: string,
 *   fold: import("./folding.js").Fold | null}} Box */
/** A line from a box to a box that uses it; a stub is drawn as two ends with a name.
 * @typedef {{from: Box, to: Box, slot: number, stub: boolean, through: {x: number, y: number}[]}} Line */
/** @typedef {{boxes: Box[], lines: Line[], byKey: Map<number, Box>, home: Map<number, Box>, left: number, top: number,
 *   right: number, bottom: number}} Drawing */

const kBehind = 21;  // how far a ghost looks out behind what took its place

let wasm = null;

/** @param {BufferSource} code */
export async function loadLayout(code) {
  wasm = (await WebAssembly.instantiate(code)).instance.exports;
}

/** Short text of an arg, for a box. */
function shortArg(g, n) {
  let arg = g.argText(n);
  const op = g.opName(n);
  if (op === "RANGE") return arg.replace(/AxisType\./g, "").replace(/[()]/g, "");
  if (arg.startsWith("KernelInfo")) return (/name='([^']*)'/.exec(arg) || ["", arg])[1].replace(/\\x1b\[\d+m/g, "");
  return arg.replace(/Ops\.|dtypes\.|AxisType\.|AddrSpace\./g, "");
}

/** By recording and node: what a box says whose sources are the node's own.
 * @type {WeakMap<Recorded, Map<number, string[]>>} */
const kLines = new WeakMap();

/** What a box says, one line each: the arg, and the values among its sources. */
function linesOf(/** @type {Recorded} */ g, n, sources) {
  if (sources !== g.sourceList(n)) return newLinesOf(g, n, sources);
  if (!kLines.has(g)) kLines.set(g, new Map());
  const known = kLines.get(g);
  if (!known.has(n)) known.set(n, newLinesOf(g, n, sources));
  return known.get(n);
}
function newLinesOf(/** @type {Recorded} */ g, n, sources) {
  const out = [], arg = shortArg(g, n);
  if (arg) out.push(arg);
  const values = [];
  sources.forEach((s, i) => {
    if (isValue(g, s % g.count)) values.push((sources.length > 1 ? i + ": " : "") + valueText(g, s % g.count));
  });
  if (values.length) out.push(values.join("   "));
  return out;
}

/** What may be kept of an earlier drawing: where a key stood, by key.
 * @typedef {{place: (key: number) => {x: number, row: number} | undefined, rows: boolean,
 *   ghosts?: Map<number, Box>}} Before
 * rows: nothing moves at all; ghosts: what is drawn only behind what took its place */

/** @param {Recorded} g @param {Shown[]} graphs drawn as one: what went and what came
 *  @param {Before | null} before @param {import("./folding.js").Wish | null} wish what is folded
 *  @returns {Drawing} */
export function drawingOf(g, graphs, before, wish = null) {
  const whole = union(graphs), hidden = wish ? foldedGraph(g, whole, graphs[graphs.length - 1].root, wish) : null;
  const {order, sources} = hidden ? hidden.graph : whole, boxes = [], byKey = new Map();
  for (const key of order) {
    if (isValue(g, key % g.count) && key !== graphs[0].root) continue;
    if (before && before.ghosts && before.ghosts.has(key)) continue;
    const list = sources.get(key), n = key % g.count, fold = (hidden && hidden.folds.get(key)) || null;
    const lines = fold ? [...(fold.title ? [] : linesOf(g, n, g.sourceList(n))), ...fold.lines] : linesOf(g, n, list);
    const height = Size.pad * 2 + Size.line * (1 + lines.length + (fold && fold.count ? 1 : 0));
    const box = {key, n, x: 0, y: 0, row: 0, height, lines, sources: [], slots: [], inputs: list.length, users: 0,
      ghost: false, fold, title: (fold && fold.title) || g.opName(n)};
    list.forEach((s, slot) => {
      const source = byKey.get(s);
      if (source) box.sources.push(s), box.slots.push(slot), source.users++;
    });
    boxes.push(box), byKey.set(key, box);
  }
  const lines = place(boxes, byKey, before);
  if (before && before.ghosts)
    for (const [key, was] of before.ghosts) {
      const there = {x: was.x + kBehind / 2, y: was.y - kBehind};
      const box = {...was, key, ...there, sources: [], slots: [], fold: null, ghost: true};
      boxes.unshift(box), byKey.set(key, box);
    }
  return withBounds({boxes, lines, byKey, home: homes(g, boxes, hidden, byKey), left: 0, top: 0, right: 0, bottom: 0});
}

/** Several graphs as one, sources first. A node that both have is as the last one has it; what only an earlier one has
 * comes behind, for its sources are there by then. */
function union(graphs) {
  if (graphs.length === 1) return graphs[0];
  const sources = new Map(), order = [];
  for (const shown of [...graphs].reverse())
    for (const key of shown.order) if (!sources.has(key)) sources.set(key, shown.sources.get(key)), order.push(key);
  return {order, sources};
}

/** For each node that is hidden inside a box, that box. */
function homes(g, boxes, hidden, byKey) {
  const home = new Map();
  for (const box of boxes) home.set(box.n, box);
  for (const box of boxes) for (const s of g.sourcesOf(box.n)) if (isValue(g, s) && !home.has(s)) home.set(s, box);
  for (const [key, owner] of hidden ? hidden.owner : [])
    if (!home.has(key % g.count) && byKey.has(owner)) home.set(key % g.count, byKey.get(owner));
  return home;
}

/** Lays out and returns the lines. */
function place(boxes, byKey, before) {
  const n = boxes.length, index = new Map(boxes.map((b, i) => [b.key, i]));
  const edges = boxes.reduce((sum, b) => sum + b.sources.length, 0);
  wasm.reset();
  const room = (count, bytes = 4) => wasm.allocate(Math.max(count, 1) * bytes);
  const at = {first: room(n + 1), source: room(edges), size: room(n), want: room(n), wantRow: room(n), at: room(n),
    row: room(n), stub: room(edges, 1), chainFirst: room(n + 1), chainAt: room(n * (Size.longest - 1))};
  const ints = (offset, count) => new Int32Array(wasm.memory.buffer, offset, count);
  const floats = (offset, count) => new Float32Array(wasm.memory.buffer, offset, count);
  const first = ints(at.first, n + 1), source = ints(at.source, edges);
  const size = floats(at.size, n), want = floats(at.want, n), wantRow = ints(at.wantRow, n);
  let e = 0;
  boxes.forEach((box, i) => {
    first[i] = e;
    for (const s of box.sources) source[e++] = index.get(s);
    size[i] = Size.width;
    const was = before && before.place(box.key);
    want[i] = was ? was.x + Size.width / 2 : NaN;
    wantRow[i] = was && before.rows ? was.row : -1;
  });
  first[n] = e;
  const isStill = before && before.rows ? 1 : 0;
  wasm.layout(n, at.first, at.source, at.size, at.want, at.wantRow, Size.longest, Size.gap, isStill, at.at, at.row,
    at.stub, at.chainFirst, at.chainAt);
  const x = floats(at.at, n), row = ints(at.row, n), stub = new Uint8Array(wasm.memory.buffer, at.stub, edges);
  const chainFirst = ints(at.chainFirst, n + 1), chainAt = floats(at.chainAt, n * (Size.longest - 1));
  boxes.forEach((box, i) => { box.x = x[i] - Size.width / 2, box.row = row[i], box.y = row[i] * Size.row; });
  const lines = [];
  e = 0;
  for (const box of boxes)
    box.sources.forEach((s, k) => {
      const from = byKey.get(s), through = [], isStub = stub[e++] === 1;
      if (!isStub)
        for (let r = 1; r < box.row - from.row; r++)
          through.push({x: chainAt[chainFirst[index.get(s)] + r - 1], y: (from.row + r) * Size.row});
      lines.push({from, to: box, slot: box.slots[k], stub: isStub, through});
    });
  return lines;
}

function withBounds(drawing) {
  drawing.left = drawing.top = Infinity, drawing.right = drawing.bottom = -Infinity;
  for (const b of drawing.boxes) {
    drawing.left = Math.min(drawing.left, b.x), drawing.right = Math.max(drawing.right, b.x + Size.width);
    drawing.top = Math.min(drawing.top, b.y - b.height / 2);
    drawing.bottom = Math.max(drawing.bottom, b.y + b.height / 2);
  }
  if (!drawing.boxes.length) drawing.left = drawing.top = drawing.right = drawing.bottom = 0;
  return drawing;
}
