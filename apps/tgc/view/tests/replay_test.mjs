// Replays every rewrite of pages with the page's code and compares with the pipeline: the graph after each graph
// rewrite, and the origins of the nodes of each stage. Prints the counts; exits with 1 on a difference.
import {Replacements, isGraph, origins} from "../replay.js";
import {graphsOf} from "./pages.mjs";

let same = 0, different = 0, nodes = 0, unknown = 0;
for (const file of process.argv.slice(2))
  for (const graph of await graphsOf(file))
    for (const stage of graph.stages) {
      for (const run of stage.runs) {
        if (run.result < 0) continue;
        const shown = new Replacements(graph, run, stage.events).shown(run.input);
        if (isGraph(graph, shown, run.result)) same++;
        else if (different++ < 5) console.log(`${file} ${graph.name} ${stage.name}: ${run.name}: differs`);
      }
      if (stage.to < 0 || stage.name === "linear") continue;
      for (const origin of origins(graph, stage.index).values()) nodes++, unknown += origin < 0 ? 1 : 0;
    }
const said = `${same + different} graph rewrites replayed, ${same} give the same graph`;
console.log(`${said}; ${nodes} nodes of stages, ${unknown} without an origin`);
process.exit(different || !same ? 1 : 0);
