// Tests how the graphs of two inputs are paired. Exits with 1 on a failure.
import assert from "node:assert/strict";
import {pairsOf} from "../pairs.js";

const graph = (side, name, structure = "", madeFor = "", target = "CPU") =>
  ({side, name, structure, made_for: madeFor, target});
const pairs = (...graphs) => [...pairsOf(graphs)].filter(([g]) => graphs[g].side === 0)
  .map(([g, pair]) => graphs[g].name + " " + graphs[pair.with].name + " by " + pair.by);

assert.deepEqual(pairs(graph(0, "a"), graph(1, "x")), ["a x by being the only ones"]);
assert.deepEqual(pairs(graph(0, "a"), graph(0, "b"), graph(1, "b"), graph(1, "c")), ["b b by name and target"]);
assert.deepEqual(pairs(graph(0, "a", "1"), graph(0, "b", "2"), graph(1, "c", "2"), graph(1, "d", "3")),
  ["b c by equal structure"]);
assert.deepEqual(pairs(graph(0, "a", "", "conv"), graph(0, "b", "", "relu"), graph(1, "c", "", "relu"), graph(1, "d")),
  ["b c by what they were made for"]);
assert.deepEqual(pairs(graph(0, "a", "1"), graph(0, "a", "1"), graph(1, "a", "1"), graph(1, "a", "1")).length, 2);
assert.deepEqual(pairs(graph(0, "a", "1", "", "CPU"), graph(0, "b"), graph(1, "a", "1", "", "CUDA"), graph(1, "c")),
  ["a a by name"]);
assert.deepEqual(pairs(graph(0, "a"), graph(0, "b"), graph(1, "c"), graph(1, "d")), [], "never by position");
console.log("graphs are paired by name, origin or structure");
