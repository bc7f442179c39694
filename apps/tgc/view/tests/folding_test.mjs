// Tests the search for repetitions and blocks, and that folding keeps every edge and makes no cycle. Exits with 1 on a
// failure.
import assert from "node:assert/strict";
import {Blocks, repeatsIn} from "../blocks.js";
import {foldedGraph, parseFoldWords} from "../folding.js";

const partsOf = (text, size = 3) => {
  const row = [...text];
  return repeatsIn(row, row.map(() => size)).map(([begin, end]) => row.slice(begin, end).join(""));
};
assert.deepEqual(partsOf("habababxabab"), ["ab", "ab", "ab", "ab", "ab"], "what is there most often, not the largest");
assert.deepEqual(partsOf("iidiiidiid").filter((p) => p.includes("d")).length, 3, "between them what is left, too");
assert.deepEqual(partsOf("abcdefg"), [], "nothing is repeated");
assert.deepEqual(partsOf("abab", 1), [], "blocks of two nodes are none");
assert.equal(partsOf("x".repeat(20000)).join("").length, 20000, "a long row");

// 5 uses 4 and 3, 4 uses 2, 3 uses 2, 2 uses 1
const graph = {order: [1, 2, 3, 4, 5], sources: new Map([[1, []], [2, [1]], [3, [2]], [4, [2]], [5, [4, 3]]])};
const g = {count: 100, opName: () => "ADD", dtypeName: () => "float", sourcesOf: (n) => graph.sources.get(n)};
const head = (floor) => ({floor, word: "5", lines: []});
const folded = (heads, of = null) => foldedGraph(g, graph, 5,
  {heads: new Map(heads), model: of && {of, labels: ["A a", "B b"], says: () => ""}});
const shown = ({graph: {order, sources}}) => order.map((key) => key + ":" + sources.get(key).join(",")).join(" ");
assert.equal(shown(folded([[5, head(-1)]])), "5:", "all that it uses");
assert.equal(shown(folded([[5, head(2)]])), "1: 2:1 5:2", "down to a floor, which it uses then");
assert.equal(shown(folded([[4, head(-1)]])), "1: 2:1 3:2 4:2 5:4,3", "what others use stays");
assert.equal(shown(folded([], (key) => ({3: 0, 4: 0}[key] ?? -1))), "1: 2:1 4:2 5:4,4", "one of the model's nodes");
assert.equal(shown(folded([], (key) => ({2: 0, 5: 0}[key] ?? -1))), "1: 2:1 4:2 3:2 5:4,3",
  "none that would be its own source");
assert.equal(folded([[5, head(2)]]).owner.get(3), 5, "what is hidden has a home");
// a source may have no entry in the graph, if two graphs are drawn as one
const two = {...graph, order: [2, 3, 4, 5]};
assert.equal(shown(foldedGraph(g, two, 5, {heads: new Map([[5, head(2)]]), model: null})), "2:1 5:2");
assert.deepEqual(parseFoldWords(["20", "20-12", "m", "m5"]).heads.map((h) => [h.head, h.floor]), [[20, -1], [20, 12]]);
// a tensor graph: chains of ops that only move elements, and the buffers of a CALL
const ops = ["PARAM", "ADD", "RESHAPE", "PERMUTE", "SINK", ...Array(5).fill("BUFFER"), "CALL"];
const uses = [[], [0], [1], [2], [3], [], [], [], [], [], [4, 5, 6, 7, 8, 9]];
const tensor = {count: 11, isTensor: true, opName: (n) => ops[n], dtypeName: () => "float", argText: (n) => "" + n,
  op: ops, dtype: ops, tag: ops, sourcesOf: (n) => uses[n], nodesOf: () => ops.map((_, n) => n)};
const quietOf = (g) => new Blocks(g, 10).repeats().map(({head, floor, label}) => [head, floor, label]);
assert.deepEqual(quietOf(tensor), [[10, 4, "5 buffers"], [3, 1, "PERMUTE, RESHAPE"]]);
assert.deepEqual(quietOf({...tensor, isTensor: false}), [], "only in tensor graphs");
console.log("repeated blocks and folded graphs are as they should be");
