import {prefixSums} from "./data.js";
import {withoutColors} from "./rewrites.js";
import {pyrender} from "./pyrender.js";
import {findNodes, linesOfRows, parseRows} from "./sourcelines.js";
/** @typedef {import("./data.js").RecordedGraph} RecordedGraph */
/** @typedef {import("./story.js").NodeHistories} NodeHistories */

/** @typedef {{kind: string, title: string, place: number, lines: string[], error: string,
 *   linesOf: Map<number, number[]>, nodesOf: Map<number, number[]>,
 *   marks?: {came: Set<number>, went: Set<number>}}} Text `marks`: the added and removed lines of a comparison */

const kTitles = {pyrender: "pyrender", linear: "linear", source: "source", "llvm-ir": "LLVM IR", asm: "assembly",
  program: "program"};

/** @param {Map<number, number[]>} map */
function push(map, key, value) { map.has(key) ? map.get(key).push(value) : map.set(key, [value]); }

/** Returns the texts to show at a point between stages, which include pyrender's text of the graph.
 * @param {RecordedGraph} graph @param {NodeHistories} story
 *  @param {Map<any, Text>} cache @returns {Text[]} */
export function textsAt(graph, story, place, cache) {
  let pyrender = null;
  for (const raw of graph.texts) if (raw.kind === "pyrender" && raw.stage <= place) pyrender = raw;
  const raws = [pyrender, ...graph.texts.filter((t) => t.kind !== "pyrender")].filter(Boolean);
  return raws.map((raw) => {
    if (needsRewrites(graph, raw)) return makeText(graph, story, raw, cache);
    if (!cache.has(raw)) cache.set(raw, makeText(graph, story, raw, cache));
    return cache.get(raw);
  });
}

// Whether a recording omits a text of pyrender, which the page makes.
const isOmitted = ({kind, lines, error}) => kind === "pyrender" && !lines && !error;

// Whether a text cannot be made, or the lines of a recorded text cannot be linked yet, because the nodes that rewrites
// made were not read.
function needsRewrites(graph, raw) {
  if (!graph.unread.packed) return false;
  return raw.kind === "pyrender" ? isOmitted(raw) && raw.stage > 0 : Boolean(graph.producer || raw.rows);
}

// Returns the lines of a text, and pairs of a node and its line unless foundNodes() must find them in a recorded text.
function linesAndNodes(graph, raw) {
  const own = (raw.text || "").replace(/\n$/, "").split("\n");
  if (isOmitted(raw)) return needsRewrites(graph, raw) ? {lines: []} : pyrender(graph, graph.rootAfter(raw.stage));
  const nodes = raw.nodes && prefixSums([...raw.nodes], 2);
  if (raw.rows) return {lines: needsRewrites(graph, raw) ? [] : rowsOfList(graph, raw), nodes};
  if (!raw.lines) return {lines: own, nodes};
  const ofTable = prefixSums([...raw.lines], 1).map((n) => graph.lines[n]);
  return {lines: decodeNames(graph, ofTable, nodes), nodes};
}

