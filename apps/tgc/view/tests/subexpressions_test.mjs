// Tests that parts of lines are found for the nodes that they show. Exits with 1 below the share that is expected.
//   subexpressions_test.mjs PAGE...
import assert from "node:assert/strict";
import {NodeHistories} from "../story.js";
import {spansOf} from "../subexpressions.js";
import {textsAt} from "../texts.js";
import {isValue} from "../values.js";
import {graphsOf} from "./pages.mjs";

let all = 0, found = 0;
for (const file of process.argv.slice(2))
  for (const graph of (await graphsOf(file))) {
    const story = new NodeHistories(graph), cache = new Map();
    for (const text of textsAt(graph, story, 0, cache)) {
      if (text.kind !== "pyrender" || text.error) continue;
      const spans = text.lines.map((_, i) => spansOf(graph, text, i)), parts = new Map(spans.flatMap((s) => [...s]));
      for (const n of graph.nodesOf(story.root(0))) {
        if (text.linesOf.has(n) || isValue(graph, n)) continue;
        all++, found += parts.has(n) ? 1 : 0;
      }
      spans.forEach((part, i) => {
        for (const [n, [from, to]] of part) {
          const shown = text.lines[i].slice(from, to), open = shown.split("(").length, close = shown.split(")").length;
          assert.equal(open, close, `${shown} for #${graph.number[n]}`);
          if (graph.opName(n) === "CONST") assert.ok(shown.includes(graph.argText(n)), `${shown}, ${graph.argText(n)}`);
        }
      });
    }
  }
console.log(`${all} nodes without a line of their own, ${(100 * found / all).toFixed(2)} % have a part of a line`);
process.exit(all && found / all >= 0.97 ? 0 : 1);
