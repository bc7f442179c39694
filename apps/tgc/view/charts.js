import {amountText, timeText} from "./amounts.js";
import {colorOfOp} from "./colors.js";
import {plainText} from "./data.js";
/** @typedef {import("./model.js").Item} Item */

const kWidth = 1000, kEdge = 10, kInner = kWidth - 2 * kEdge;
const kLeastNamed = 64, kPerLetter = 7;
const kLeastHeight = 3, kLeastWidth = 2;  // least height of a buffer's box, and least width of a bar
// colours of bars and buffers; dark text can be read on them in both themes
const kPaints = ["#8db2ff", "#61ddaa", "#f6bd16", "#b3a8ff", "#78d3f8", "#f5a3c4", "#cda6e6", "#f8a45e", "#5cc8c5",
  "#a9b8d3"];

/** @param {string} tag @param {Object<string, any>} attributes @param {string} [text] */
function svgNode(tag, attributes, text = "") {
  const out = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [k, v] of Object.entries(attributes)) out.setAttribute(k, String(v));
  if (text) out.textContent = text;
  return out;
}

/** Draws a timeline: a bar for each item of the schedule, as wide as its time.
 * @param {Item[]} items @param {number} total seconds @param {(item: Item) => void} opened */
export function drawTimeline(items, total, opened) {
  const label = "timeline; the table below has the same data";
  const root = svgNode("svg", {viewBox: `0 0 ${kWidth} 74`, role: "img", "aria-label": label});
  let at = 0;
  for (const item of items) {
    const width = Math.max(item.seconds / total * kInner, kLeastWidth), x = kEdge + at / total * kInner;
    const fill = item.graph >= 0 ? kPaints[item.graph % kPaints.length] : colorOfOp(item.op);
    const bar = svgNode("rect", {x, y: 14, width, height: 30, rx: Math.min(2, width / 3), fill, tabindex: -1});
    bar.append(svgNode("title", {},
      plainText(`${item.number} ${item.name}  ${timeText(item.seconds)}  ${item.madeFor}`)));
    bar.addEventListener("click", () => opened(item));
    root.append(bar);
    const name = plainText(item.name).slice(0, Math.floor(width / kPerLetter));
    if (width > kLeastNamed) root.append(svgNode("text", {x: x + 4, y: 33, class: "on", "pointer-events": "none"},
      name));
    at += item.seconds;
  }
  ["start", "middle", "middle", "middle", "end"].forEach((anchor, part) => {
    const where = {x: kEdge + part * kInner / 4, y: 62, class: "quiet", "text-anchor": anchor};
    root.append(svgNode("text", where, timeText(total * part / 4)));
  });
  return root;
}

const kPlanHeight = 260, kLeft = 64, kBottom = 30, kLabelHeight = 12;

/** Returns round numbers from 0 to `most`, at most `count` + 1 of them. */
function roundTicks(most, count) {
  const rough = most / count, power = 10 ** Math.floor(Math.log10(rough || 1));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough) || 1;
  return Array.from({length: Math.floor(most / step) + 1}, (_, i) => i * step);
}

/** Draws the planned memory: a box for each value of a buffer, as wide as the items that keep it and as high as its
 * size.
 * @param {any} schedule @param {Item[]} items @param {string[]} names of the buffers
 *  @param {number[]} inUse of memoryInUse() @param {(buffer: number) => void} opened */