function makeText(graph, story, raw, cache) {
  const told = linesAndNodes(graph, raw), nodes = told.nodes || foundNodes(graph, story, raw);
  const lines = told.lines.map(withoutColors);  // kernels' names may contain terminal colours
  const linesOf = new Map(), nodesOf = new Map();
  const isLlvm = raw.kind === "source" && /^(define|target|; ModuleID)/m.test(raw.text || "");
  for (let i = 0; i < nodes.length; i += 2)
    push(linesOf, nodes[i], nodes[i + 1]), push(nodesOf, nodes[i + 1], nodes[i]);
  if (raw.kind === "asm") {
    const source = graph.texts.find((t) => t.kind === "source");
    const from = source && (cache.get(source) || makeText(graph, story, source, cache));
    let line = -1;
    lines.forEach((text, i) => {
      const comment = /^\s*(?:#|\/\/|;)\s*(\d+): /.exec(text);
      if (comment) line = Number(comment[1]) - 1;
      for (const n of (from && line >= 0 && from.nodesOf.get(line)) || []) push(linesOf, n, i), push(nodesOf, i, n);
    });
  }
  const title = isLlvm ? "LLVM IR" : kTitles[raw.kind] || raw.kind;
  return {kind: raw.kind, title, place: raw.kind === "pyrender" ? raw.stage : story.last,
    lines: raw.error ? ["(" + raw.error + ")"] : lines, error: raw.error || "", linesOf, nodesOf};
}

/** The links that the page found for the list and source of a recording: pairs of node and line, by kind of text.
 * @type {WeakMap<RecordedGraph, Record<string, number[]>>} */
const kFound = new WeakMap();

function foundNodes(graph, story, {kind}) {
  if (kind !== "source" && kind !== "linear" || !graph.producer || graph.unread.packed) return [];
  if (!kFound.has(graph)) {
    const linesOf = (name) => ((graph.texts.find((t) => t.kind === name) || {}).text || "").split("\n");
    const rows = parseRows(linesOf("linear").map(withoutColors));
    findNodes(graph, story.root(story.last), rows);
    const pairs = (list) => list.map(([row, line]) => [rows[row].node, line]).filter(([n]) => n >= 0).flat();
    kFound.set(graph, {linear: pairs(rows.map((_, i) => [i, i])), source: pairs(linesOfRows(rows, linesOf("source")))});
  }
  return kFound.get(graph)[kind];
}

/** Returns the lines of a linear list, of which a recording has only what its nodes do not tell: the ranges and, behind
 * a tab, an arg (rows_of_list in lib/view/recording_writer.cpp). @param {RecordedGraph} graph */
export function rowsOfList(graph, {rows, nodes}) {
  const list = prefixSums([...nodes], 2).filter((_, i) => i % 2 === 0), at = new Map(list.map((n, i) => [n, i]));
  return rows.map((row, i) => {
    const n = list[i], [ranges, arg = graph.argText(n) || "None"] = graph.lines[row].split("\t");
    const sources = Array.from(graph.sourcesOf(n), (s) => (!at.has(s) ? "'--'"
      : graph.opName(s) === "CONST" ? `'${graph.argText(s)}'` : at.get(s)));
    const dtype = graph.strings[graph.dtype[n]] || "dtypes.void";
    return [`${String(i).padStart(4)} ${("Ops." + graph.opName(n)).padEnd(20)}: ${ranges}`, dtype.padEnd(40),
      `[${sources.join(", ")}]`.padEnd(32), arg].join(" ");
  });
}

/** Decodes the lines of pyrender's text (lib/view/recording_writer.cpp): earlier names are distances from their line's
 * name; a line that begins with "." has marks for what its node tells.
 * @param {RecordedGraph} graph @param {string[]} lines @param {number[]} nodes pairs of a node and its line */
function decodeNames(graph, lines, nodes) {
  const from = (own, told) => (told <= own ? own - told : told), name = /\bc(0|[1-9]\d{0,7})\b/g;
  const owners = new Map(), names = new Map();
  for (let i = 0; i < nodes.length; i += 2) owners.set(nodes[i + 1], nodes[i]);
  let own = 0, next = 0;
  return lines.map((line, i) => {
    const isShort = line[0] === ".", text = isShort ? line.slice(1) : line, head = /^c(0|[1-9]\d{0,7}) = /.exec(text);
    if (head) own = from(next, Number(head[1])), next = own + 1;
    const told = head ? text.slice(head[0].length) : text;
    const rest = isShort ? fillMarks(graph, owners.get(i), told, names)
      : told.replace(name, (_, number) => "c" + from(own, Number(number)));
    if (head && owners.has(i)) names.set(owners.get(i), "c" + own);
    return head ? "c" + own + " = " + rest : rest;
  });
}

// Replaces the marks of a line by the names and the constants below its node, in the order of the sources.
function fillMarks(graph, owner, text, names) {
  const parts = [], add = (n) => {
    for (const s of graph.sourcesOf(n)) names.has(s) || graph.opName(s) === "CONST" ? parts.push(s) : add(s);
  };
  add(owner);
  let i = 0;
  return text.replace(/[@$`]/g, (mark) => {
    const n = parts[i++], dtype = graph.strings[graph.dtype[n]], value = graph.argText(n);
    return mark === "@" ? names.get(n) : `UOp.const(${(mark === "$" ? [dtype, value] : [value, dtype]).join(", ")})`;
  });
}

/** Returns the lines of nodes. `own`: their own lines; `near`: for nodes without a line, the lines of their users.
 * @param {Text} text
 *  @param {NodeHistories} story @param {Iterable<number>} nodes @returns {{own: Set<number>, near: Set<number>}} */
export function linesOfNodes(text, story, nodes) {
  const own = new Set(), near = new Set();
  for (const node of nodes) {
    const lines = text.linesOf.get(node);
    if (lines) lines.forEach((l) => own.add(l));
    else {
      const seen = new Set([node]), queue = [node], users = story.usersAt(text.place);
      for (let i = 0; i < queue.length && queue.length < 400; i++)
        for (const user of users.get(queue[i])) {
          if (seen.has(user)) continue;
          seen.add(user);
          const there = text.linesOf.get(user);
          if (there) there.forEach((l) => near.add(l));
          else queue.push(user);
        }
    }
  }
  for (const line of own) near.delete(line);
  return {own, near};
}
