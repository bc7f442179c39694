// Wraps wide rows of a drawing: a graph with many parallel boxes would be a strip that is too small to read.
import {Size} from "./box.js";
/** @typedef {import("./layout.js").Drawing} Drawing */

const kFewestInRow = 5;  // a row with at most this many boxes is not wrapped
const kUsualAspect = 0.9;
const kBoxStep = Size.width + Size.gap;

/** Distributes the boxes of rows that are too wide over several rows. Changes the drawing, whose boxes no other drawing
 * may have. @param {Drawing} drawing @returns {Drawing} */
export function wrapRows(drawing) {
  const {boxes, lines} = drawing, rows = new Map();
  for (const box of boxes) rows.has(box.row) ? rows.get(box.row).push(box) : rows.set(box.row, [box]);
  const counts = [...rows.values()].map((list) => list.length), most = bestRowLength(counts);
  if (most >= Math.max(...counts)) return drawing;
  const middle = (drawing.left + drawing.right) / 2, width = drawing.right - drawing.left;
  const squeeze = Math.min(1, most * kBoxStep / width);
  const xOf = (x) => middle + (x - middle) * squeeze, yOf = new Map();
  let next = 0;
  for (const row of [...rows.keys()].sort((a, b) => a - b)) {
    const list = rows.get(row).sort((a, b) => a.x - b.x), count = Math.ceil(list.length / most);
    const parts = Array.from({length: count}, (_, k) => list.filter((_, i) => i % count === k));
    parts.forEach((part, k) => {
      spreadBoxes(part, xOf);
      for (const box of part) box.row = next + k, box.y = box.row * Size.row;
    });
    yOf.set(row, (next + (count - 1) / 2) * Size.row), next += count;
  }
  for (const line of lines)
    line.through = line.through.map(({x, y}) => ({x: xOf(x), y: yOf.get(Math.round(y / Size.row)) ?? y}));
  return drawing;
}

// Returns how many boxes a row may have so that the graph is as large as possible in a usual view.
function bestRowLength(counts) {
  const width = (most) => Math.min(most, Math.max(...counts)) * kBoxStep;
  const height = (most) => counts.reduce((sum, n) => sum + Math.ceil(n / most), 0) * Size.row;
  let best = kFewestInRow, least = Infinity;
  for (let most = kFewestInRow; most <= Math.max(...counts); most++) {
    const size = Math.max(width(most), height(most) * kUsualAspect);
    if (size < least) best = most, least = size;
  }
  return best;
}

// Places the boxes of a row near their places, in their order, without overlaps.
function spreadBoxes(list, xOf) {
  const wanted = list.map((box) => xOf(box.x + Size.width / 2) - Size.width / 2);
  const at = wanted.map((x, i) => x - i * kBoxStep), sum = at.reduce((a, b) => a + b, 0) / at.length;
  const isLoose = wanted.every((x, i) => !i || x - wanted[i - 1] >= kBoxStep);
  list.forEach((box, i) => { box.x = isLoose ? wanted[i] : sum + i * kBoxStep; });
}
