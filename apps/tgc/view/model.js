// The model: its schedule as a timeline and as a list, its memory over time.
import {element} from "./list.js";
import {plain} from "./data.js";
import {colorOfOp} from "./colors.js";

// What the estimate goes by: a common desktop's memory and arithmetic.
const kBytesPerSecond = 40e9, kOpsPerSecond = 200e9;
const kPaints = ["#5b8ff9", "#61ddaa", "#f6bd16", "#7262fd", "#78d3f8", "#f08bb4", "#9661bc", "#f6903d", "#008685", "#65789b"];

/** @param {any} index @returns {{number: number, graph: number, name: string, op: string, nodes: number, madeFor: string,
 *   ops: number, bytes: number, seconds: number, reads: number[], writes: number[]}[]} */
export function itemsOf(index) {
  const graphOf = new Map();
  index.graphs.forEach((g, i) => g.numbers.forEach((n) => graphOf.set(n, i)));
  return index.schedule.kernels.map((k, number) => {
    const graph = graphOf.has(number) ? graphOf.get(number) : -1, of = graph >= 0 ? index.graphs[graph] : null;
    const touched = [...new Set(k.buffers)].reduce((sum, b) => sum + index.schedule.buffers[b].bytes, 0);
    const ops = of && /^\d+$/.test(of.ops) ? Number(of.ops) : 0, bytes = of && /^\d+$/.test(of.mem) ? Number(of.mem) : touched;
    return {number, graph, name: of ? of.name : k.op, op: k.op, nodes: k.ast_nodes, madeFor: k.made_for || (of ? of.made_for : ""), ops, bytes,
      seconds: Math.max(ops / kOpsPerSecond, bytes / kBytesPerSecond, 1e-9), reads: k.reads, writes: k.writes};
  });
}

function svg(tag, attributes, text = "") {
  const out = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [k, v] of Object.entries(attributes)) out.setAttribute(k, String(v));
  if (text) out.textContent = text;
  return out;
}

const amount = (n, unit) => (n >= 1e9 ? (n / 1e9).toFixed(2) + " G" : n >= 1e6 ? (n / 1e6).toFixed(2) + " M" : n >= 1e3 ? (n / 1e3).toFixed(1) + " k" : String(Math.round(n)) + " ") + unit;

/** @param {HTMLElement} home @param {import("./app.js").App} app */
export function showModel(home, app) {
  const {index} = app, {schedule} = index;
  if (!schedule) {
    home.replaceChildren(element("h2", "", "no schedule"), element("p", "facts", "This page is of kernels, or of a graph that was not scheduled."));
    return;
  }
  const items = itemsOf(index), total = items.reduce((s, i) => s + i.seconds, 0), out = [];
  const bytes = schedule.bytes || {};
  out.push(element("h2", "", "Schedule of " + plain(index.graphs[0].name || index.title)));
  out.push(element("p", "facts", items.length + " items, " + schedule.buffers.length + " buffers, " + amount(bytes.before || 0, "B") + " of memory, " + amount(bytes.after || 0, "B") + " as planned"));
  out.push(element("h2", "", "Timeline, estimated"), element("p", "facts", "The larger of bytes at 40 GB/s and operations at 200 G/s; " + (total * 1e3).toFixed(3) + " ms in all. Nothing was run."));
  out.push(timeline(app, items, total));
  if (schedule.shared && schedule.shared.length) out.push(element("h2", "", "Memory plan"), element("p", "facts", "Buffers that share memory, from the item that first uses each to the last; offsets upwards."), memory(schedule, items));
  out.push(element("h2", "", "Kernels by cost"), table(app, items, total));
  home.replaceChildren(...out);
}

