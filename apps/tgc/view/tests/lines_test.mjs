// Tests the groups of nodes by the program's lines, and shortened texts. Exits with 1 on a failure.
import assert from "node:assert/strict";
import {groupByLine} from "../lines.js";
import {shortenPair} from "../rewrites.js";

/** Returns the label of each node of a graph. @param {number[][]} sources of each node @param {any[]} methods
 * @param {number} [most] number of groups */
function labelsOf(sources, methods, most = 200) {
  const g = {ast: sources.length - 1, methods, sourcesOf: (n) => sources[n], nodesOf: () => [...sources.keys()],
    opName: (n) => (sources[n].length ? "ADD" : "BUFFER")};
  groupByLine(/** @type {any} */ (g), most);
  const groupOf = (n) => g.madeForNode.get(n);
  return sources.map((_, n) => (groupOf(n) === undefined ? "" : groupOf(n) + " " + g.madeOf[groupOf(n)]));
}

// 0 a weight; 1, 2 the first run of line 5; 3 line 9; 4, 5 the second run of line 5; 6 its gradient; 7 the SINK
const chain = [[], [0], [1], [2], [3], [4], [5, 2], [6]];
const line = (number, name, nodes, backward = false) => ({name, caller: `net.py:${number}::__call__`, backward, nodes});
assert.deepEqual(labelsOf(chain, [line(5, "relu", [1, 4]), line(5, "add", [2, 5]), line(9, "exp", [3]),
  line(5, "relu", [6], true)]), ["0 net.py:5 relu, add, in __call__", "0 net.py:5 relu, add, in __call__",
  "0 net.py:5 relu, add, in __call__", "1 net.py:9 exp, in __call__", "2 net.py:5 relu, add, in __call__",
  "2 net.py:5 relu, add, in __call__", "3 net.py:5 gradient of relu, in __call__", ""]);
// the updates of several weights, which nothing uses, are one group
const updates = [[], [0], [0], [1, 2]];
const step = "0 net.py:3 step, in __call__";
assert.deepEqual(labelsOf(updates, [line(3, "step", [1, 2])]).slice(1), [step, step, ""]);
// buffers that only the SINK uses are one group
assert.deepEqual(labelsOf([[], [], [0], [], [2, 1, 3]], [line(3, "exp", [2])]),
  ["0 net.py:3 exp, in __call__", "1 BUFFER of no line of the program", "0 net.py:3 exp, in __call__",
    "1 BUFFER of no line of the program", ""]);
// if lines give too many groups, each run of a function is a group; a line of another function separates namesakes
const many = Array.from({length: 600}, (_, n) => (n ? [n - 1] : []));
const ofLine = (rest) => many.map((_, n) => n).filter((n) => n % 3 === rest && n < 599);
const byFunction = labelsOf(many, [line(5, "relu", ofLine(0)), line(6, "add", ofLine(1)),
  {name: "ones", caller: "net.py:8::__init__", nodes: []}, line(10, "exp", ofLine(2))]);
const [one, two, next, again] = byFunction.slice(300, 304);
assert.ok(one === two && one.endsWith("net.py:5\u20136 relu, add, in __call__"), one);
assert.ok(next.endsWith("net.py:10 exp, in __call__"), next);
assert.ok(again !== one && again.endsWith("net.py:5\u20136 relu, add, in __call__"), again);
// a line that runs again in a loop: each run of the function is a group
const runs = labelsOf(many, [line(5, "conv2d", many.map((_, n) => n).filter((n) => n < 599 && n % 2)),
  line(6, "relu", many.map((_, n) => n).filter((n) => n < 599 && !(n % 2)))], 0);
assert.ok(runs[101] === runs[102] && runs[102] !== runs[103] && runs[103] === runs[104], runs.slice(101, 105).join());
// no groups of random graphs are in a cycle
let seed = 1;
const random = (below) => (seed = seed * 48271 % 2147483647) % below;
for (let i = 0; i < 400; i++) {
  const sources = Array.from({length: 30}, (_, n) => Array.from({length: Math.min(n, random(3))}, () => random(n)));
  const methods = [3, 4, 9, 12].flatMap((number) => [false, true].map((backward) => line(number, "f", [], backward)));
  for (let n = 0; n < 29; n++) if (random(8)) methods[random(8)].nodes.push(n);
  const groups = labelsOf([...sources, sources.map((_, n) => n)], methods, i % 2 ? 0 : 200);
  const after = new Map();  // by group or node, what uses it
  sources.forEach((list, n) => list.forEach((s) => {
    const [from, to] = [groups[s] || s, groups[n] || n];
    if (from !== to) after.has(from) ? after.get(from).add(to) : after.set(from, new Set([to]));
  }));
  const done = new Set(), open = new Set(), visit = (of) => {
    assert.ok(!open.has(of), `graph ${i}: ${of} is in a cycle`);
    if (done.has(of)) return;
    open.add(of), [...after.get(of) || []].forEach(visit), open.delete(of), done.add(of);
  };
  [...after.keys()].forEach(visit);
}

// rules of two inputs are shortened to parts that show their first difference
assert.deepEqual(shortenPair("x + 1", "x + 2", 60), ["x + 1", "x + 2"]);
const textOf = (part) => "x".repeat(90) + part + "y".repeat(90);
const [ours, theirs] = shortenPair(textOf("AB"), textOf("BA"), 60);
assert.equal(ours, "\u2026" + "x".repeat(20) + "AB" + "y".repeat(37) + "\u2026");
assert.equal(theirs, ours.replace("AB", "BA"));