export function drawMemoryPlan(schedule, items, names, inUse, opened) {
  const height = kPlanHeight, label = "memory plan; the table of buffers has the same data";
  const root = svgNode("svg", {viewBox: `0 0 ${kWidth} ${height}`, role: "img", "aria-label": label});
  const spans = valueSpans(items), starts = [];
  let all = 0;
  for (const shared of schedule.shared) starts.push(all), all += shared.bytes;
  const inner = kWidth - kLeft - kEdge, x = (i) => kLeft + i / items.length * inner;
  const y = (bytes) => height - kBottom - bytes / (all || 1) * (height - kBottom - 16);
  for (const bytes of roundTicks(all, 5)) {
    const at = y(bytes), text = {x: kLeft - 6, y: at + 4, class: "quiet", "text-anchor": "end"};
    root.append(svgNode("line", {x1: kLeft, x2: kWidth - kEdge, y1: at, y2: at, class: "grid"}));
    root.append(svgNode("text", text, amountText(bytes, "B")));
  }
  for (const i of roundTicks(items.length, 10).filter(Number.isInteger))
    root.append(svgNode("text", {x: x(i), y: height - 12, class: "quiet", "text-anchor": "middle"}, String(i)));
  const below = {x: kWidth - kEdge, y: height - 1, class: "quiet", "text-anchor": "end"};
  root.append(svgNode("text", below, "item of the schedule"));
  // Whether the line of the memory in use crosses a part of the chart.
  const isCrossed = (left, right, top, bottom) => inUse.some((bytes, i) => {
    if (x(i + 1) <= left || x(i) >= right) return false;
    const ends = [y(bytes), y(i + 1 < inUse.length && x(i + 1) < right ? inUse[i + 1] : bytes)];
    return Math.min(...ends) < bottom + 1 && Math.max(...ends) > top - 1;
  });
  const draw = (b, i, {first, last}, name) => {
    const low = starts[b.place.shared] + b.place.offset, bottom = y(low);
    const top = Math.min(y(low + b.bytes), bottom - kLeastHeight);
    const left = x(first), width = Math.max(1, x(last + 1) - left), fill = kPaints[i % kPaints.length];
    const box = svgNode("rect", {x: left, y: top, width, height: bottom - top, fill, "fill-opacity": 0.85,
      stroke: "currentColor", "stroke-width": 0.3, tabindex: -1});
    box.append(svgNode("title", {},
      plainText(`buffer ${i}  ${name}  ${b.dtype}  ${amountText(b.bytes, "B")}  items ${first} to ${last}`)));
    box.addEventListener("click", () => opened(i));
    root.append(box);
    // the label is the longest text that fits in the box and that the line does not cross
    const size = `${i}: ${amountText(b.bytes, "B")}`, half = kLabelHeight / 2, middle = (top + bottom) / 2;
    for (const text of [name ? size + " " + name : size, size, String(i)]) {
      const end = left + 4 + text.length * kPerLetter;
      if (end > left + width || bottom - top < kLabelHeight) continue;
      const at = [middle, top + half, bottom - half].find((to) => !isCrossed(left, end, to - half, to + half));
      if (at === undefined) continue;
      root.append(svgNode("text", {x: left + 4, y: at + 4, class: "on", "pointer-events": "none"}, text));
      return;
    }
  };
  schedule.buffers.forEach((b, i) => {
    if (!b.place || b.place.shared === undefined) return;
    (spans.get(i) || []).forEach((span, n) => draw(b, i, span, n ? "of " + items[span.first].madeFor : names[i]));
  });
  const steps = inUse.map((bytes, i) => `${x(i)},${y(bytes)} ${x(i + 1)},${y(bytes)}`).join(" ");
  root.append(svgNode("polyline", {points: steps, class: "use", "pointer-events": "none"}));
  inUse.forEach((bytes, i) => {
    const width = x(i + 1) - x(i), at = {x: x(i), y: height - kBottom, width, height: kBottom};
    const strip = svgNode("rect", {...at, fill: "transparent"});
    strip.append(svgNode("title", {}, plainText(`item ${i} ${items[i].name}  ${amountText(bytes, "B")} in use`)));
    root.append(strip);
  });
  return root;
}

/** Returns for each used buffer the spans of items in which its value is kept. An item that only writes the buffer
 * begins a span. A buffer that is read first is an input of the schedule: it has one span, of all items. If no item
 * reads the last value of a buffer, the value is an output and lasts to the end.
 * @param {Item[]} items @returns {Map<number, {first: number, last: number}[]>} */
export function valueSpans(items) {
  const out = new Map(), end = items.length - 1;
  items.forEach((item, i) => {
    for (const b of item.reads)
      if (!out.has(b)) out.set(b, [{first: 0, last: end, isInput: true}]);
      else if (!out.get(b)[0].isInput) Object.assign(out.get(b).at(-1), {last: i, isRead: true});
    for (const b of item.writes) {
      const spans = out.get(b) || [];
      if (spans.length && (spans[0].isInput || item.reads.includes(b))) continue;
      spans.push({first: i, last: i}), out.set(b, spans);
    }
  });
  for (const spans of out.values()) if (!spans.at(-1).isRead) spans.at(-1).last = end;
  return out;
}

/** Returns for each item the number of bytes of the values in planned memory that are kept while it runs.
 * @param {any} schedule @param {Item[]} items @returns {number[]} */
export function memoryInUse(schedule, items) {
  const spans = valueSpans(items), change = new Array(items.length + 1).fill(0);
  schedule.buffers.forEach((b, i) => {
    if (!b.place || b.place.shared === undefined) return;
    for (const {first, last} of spans.get(i) || []) change[first] += b.bytes, change[last + 1] -= b.bytes;
  });
  let now = 0;
  return items.map((_, i) => (now += change[i]));
}
