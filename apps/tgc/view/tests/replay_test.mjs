// Replays every rewrite of pages with the page's code and compares the graph after each graph rewrite with that of the
// pipeline. Prints the counts; exits with 1 on a difference.
import {Replacements, isSameGraph} from "../replay.js";
import {graphsOf} from "./pages.mjs";

let same = 0, different = 0;
for (const file of process.argv.slice(2))
  for (const graph of await graphsOf(file))
    for (const stage of graph.stages)
      for (const run of stage.runs) {
        if (run.result < 0) continue;
        const replacedGraph = new Replacements(graph, run, stage.events).replacedGraph(run.input);
        if (isSameGraph(graph, replacedGraph, run.result)) same++;
        else if (different++ < 5) console.log(`${file} ${graph.name} ${stage.name}: ${run.name}: differs`);
      }
console.log(`${same + different} graph rewrites replayed, ${same} give the same graph`);
process.exit(different || !same ? 1 : 0);
