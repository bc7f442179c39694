// The model: its schedule as a timeline and as a list, its memory over time.
import {element} from "./list.js";
import {plain} from "./data.js";
import {colorOfOp} from "./colors.js";
import {nodesOfKernels} from "./made.js";

// What the estimate goes by: a common desktop's memory and arithmetic.
const kBytesPerSecond = 40e9, kOpsPerSecond = 200e9;
const kPaints = ["#5b8ff9", "#61ddaa", "#f6bd16", "#7262fd", "#78d3f8", "#f08bb4", "#9661bc", "#f6903d", "#008685", "#65789b"];

/** An item of the schedule. `graph`: its kernel's, -1: none; `estimate` and `measured` in seconds, 0: not measured.
 * @typedef {{number: number, graph: number, name: string, op: string, nodes: number, madeFor: string, ops: number,
 *   bytes: number, estimate: number, measured: number, seconds: number, reads: number[], writes: number[]}} Item */

/** @param {any} index @param {boolean} estimated whether `seconds` are those though others were measured
 *  @returns {Item[]} */
export function itemsOf(index, estimated) {
  const graphOf = new Map(), isMeasured = Boolean(index.measured) && !estimated;
  index.graphs.forEach((g, i) => g.numbers.forEach((n) => graphOf.set(n, i)));
  return index.schedule.kernels.map((k, number) => {
    const graph = graphOf.has(number) ? graphOf.get(number) : -1, of = graph >= 0 ? index.graphs[graph] : null;
    const touched = [...new Set(k.buffers)].reduce((sum, b) => sum + index.schedule.buffers[b].bytes, 0);
    const ops = of && /^\d+$/.test(of.ops) ? Number(of.ops) : 0, bytes = of && /^\d+$/.test(of.mem) ? Number(of.mem) : touched;
    const estimate = Math.max(ops / kOpsPerSecond, bytes / kBytesPerSecond, 1e-9), measured = (index.measured && index.measured[number]) || 0;
    return {number, graph, name: of ? of.name : k.op, op: k.op, nodes: k.ast_nodes, madeFor: k.made_for || (of ? of.made_for : ""), ops, bytes,
      estimate, measured, seconds: isMeasured ? measured : estimate, reads: k.reads, writes: k.writes};
  });
}

function svg(tag, attributes, text = "") {
  const out = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [k, v] of Object.entries(attributes)) out.setAttribute(k, String(v));
  if (text) out.textContent = text;
  return out;
}

const amount = (n, unit) => (n >= 1e9 ? (n / 1e9).toFixed(2) + " G" : n >= 1e6 ? (n / 1e6).toFixed(2) + " M" : n >= 1e3 ? (n / 1e3).toFixed(1) + " k" : String(Math.round(n)) + " ") + unit;

const inTime = (s) => (s >= 1e-3 ? (s * 1e3).toFixed(3) + " ms" : (s * 1e6).toFixed(2) + " \u00b5s");

/** @param {HTMLElement} home @param {import("./app.js").App} app */
export async function showModel(home, app) {
  const {index} = app, {schedule} = index;
  if (!schedule) {
    home.replaceChildren(element("h2", "", "no schedule"), element("p", "facts", "This page is of kernels, or of a graph that was not scheduled."));
    return;
  }
  const isMeasured = Boolean(index.measured) && !app.state.e, bytes = schedule.bytes || {}, out = [];
  const items = itemsOf(index, app.state.e), total = items.reduce((s, i) => s + i.seconds, 0);
  const {graph, story} = await app.open(index.graphs.findIndex((g) => g.kind === "tensor"));
  const nodes = nodesOfKernels(graph, story);
  for (const item of items) item.madeFor = item.madeFor || (nodes[item.number] || []).map((i) => graph.madeOf[i]).join(", ");
  out.push(element("h2", "", "Schedule of " + plain(graph.name || index.title)));
  out.push(element("p", "facts", items.length + " items, " + schedule.buffers.length + " buffers, " + amount(bytes.before || 0, "B") + " of memory, " + amount(bytes.after || 0, "B") + " as planned"));
  out.push(element("h2", "", isMeasured ? "Timeline, measured" : "Timeline, estimated"));
  out.push(element("p", "facts", inTime(total) + " in all. " + (isMeasured ? "The fastest of several runs of each kernel on " + plain(index.measured_on) + "; M: estimated times."
    : "The larger of bytes at 40 GB/s and operations at 200 G/s. " + (index.measured ? "M: measured times." : "Nothing was run: tgc view --run does."))));
  out.push(timeline(app, items, total));
  if (schedule.shared && schedule.shared.length) out.push(element("h2", "", "Memory plan"), element("p", "facts", "Buffers that share memory, from the item that first uses each to the last; offsets upwards."), memory(schedule, items));
  out.push(element("h2", "", "Kernels by cost"), table(app, items, total));
  if (graph.madeOf.length) out.push(element("h2", "", "The model's nodes, and the kernels that came of them"), nodeTable(app, items, graph, nodes));
  home.replaceChildren(...out);
}

function cells(row, ...texts) {
  for (const text of texts) {
    const isNumber = Array.isArray(text), td = element("td", isNumber ? "num" : "");
    td.append(isNumber ? text[0] : text);
    row.append(td);
  }
  return row;
}
function tableOf(heads) {
  const out = element("table"), head = element("tr");
  for (const name of heads) head.append(Object.assign(element("th", name.startsWith("#") ? "num" : "", name.replace(/^#/, "")), {scope: "col"}));
  out.append(element("thead"), element("tbody"));
  out.firstChild.append(head);
  return out;
}
function opener(app, item, text) {
  if (item.graph < 0) return text;
  const button = /** @type {HTMLButtonElement} */ (element("button", "", text));
  button.type = "button";
  button.addEventListener("click", () => openItem(app, item));
  return button;
}

function nodeTable(app, items, graph, nodes) {
  const out = tableOf(["#node", "of the model", "kernels"]);
  graph.madeOf.forEach((label, i) => {
    const kernels = element("span");
    for (const item of items) if (nodes[item.number] && nodes[item.number].includes(i)) kernels.append(kernels.childNodes.length ? "  " : "", opener(app, item, item.number + " " + plain(item.name)));
    if (!kernels.childNodes.length) kernels.append("none: it is computed beforehand, or only moves");
    out.lastChild.append(cells(element("tr"), [String(i)], plain(label), kernels));
  });
  return out;
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
    if (w > 64) root.append(svg("text", {x: x + 4, y: 33, class: "on", "pointer-events": "none"}, plain(item.name).slice(0, Math.floor(w / 7))));
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
  if (item.graph >= 0) app.openGraph(item.graph);
}

function table(app, items, total) {
  const isMeasured = Boolean(app.index.measured);
  const out = tableOf(["#item", "kernel", "#share", "#estimate", ...(isMeasured ? ["#measured"] : []), "#bytes", "#operations", "#nodes", "writes", "reads", "made for"]);
  for (const item of [...items].sort((a, b) => b.seconds - a.seconds)) {
    out.lastChild.append(cells(element("tr"), [String(item.number)], opener(app, item, plain(item.name)), [(100 * item.seconds / total).toFixed(1) + " %"], [inTime(item.estimate)],
      ...(isMeasured ? [[item.measured ? inTime(item.measured) : ""]] : []), [amount(item.bytes, "B")], [item.ops ? amount(item.ops, "") : ""], [String(item.nodes)],
      item.writes.join(" "), item.reads.join(" "), plain(item.madeFor)));
  }
  return out;
}
