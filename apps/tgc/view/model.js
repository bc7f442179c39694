import {amountText, countText, timeText} from "./amounts.js";
import {memoryInUse, drawMemoryPlan, drawTimeline} from "./charts.js";
import {buttonOf, filteredTable, withoutEmptyColumns} from "./dialogs.js";
import {byId, element} from "./list.js";
import {plainText} from "./data.js";
import {nodesOfKernels} from "./made.js";
import {nameOfGraph} from "./overview.js";

// The estimate of a kernel's time assumes the memory bandwidth and arithmetic speed of a common desktop.
const kBytesPerSecond = 40e9, kOpsPerSecond = 200e9;
const kNearPeak = 0.5;  // a peak rate bounds a kernel that reaches this share of it

/** An item of the schedule. `graph`: number of its kernel's graph, -1: none; `estimate` and `measured` are in seconds,
 * 0: not measured.
 * @typedef {{number: number, graph: number, name: string, op: string, nodes: number, madeFor: string, ops: number,
 *   bytes: number, estimate: number, measured: number, seconds: number, reads: number[], writes: number[]}} Item */

/** `estimated`: use estimated times even if there are measured ones.
 * @param {import("./app.js").App} app @param {boolean} estimated
 *  @returns {Item[]} */
export function itemsOf(app, estimated) {
  const {index, schedule, scheduleGraph} = app, times = app.measured, isMeasured = Boolean(times) && !estimated;
  return schedule.kernels.map((k, number) => {
    const graph = app.graphOfItem(number, scheduleGraph), of = graph >= 0 ? index.graphs[graph] : null;
    const touched = [...new Set(k.buffers)].reduce((sum, b) => sum + schedule.buffers[b].bytes, 0);
    const ops = of && /^\d+$/.test(of.ops) ? Number(of.ops) : 0;
    const bytes = of && /^\d+$/.test(of.mem) ? Number(of.mem) : touched;
    const estimate = Math.max(ops / kOpsPerSecond, bytes / kBytesPerSecond, 1e-9);
    const measured = (times && times[number]) || 0;
    const madeFor = k.made_for || (of ? of.made_for : "");
    const name = of ? nameOfGraph(of, graph) : k.op, nodes = of ? of.nodes : k.ast_nodes;
    const seconds = isMeasured ? measured : estimate, {reads, writes} = k;
    return {number, graph, name, op: k.op, nodes, madeFor, ops, bytes, estimate, measured, seconds, reads, writes};
  });
}

