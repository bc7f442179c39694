// The texts of two compared graphs as one: lines of A alone are marked as removed, lines of B alone as added.
import {NodeHistories} from "./story.js";
import {textsAt} from "./texts.js";
/** @typedef {import("./texts.js").Text} Text */

const kName = /\bc(?:0|[1-9]\d*)\b/g;

/** Returns the texts at the shown place, each with the lines of the other input's text, if there is one.
 * @param {import("./app.js").App} app @param {Text[]} texts @param {Map<any, any>} cache @returns {Text[]} */
export function mergeOtherTexts({graph, state, scene}, texts, cache) {
  const {other} = graph, at = other.names.indexOf(state.s ? graph.stages[state.s - 1].name : graph.begins);
  if (at < 0 || !scene.diff) return texts;
  const {like, changed} = scene.diff;
  const back = new Map([...[...like].map(([old, now]) => [now, old]), ...[...changed].map(([now, {of}]) => [now, of])]);
  if (!other.story) other.story = new NodeHistories(other.graph);
  const theirs = textsAt(other.graph, other.story, at, cache).map((text) => renumberNodes(text, other.to));
  return texts.map((text) => {
    const key = `${state.s} ${text.kind}`, their = theirs.find((t) => t.kind === text.kind);
    if (!their || text.error || their.error) return text;
    if (!cache.has(key)) cache.set(key, other.isFirst ? mergeTexts(their, text, back) : mergeTexts(text, their, back));
    return {...cache.get(key), place: text.place};
  });
}

// Returns the other input's text with the numbers that its nodes have in the merged table.
function renumberNodes(text, to) {
  const move = (map, key, value) => new Map([...map].map(([k, list]) => [key(k), list.map(value)]));
  const same = (x) => x, node = (n) => to[n];
  return {...text, linesOf: move(text.linesOf, node, same), nodesOf: move(text.nodesOf, same, node)};
}

// Returns two texts as one. Pyrender's lines of the same node, or of its changed version (`back`), form a pair: one
// line if their texts are the same, else two successive lines. Other lines form a pair if they have the same text.
// Pairs do not cross.
function mergeTexts(a, b, back) {
  const keysOf = (text, nodeOf) => {
    const seen = new Map();
    return text.lines.map((line, i) => {
      const nodes = text.kind === "pyrender" && text.nodesOf.get(i), n = nodes ? nodes[nodes.length - 1] : -1;
      const key = n >= 0 ? "#" + nodeOf(n) : line.trim(), count = (seen.get(key) || 0) + 1;
      seen.set(key, count);
      return count + " " + key;
    });
  };
  const ours = keysOf(a, (n) => n), theirs = keysOf(b, (n) => back.get(n) ?? n);
  const at = new Map(ours.map((key, i) => [key, i])), pairs = longestIncreasing(theirs.map((key) => at.get(key) ?? -1));
  const out = {...a, lines: [], linesOf: new Map(), nodesOf: new Map(), marks: {came: new Set(), went: new Set()}};
  const put = (text, i, line, mark) => {
    const to = out.lines.push(line) - 1, nodes = text.nodesOf.get(i) || [];
    if (mark) out.marks[mark].add(to);
    if (nodes.length) out.nodesOf.set(to, nodes);
    for (const n of nodes) out.linesOf.has(n) ? out.linesOf.get(n).push(to) : out.linesOf.set(n, [to]);
  };
  const names = namesOfB(a, b, pairs);
  let i = 0;
  const putA = (end) => { for (; i < end; i++) put(a, i, a.lines[i], "went"); };
  b.lines.forEach((line, k) => {
    const text = a.kind === "pyrender" ? line.replace(kName, (name) => names.get(name) || name) : line;
    if (pairs[k] < 0) return put(b, k, text, "came");
    putA(pairs[k]);
    if (text.trim() !== a.lines[i].trim()) putA(i + 1), put(b, k, text, "came");
    else put(a, i, a.lines[i], ""), i++;
  });
  putA(a.lines.length);
  return out;
}

function namesOfB(a, b, pairs) {
  const out = new Map(), nameOf = (line) => (/^(c\d+) = /.exec(line) || ["", ""])[1];
  b.lines.forEach((line, k) => {
    const name = nameOf(line), known = pairs[k] < 0 ? "" : nameOf(a.lines[pairs[k]]);
    if (name) out.set(name, known || name + "\u2032");
  });
  return out;
}

// Returns `list` with -1 in place of each element that is not in its longest increasing subsequence.
export function longestIncreasing(list) {
  const ends = [], before = new Map();  // ends: by length, the index of the smallest last element
  list.forEach((x, i) => {
    if (x < 0) return;
    let low = 0, high = ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (list[ends[middle]] < x) low = middle + 1;
      else high = middle;
    }
    before.set(i, low ? ends[low - 1] : -1), ends[low] = i;
  });
  const kept = new Set();
  for (let i = ends.length ? ends[ends.length - 1] : -1; i >= 0; i = before.get(i)) kept.add(i);
  return list.map((x, i) => (kept.has(i) ? x : -1));
}
