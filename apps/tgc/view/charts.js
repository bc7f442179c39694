// Charts of a model's schedule: its items over time, and its buffers in memory over time.
import {amount, inTime} from "./amounts.js";
import {colorOfOp} from "./colors.js";
import {plain} from "./data.js";
/** @typedef {import("./model.js").Item} Item */

const kWidth = 1000, kEdge = 10, kInner = kWidth - 2 * kEdge;  // size of the drawing in the drawing's own units
const kLeastNamed = 64, kPerLetter = 7;                         // minimum width of a bar with a name; width of a letter
const kLeastHeight = 3;                                         // minimum height of a buffer
const kPaints = ["#5b8ff9", "#61ddaa", "#f6bd16", "#7262fd", "#78d3f8", "#f08bb4", "#9661bc", "#f6903d",
  "#008685", "#65789b"];

/** @param {string} tag @param {Object<string, any>} attributes @param {string} [text] */
function svg(tag, attributes, text = "") {
  const out = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [k, v] of Object.entries(attributes)) out.setAttribute(k, String(v));
  if (text) out.textContent = text;
  return out;
}

/** Draws a timeline: a bar for each item of the schedule, as wide as its time.
 * @param {Item[]} items @param {number} total seconds @param {(item: Item) => void} opened */
export function timeline(items, total, opened) {
  const label = "timeline; the table below has the same data";
  const root = svg("svg", {viewBox: `0 0 ${kWidth} 74`, role: "img", "aria-label": label});
  let at = 0;
  for (const item of items) {
    const width = Math.max(item.seconds / total * kInner, 0.5), x = kEdge + at / total * kInner;
    const fill = item.graph >= 0 ? kPaints[item.graph % kPaints.length] : colorOfOp(item.op);
    const bar = svg("rect", {x, y: 14, width, height: 30, rx: Math.min(2, width / 3), fill, tabindex: -1});
    bar.append(svg("title", {}, plain(`${item.number} ${item.name}  ${inTime(item.seconds)}  ${item.madeFor}`)));
    bar.addEventListener("click", () => opened(item));
    root.append(bar);
    const name = plain(item.name).slice(0, Math.floor(width / kPerLetter));
    if (width > kLeastNamed) root.append(svg("text", {x: x + 4, y: 33, class: "on", "pointer-events": "none"}, name));
    at += item.seconds;
  }
  ["start", "middle", "middle", "middle", "end"].forEach((anchor, part) => {
    const where = {x: kEdge + part * kInner / 4, y: 62, class: "quiet", "text-anchor": anchor};
    root.append(svg("text", where, inTime(total * part / 4)));
  });
  return root;
}

/** Draws buffers that share memory: a box for each buffer, as wide as the time of its use and as high as its size.
 * @param {any} schedule @param {Item[]} items */
export function memoryPlan(schedule, items) {
  const height = 220, label = "memory plan over the items of the schedule";
  const root = svg("svg", {viewBox: `0 0 ${kWidth} ${height}`, role: "img", "aria-label": label});
  const first = new Map(), last = new Map(), starts = [];
  items.forEach((item, i) => {
    for (const b of schedule.kernels[item.number].buffers) {
      if (!first.has(b)) first.set(b, i);
      last.set(b, i);
    }
  });
  let all = 0;
  for (const shared of schedule.shared) starts.push(all), all += shared.bytes;
  const x = (i) => kEdge + i / items.length * kInner, y = (bytes) => height - 12 - bytes / (all || 1) * (height - 24);
  schedule.buffers.forEach((b, i) => {
    if (!b.place || b.place.shared === undefined || !first.has(i)) return;
    const low = starts[b.place.shared] + b.place.offset, bottom = y(low);
    const top = Math.min(y(low + b.bytes), bottom - kLeastHeight);
    const left = x(first.get(i)), width = Math.max(1, x(last.get(i) + 1) - left), fill = kPaints[i % kPaints.length];
    const box = svg("rect", {x: left, y: top, width, height: bottom - top, fill, "fill-opacity": 0.75,
      stroke: "currentColor", "stroke-width": 0.3});
    box.append(svg("title", {},
      plain(`buffer ${i}  ${b.dtype}  ${amount(b.bytes, "B")}  items ${first.get(i)} to ${last.get(i)}`)));
    root.append(box);
  });
  return root;
}