function timeline(app, items, total) {
  const width = 1000, height = 74, root = svg("svg", {viewBox: "0 0 " + width + " " + height, role: "img", "aria-label": "timeline; the table below says the same"});
  let at = 0;
  items.forEach((item) => {
    const w = Math.max(item.seconds / total * (width - 20), 0.5), x = 10 + at / total * (width - 20);
    const bar = svg("rect", {x, y: 14, width: w, height: 30, rx: Math.min(2, w / 3), fill: item.graph >= 0 ? kPaints[item.graph % kPaints.length] : colorOfOp(item.op), tabindex: -1});
    bar.append(svg("title", {}, plain(item.number + " " + item.name + "  " + (item.seconds * 1e6).toFixed(2) + " \u00b5s  " + item.madeFor)));
    bar.addEventListener("click", () => openItem(app, item));
    root.append(bar);
    if (w > 64) root.append(svg("text", {x: x + 4, y: 33, fill: "#111", "pointer-events": "none"}, plain(item.name).slice(0, Math.floor(w / 7))));
    at += item.seconds;
  });
  for (let i = 0; i <= 4; i++) root.append(svg("text", {x: 10 + i * (width - 20) / 4, y: 62, class: "quiet", "text-anchor": i ? (i === 4 ? "end" : "middle") : "start"}, total < 1e-3 ? (total * i / 4 * 1e6).toFixed(1) + " \u00b5s" : (total * i / 4 * 1e3).toFixed(2) + " ms"));
  return root;
}

function memory(schedule, items) {
  const width = 1000, height = 220, root = svg("svg", {viewBox: "0 0 " + width + " " + height, role: "img", "aria-label": "memory plan over the items of the schedule"});
  const first = new Map(), last = new Map();
  items.forEach((item, i) => schedule.kernels[item.number].buffers.forEach((b) => { if (!first.has(b)) first.set(b, i); last.set(b, i); }));
  const sizes = schedule.shared.map((s) => s.bytes), starts = sizes.map((_, i) => sizes.slice(0, i).reduce((a, b) => a + b, 0)), all = sizes.reduce((a, b) => a + b, 0) || 1;
  const x = (i) => 10 + i / items.length * (width - 20), y = (b) => height - 12 - b / all * (height - 24);
  schedule.buffers.forEach((b, i) => {
    if (!b.place || b.place.shared === undefined || !first.has(i)) return;
    const low = starts[b.place.shared] + b.place.offset, box = svg("rect", {x: x(first.get(i)), y: y(low + b.bytes), width: Math.max(1, x(last.get(i) + 1) - x(first.get(i))),
      height: Math.max(0.7, y(low) - y(low + b.bytes)), fill: kPaints[i % kPaints.length], "fill-opacity": 0.75, stroke: "currentColor", "stroke-width": 0.3});
    box.append(svg("title", {}, plain("buffer " + i + "  " + b.dtype + "  " + amount(b.bytes, "B") + "  items " + first.get(i) + " to " + last.get(i))));
    root.append(box);
  });
  return root;
}

function openItem(app, item) {
  if (item.graph >= 0) app.go({g: item.graph, s: -1, r: -1, n: -1, d: -1, f: [], m: false});
}

function table(app, items, total) {
  const out = element("table"), head = element("tr");
  for (const [name, num] of [["item", 1], ["kernel", 0], ["share", 1], ["estimate", 1], ["bytes", 1], ["operations", 1], ["nodes", 1], ["writes", 0], ["reads", 0], ["made for", 0]])
    head.append(Object.assign(element("th", num ? "num" : "", String(name)), {scope: "col"}));
  out.append(element("thead"), element("tbody"));
  out.firstChild.append(head);
  for (const item of [...items].sort((a, b) => b.seconds - a.seconds)) {
    const row = element("tr"), cell = (text, num = 0) => {
      const td = element("td", num ? "num" : "");
      td.append(text);
      row.append(td);
    };
    let name = plain(item.name);
    if (item.graph >= 0) {
      const button = /** @type {HTMLButtonElement} */ (element("button", "", name));
      button.type = "button";
      button.addEventListener("click", () => openItem(app, item));
      name = button;
    }
    cell(String(item.number), 1), cell(name), cell((100 * item.seconds / total).toFixed(1) + " %", 1), cell((item.seconds * 1e6).toFixed(2) + " \u00b5s", 1);
    cell(amount(item.bytes, "B"), 1), cell(item.ops ? amount(item.ops, "") : "", 1), cell(String(item.nodes), 1);
    cell(item.writes.join(" ")), cell(item.reads.join(" ")), cell(plain(item.madeFor));
    out.lastChild.append(row);
  }
  return out;
}
