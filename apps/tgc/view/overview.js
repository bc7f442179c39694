import {amountText, countText, timeText} from "./amounts.js";
import {buttonOf, filteredTable, cellText, withoutEmptyColumns} from "./dialogs.js";
import {element} from "./list.js";
import {plainText} from "./data.js";
import {shownOpts} from "./rewrites.js";
import {firstDifference} from "./pairs.js";
import {verdictText} from "./proof.js";
/** @typedef {import("./app.js").App} App */
/** A row of the overview. `other`: the pair of the graph `g`, -1: none; `only`: the input that alone has it; `differs`:
 * what differs first from the pair; `seconds`: measured, 0: not measured.
 * @typedef {{g: number, other: number, only: string, differs: string, verdict: string, isWrong: boolean,
 *   seconds: number}} Entry */

const kMostFeatures = 3;

/** Returns the text that the page shows for a target, with the number of its features in place of a list of more than
 * three. @param {string} target */
export function shownTarget(target) {
  const [device, renderer, ...features] = plainText(target || "").split(":"),
    count = features.join(":").split(",").length;
  if (!features.length || count <= kMostFeatures) return plainText(target || "");
  return `${device}:${renderer}, ${countText(count, device === "CL" ? "extension" : "feature")}`;
}

/** Returns a launch size without its last dimensions of 1: "16 x 4" for "16 x 4 x 1". @param {string} [size] */
export const shownSize = (size = "") => plainText(size).replace(/( x 1)+$/, "");

/** Returns the name of a graph: that of the kernel's function, else that of the record, else "graph N". */
export const nameOfGraph = (g, i = 0) => plainText(g.function || g.name || "graph " + i);

/** Returns the graphs, each pair of two inputs once, in the order in which the overview shows them. @param {App} app
 * @returns {Entry[]} */
export function overviewEntries(app) {
  const {graphs, measured = []} = app.index, hasSides = graphs.some((g) => g.side > 0);
  const out = graphs.map((graph, g) => {
    const pair = app.pairs.get(g), other = pair ? pair.with : -1, [verdict, isWrong] = verdictOnGraph(graph);
    const seconds = graph.measured * Math.max(1, graph.numbers.length) ||
      graph.numbers.reduce((sum, n) => sum + (measured[n] || 0), 0);
    return {g, other, only: hasSides && !pair ? "only in " + (graph.side ? "B" : "A") : "", verdict, isWrong, seconds,
      differs: pair ? firstDifference(graph, graphs[other]) : ""};
  }).filter(({g, other}) => other < 0 || graphs[g].side === 0);
  const isPlain = ({kind}) => kind === "tensor" && graphs.some((g) => g.kind === "kernel" && !g.runtime);
  const rank = ({g, isWrong, differs, only}) => [!isWrong, !differs, !only, Boolean(graphs[g].runtime),
    isPlain(graphs[g])].map(Number);
  const before = (a, b) => {
    const [x, y] = [rank(a), rank(b)], at = x.findIndex((k, i) => k !== y[i]);
    return at >= 0 ? x[at] - y[at] : b.seconds - a.seconds;
  };
  return out.sort(before);
}

/** Whether a bisection has another verdict than "same", or a proof has refuted a rewrite. */
export function isConvicted({accused, proof}) {
  return Boolean(accused && accused.verdict !== "same" || proof && proof.verdict === "refuted");
}

// Returns the verdict on a graph as text ("": none), and whether the graph is wrong or was refused.
function verdictOnGraph(graph) {
  const {accused, proof, error} = graph, {verdict} = accused || proof || {}, {rule, stage} = accused || {};
  if (verdict) return [verdictText(verdict) + (rule || stage ? ": " + (rule || stage) : ""), isConvicted(graph)];
  return error ? ["refused", true] : ["", false];
}

