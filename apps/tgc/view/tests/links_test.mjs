// Compares the links between the graphs of pages with `tgc trace --explain=all`: for each node of each graph, the nodes
// from which it comes and those that it became, in all graphs. Prints the share of nodes that agree; exits with 1 on a
// difference.
//   links_test.mjs PAGE EXPLAINED ...     EXPLAINED: the output of `tgc trace --explain=all` for the input of PAGE
import {readFileSync} from "node:fs";
import {NodeHistories} from "../story.js";
import {graphsOf} from "./pages.mjs";

/** The links of one graph as `tgc trace` explains them, by numbers of nodes. */
class Explained {
  constructor({stages}, names) {
    this.stages = names.map((name) => stages.find((s) => s.name === name)).map(({origins, became}) => {
      const heirs = new Map();
      for (const [n, from] of origins) heirs.set(from, [...(heirs.get(from) || []), n]);
      return {origins: new Map(origins), became: new Map(became), heirs};
    });
  }
  /** For each place, the numbers of the nodes that are linked to node `n` at `place`. */
  links(place, n) {
    const out = [], now = out[place] = new Set([n]);
    for (let p = place, from = n; p > 0; p--) {
      const {origins} = this.stages[p - 1];
      if (origins.has(from)) from = origins.get(from);
      out[p - 1] = new Set(from < 0 ? [] : [from]);
    }
    for (let p = place, was = now; p < this.stages.length; p++) {
      const {became, heirs} = this.stages[p], is = new Set();
      for (const k of was) {
        const to = became.has(k) ? became.get(k) : k;
        if (to >= 0) is.add(to);
        for (const heir of heirs.get(k) || []) is.add(heir);
      }
      out[p + 1] = was = is;
    }
    return out;
  }
}

const files = process.argv.slice(2), count = {all: 0, same: 0, toFirst: 0, toLast: 0};
const isSame = (a, b) => a.size === b.size && [...a].every((x) => b.has(x));
const keyOf = (name, target) => name + " for " + target;
for (let i = 0; i + 1 < files.length; i += 2) {
  const told = readFileSync(files[i + 1], "utf8").trim().split("\n").map((line) => JSON.parse(line));
  const explained = new Map(told.map((kernel) => [keyOf(kernel.kernel, kernel.target), kernel]));
  for (const graph of await graphsOf(files[i])) {
    if (graph.error) continue;
    const story = new NodeHistories(graph), names = graph.stages.slice(0, story.last).map((s) => s.name);
    const kernel = new Explained(explained.get(keyOf(graph.name, graph.target)), names);
    const numbers = (nodes) => new Set([...nodes].map((n) => graph.number[n]));
    for (let p = 0; p <= story.last; p++)
      for (const n of graph.nodesOf(story.root(p))) {
        const told = story.relatives(p, [n]).map(numbers);
        const right = kernel.links(p, graph.number[n]), differs = right.findIndex((set, q) => !isSame(set, told[q]));
        count.all++, count.same += differs < 0 ? 1 : 0;
        count.toFirst += isSame(right[0], told[0]) ? 1 : 0;
        count.toLast += isSame(right[story.last], told[story.last]) ? 1 : 0;
        if (differs >= 0 && count.all - count.same < 6)
          console.log(`${graph.name}: #${graph.number[n]} of place ${p}: at place ${differs} the page has ${
            [...told[differs]]}, tgc trace ${[...right[differs]]}`);
      }
  }
}
const share = (n) => (100 * n / count.all).toFixed(2) + " %";
console.log(`${count.all} nodes: ${share(count.same)} have the links of tgc trace in all graphs, ${
  share(count.toFirst)} in the first one, ${share(count.toLast)} in the last one`);
process.exit(count.all && count.same === count.all ? 0 : 1);
