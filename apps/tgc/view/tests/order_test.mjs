// Measures the stability of the layout in pages: among neighbouring nodes of a row that survive a stage, the share of
// pairs that keep their order. Prints the share; exits with 1 below 95 %.
//   order_test.mjs LAYOUT.wasm PAGE...
import {readFileSync} from "node:fs";
import {Drawings} from "../drawings.js";
import {loadLayout} from "../layout.js";
import {NodeHistories} from "../story.js";
import {graphsOf} from "./pages.mjs";

const [wasm, ...files] = process.argv.slice(2);
await loadLayout(readFileSync(wasm));
let pairs = 0, kept = 0;
for (const file of files)
  for (const graph of await graphsOf(file)) {
    const story = new NodeHistories(graph), drawings = new Drawings(graph, story);
    for (let p = 1; p <= story.last; p++) {
      if (!graph.stages[p - 1].changed) continue;
      const before = drawings.at(p - 1), after = drawings.at(p), origins = story.originsAt(p), was = new Map();
      const rows = new Map();
      for (const box of after.boxes) {
        const old = before.byKey.get(origins.get(box.n));
        if (old && !was.has(old)) was.set(old, box);
      }
      for (const pair of was) rows.has(pair[0].row) ? rows.get(pair[0].row).push(pair) : rows.set(pair[0].row, [pair]);
      for (const row of rows.values()) {
        row.sort((a, b) => a[0].x - b[0].x);
        for (let i = 1; i < row.length; i++) pairs++, kept += row[i - 1][1].x <= row[i][1].x ? 1 : 0;
      }
    }
  }
console.log(`${pairs} pairs of neighbours survive a stage, ${(100 * kept / pairs).toFixed(2)} % in the same order`);
process.exit(pairs && kept / pairs >= 0.95 ? 0 : 1);