/** Returns the columns and rows of the table. @param {App} app @param {Entry[]} entries @param {() => void} close */
export function graphTable(app, entries, close) {
  const {graphs} = app.index, total = entries.reduce((sum, e) => sum + e.seconds, 0);
  const number = (n) => (n ? amountText(n, "") : "");
  const count = (text) => (/^\d+$/.test(text || "") ? Number(text) : 0);
  const hasTargets = entries.some(({g}) => graphs[g].target);
  const columns = [
    {name: "graph", of: ({g, differs}) => graphButton(app, g, differs, close),
      value: ({g}) => nameOfGraph(graphs[g], g)},
    {name: "record", of: ({g}) => (graphs[g].function ? plainText(graphs[g].name) : "")},
    {name: "verdict", of: (e) => plainText(e.verdict), kind: "long"},
    {name: "differs", of: (e) => e.only || (e.differs && "in " + plainText(e.differs)) || (e.other >= 0 ? "no" : "")},
    {name: "made for", of: ({g}) => plainText(graphs[g].made_for || ""), kind: "long"},
    {name: hasTargets ? "target" : "kind", of: ({g}) => shownTarget(graphs[g].target) ||
      (graphs[g].kind === "tensor" ? "tensor graph" : hasTargets ? "" : "kernel")},
    {name: "groups", of: ({g}) => shownSize(graphs[g].groups), kind: "minor"},
    {name: "threads", of: ({g}) => shownSize(graphs[g].threads), kind: "minor"},
    {name: "opts", of: ({g}) => shownOpts(graphs[g].opts || "").join(", "), kind: "long"},
    {name: "nodes", of: ({g}) => String(graphs[g].nodes), value: ({g}) => graphs[g].nodes, num: true},
    {name: "rewrites", of: ({g}) => (graphs[g].rewrites ? String(graphs[g].rewrites) : ""),
      value: ({g}) => graphs[g].rewrites, kind: "minor", num: true},
    {name: "operations", of: ({g}) => number(count(graphs[g].ops)), value: ({g}) => count(graphs[g].ops), num: true},
    {name: "bytes", of: ({g}) => number(count(graphs[g].mem)), value: ({g}) => count(graphs[g].mem), num: true},
    {name: "time", of: ({seconds}) => (seconds ? timeText(seconds) : ""), value: ({seconds}) => seconds, num: true},
    {name: "share", of: ({seconds}) => (seconds ? (100 * seconds / total).toFixed(1) + " %" : ""),
      value: ({seconds}) => seconds, kind: "minor", num: true},
    {name: "time to compile", of: ({g}) => (graphs[g].ms ? graphs[g].ms.toFixed(2) + " ms" : ""),
      value: ({g}) => graphs[g].ms, kind: "minor", num: true},
    {name: "runs", of: ({g}) => (graphs[g].numbers.length ? String(graphs[g].numbers.length) : ""),
      value: ({g}) => graphs[g].numbers.length, kind: "minor", num: true}];
  return withoutEmptyColumns({heads: columns, rows: entries.map((e) => {
    const cells = columns.map((c) => c.of(e));
    return {cells, open: () => { close(), app.openGraph(e.g, e.differs); },
      values: columns.map((c, i) => (c.value ? c.value(e) : cellText(cells[i])))};
  })});
}

function graphButton(app, g, differs, close) {
  const out = buttonOf(nameOfGraph(app.index.graphs[g], g), () => { close(), app.openGraph(g, differs); });
  out.title = plainText(app.index.graphs[g].name);
  return out;
}

/** Shows the overview. Kernels of tinygrad's own runtime are hidden, if there are other graphs, until the user clicks a
 * button. @param {HTMLElement} home @param {App} app */
export function showOverview(home, app) {
  const {graphs, title, sides} = app.index, all = overviewEntries(app);
  const show = (isFolded) => {
    const shown = all.filter(({g}) => !isFolded || !graphs[g].runtime), hidden = all.length - shown.length;
    const {heads, rows} = graphTable(app, shown, () => {}), {filter, table} = filteredTable(heads, rows);
    const top = element("div", "top"), facts = element("p", "facts", summaryOf(app, shown));
    const box = element("div", "scroll");
    if (hidden)
      facts.append(buttonOf("show " + countText(hidden, "kernel") + " of tinygrad's runtime", () => show(false)));
    top.append(element("h2", "", plainText(sides ? `${sides[0]} (A) and ${sides[1]} (B)` : title)), filter);
    box.append(table), home.replaceChildren(top, facts, box);
  };
  show(all.some(({g}) => !graphs[g].runtime));
}

// Returns a text such as "6 kernels, 1 tensor graph, 2 refuted, 3 proven, 2 differ, measured on CPU".
function summaryOf(app, entries) {
  const {graphs, measured_on: device, sides} = app.index, count = (of) => entries.filter(of).length;
  const kernels = count(({g}) => graphs[g].kind === "kernel"), differing = count((e) => e.differs || e.only);
  const proofs = ["refuted", "unknown", "sampled", "proven"]
    .map((name) => [verdictText(name), count(({g}) => graphs[g].proof && graphs[g].proof.verdict === name)]);
  const convicted = count(({g}) => graphs[g].accused && isConvicted(graphs[g]));
  const refused = count(({g}) => !graphs[g].accused && !graphs[g].proof && graphs[g].error);
  return [kernels ? countText(kernels, "kernel") : "",
    entries.length > kernels ? countText(entries.length - kernels, "tensor graph") : "",
    convicted ? convicted + " wrong" : "", refused ? refused + " refused" : "",
    ...proofs.map(([name, n]) => (n ? n + " " + name : "")),
    sides ? differing + (differing === 1 ? " differs" : " differ") : "",
    device ? "measured on " + plainText(device) : ""].filter(Boolean).join(", ");
}
