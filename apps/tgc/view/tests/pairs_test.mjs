// Tests how the graphs of two inputs are paired. Exits with 1 on a failure.
import assert from "node:assert/strict";
import {pairsOf} from "../pairs.js";

const graph = (side, name, structure = "", madeFor = "", target = "CPU") =>
  ({side, name, structure, made_for: madeFor, target});
const pairs = (...graphs) => [...pairsOf(graphs)].filter(([g]) => graphs[g].side === 0)
  .map(([g, pair]) => graphs[g].name + " " + graphs[pair.with].name + ": " + pair.by);

assert.deepEqual(pairs(graph(0, "a"), graph(1, "x")), ["a x: the only graphs"]);
assert.deepEqual(pairs(graph(0, "a"), graph(0, "b"), graph(1, "b"), graph(1, "c")), ["b b: paired by name and target"]);
assert.deepEqual(pairs(graph(0, "a", "1"), graph(0, "b", "2"), graph(1, "c", "2"), graph(1, "d", "3")),
  ["b c: paired by equal structure"]);
assert.deepEqual(pairs(graph(0, "a", "", "conv"), graph(0, "b", "", "relu"), graph(1, "c", "", "relu"), graph(1, "d")),
  ["b c: paired by what they were made for"]);
assert.deepEqual(pairs(graph(0, "a", "1"), graph(0, "a", "1"), graph(1, "a", "1"), graph(1, "a", "1")).length, 2);
assert.deepEqual(pairs(graph(0, "a", "1", "", "CPU"), graph(0, "b"), graph(1, "a", "1", "", "CUDA"), graph(1, "c")),
  ["a a: paired by name"]);
assert.deepEqual(pairs(graph(0, "p.0", "", "add"), graph(0, "p.1", "", "mul"), graph(1, "p.0", "", "copy"),
  graph(1, "p.1", "", "add")), ["p.0 p.1: paired by what they were made for"]);
assert.deepEqual(pairs(graph(0, "a"), graph(0, "b"), graph(1, "c"), graph(1, "d")), [], "never by position");
console.log("graphs are paired by name, origin or structure");