/** @param {HTMLElement} home @param {import("./app.js").App} app */
export async function showModel(home, app) {
  const {index, schedule} = app;
  const isMeasured = Boolean(app.measured) && !app.state.e, {before = 0, after = 0} = schedule.bytes || {}, out = [];
  const items = itemsOf(app, app.state.e), total = items.reduce((s, i) => s + i.seconds, 0);
  const {graph, story} = await app.open(app.scheduleGraph, false);
  if (graph.madeForNode.size) await graph.readEvents();
  const nodes = nodesOfKernels(graph, story);
  const labels = (item) => (nodes[item.number] || []).map((i) => graph.madeOf[i]).join(", ");
  for (const item of items) item.madeFor = item.madeFor || labels(item);
  const names = bufferNames(schedule, items);
  const heading = (text) => out.push(element("h2", "", text));
  const facts = (...texts) => out.push(element("p", "facts", texts.join("")));
  heading("Schedule of " + plainText(graph.name || index.title));
  facts(countText(items.length, "item"), ", ", countText(schedule.buffers.length, "buffer"), ", ",
    amountText(before, "B"), " of memory, ", amountText(after, "B"), " as planned",
    after > before ? ", aligned to pages" : "");
  heading(isMeasured ? "Timeline, measured" : "Timeline, estimated");
  const fastest = "The fastest of several runs of each kernel on ";
  if (isMeasured) facts(timeText(total), " in all. ", fastest, plainText(index.measured_on), "; M: estimated times.");
  else facts(timeText(total), " in all. The larger of bytes at 40 GB/s and operations at 200 G/s. ",
    app.measured ? "M: measured times." : "Not measured; tgc view --run measures.");
  out.push(drawTimeline(items, total, (item) => openItem(app, item)));
  const showBuffer = (i) => {
    const row = byId("buffer-" + i), old = home.querySelector("tr.shown");
    if (!row) return;
    if (old) old.classList.remove("shown");
    row.classList.add("shown"), row.scrollIntoView({block: "center"});
  };
  const inUse = memoryInUse(schedule, items);
  if (schedule.shared && schedule.shared.length) {
    const peak = Math.max(...inUse), top = inUse.indexOf(peak);
    heading("Memory plan");
    facts("Each value from the item that stores it to the last that reads it; inputs are kept all the time, outputs " +
      "to the end; offsets upwards. At most ",
      amountText(peak, "B"), " are in use at a time, at item ", `${top} (${plainText(items[top].name)})`,
      ". The line shows the memory in use at each item. A click shows the buffer.");
    out.push(drawMemoryPlan(schedule, items, names, inUse, showBuffer));
  }
  heading("Kernels by cost");
  const peaks = peaksOf(index, items, isMeasured);
  facts("A kernel is bound by memory or arithmetic if it reaches half of that peak rate: ",
    amountText(peaks.bytes, "B/s"), " and ", amountText(peaks.ops, "op/s"), ", ",
    peaks.are, ".");
  out.push(itemTable(app, items, total, peaks, inUse, names, showBuffer));
  heading("Buffers");
  out.push(bufferTable(app, schedule, items, names));
  if (graph.madeOf.length && !graph.isByLine) {
    heading("The model's nodes and their kernels");
    out.push(nodeTable(app, items, graph, nodes));
  }
  if (schedule.why) {
    heading("Why each kernel is one of its own");
    out.push(element("pre", "", plainText(schedule.why)));
  }
  home.replaceChildren(...out.map((part) => {
    if (part.tagName !== "TABLE") return part;
    const box = element("div", "scroll");
    box.append(part);
    return box;
  }));
}

/** Returns a table whose rows can be sorted, without empty columns. @param {string[]} heads the names of the columns,
 * after "#" for numbers and after "~" for columns that a narrow window hides
 * @param {import("./dialogs.js").TableRow[]} rows */
function tableOf(heads, rows) {
  const columns = heads.map((name) => ({name: name.replace(/^~?#?/, ""), num: /^~?#/.test(name),
    kind: name.startsWith("~") ? "minor" : ""}));
  const table = withoutEmptyColumns({heads: columns, rows});
  return filteredTable(table.heads, table.rows).table;
}
function itemButton(app, item, text) {
  if (item.graph < 0) return text;
  return buttonOf(text, () => openItem(app, item));
}

function nodeTable(app, items, graph, nodes) {
  return tableOf(["#node", "of the model", "kernels"], graph.madeOf.map((label, i) => {
    const kernels = element("span");
    for (const item of items) {
      if (!nodes[item.number] || !nodes[item.number].includes(i)) continue;
      kernels.append(kernels.childNodes.length ? "  " : "",
        itemButton(app, item, item.number + " " + plainText(item.name)));
    }
    if (!kernels.childNodes.length) kernels.append("none: computed before the run, or only moved");
    return {cells: [String(i), plainText(label), kernels], values: [i, label, kernels.textContent]};
  }));
}

/** Returns the name of each buffer: that of the model's tensor, what its first writer was made for ("": unknown), or
 * "input" if it has no writer.
 * @param {any} schedule @param {Item[]} items @returns {string[]} */
function bufferNames(schedule, items) {
  return schedule.buffers.map((b, i) => {
    const writer = items.find((item) => item.writes.includes(i));
    return plainText(b.name || (writer ? writer.madeFor && "of " + writer.madeFor : "input"));
  });
}

function openItem(app, item) {
  if (item.graph >= 0) app.openGraph(item.graph);
}

/** Returns the peak rates: those of the device, the highest that measured kernels reach, or assumed ones.
 * @param {any} index @param {Item[]} items */
function peaksOf(index, items, isMeasured) {
  if (!isMeasured) return {bytes: kBytesPerSecond, ops: kOpsPerSecond, are: "which are assumed"};
  if (index.peaks)
    return {...index.peaks, are: "measured on the same device: a copy of 64 MiB, and multiplications and additions"};
  const most = (of) => Math.max(1, ...items.filter((item) => item.measured).map((item) => of(item) / item.measured));
  const are = "the highest rates that kernels of this model reached";
  return {bytes: most((item) => item.bytes), ops: most((item) => item.ops), are};
}

// Returns what bounds an item: memory or arithmetic, whichever it uses more of; "neither" below kNearPeak of both.
function limitOfItem({bytes, ops, seconds}, peaks) {
  const least = [bytes / peaks.bytes, ops / peaks.ops];
  if (Math.max(...least) < kNearPeak * seconds) return "neither";
  return least[0] >= least[1] ? "memory" : "arithmetic";
}

function itemTable(app, items, total, peaks, inUse, names, showBuffer) {
  const {schedule} = app, measured = app.measured ? ["#measured"] : [];
  const memory = schedule.shared && schedule.shared.length ? ["#memory in use"] : [];
  const heads = ["#item", "kernel", "made for", "#share", "#estimate", ...measured, "#bytes", ...memory, "~#operations",
    "~#GB/s", "~#Gop/s", "bound by", "~#nodes", "writes", "reads"];
  const buffers = (list) => {
    const cell = element("span");
    for (const b of list) {
      const button = buttonOf(String(b), () => showBuffer(b));
      button.title = names[b];
      cell.append(button, " ");
    }
    return cell;
  };
  const perSecond = (n, item) => (n && item.seconds ? n / item.seconds / 1e9 : 0);
  const rate = (n) => (n ? n.toPrecision(3) : "");
  return tableOf(heads, [...items].sort((a, b) => b.seconds - a.seconds).map((item) => {
    const share = (100 * item.seconds / total).toFixed(1) + " %", bound = limitOfItem(item, peaks), {number} = item;
    const rates = [perSecond(item.bytes, item), perSecond(item.ops, item)];
    const columns = [[String(number), number], [itemButton(app, item, plainText(item.name)), item.name],
      [plainText(item.madeFor), item.madeFor], [share, item.seconds], [timeText(item.estimate), item.estimate],
      ...measured.map(() => [item.measured ? timeText(item.measured) : "", item.measured]),
      [amountText(item.bytes, "B"), item.bytes], ...memory.map(() => [amountText(inUse[number], "B"), inUse[number]]),
      [item.ops ? amountText(item.ops, "") : "", item.ops], ...rates.map((n) => [rate(n), n]), [bound, bound],
      [String(item.nodes), item.nodes], [buffers(item.writes), item.writes[0] ?? -1],
      [buffers(item.reads), item.reads[0] ?? -1]];
    return {cells: columns.map(([cell]) => cell), values: columns.map(([, value]) => value),
      open: item.graph >= 0 ? () => openItem(app, item) : null};
  }));
}

function bufferTable(app, schedule, items, names) {
  const writers = new Map(), readers = new Map();
  const add = (map, b, item) => { map.has(b) ? map.get(b).push(item) : map.set(b, [item]); };
  for (const item of items) {
    for (const b of item.writes) add(writers, b, item);
    for (const b of item.reads) add(readers, b, item);
  }
  const links = (list = []) => {
    const cell = element("span");
    for (const item of list) cell.append(itemButton(app, item, item.number + " " + plainText(item.name)), "  ");
    return cell;
  };
  const first = (list = []) => (list.length ? list[0].number : -1);
  return tableOf(["#buffer", "name", "dtype", "#size", "written by", "read by"], schedule.buffers.map((b, i) => ({
    id: "buffer-" + i,
    cells: [String(i), names[i], plainText(b.dtype), amountText(b.bytes, "B"), links(writers.get(i)),
      links(readers.get(i))],
    values: [i, names[i], b.dtype, b.bytes, first(writers.get(i)), first(readers.get(i))]})));
}
