// Prints the pyrender texts that the page makes itself (pyrender.js) as JSON lines: name and target of the
// graph, stage ("" for the first graph) and text. scripts/view_test compares them with those that tinygrad printed.
//   pyrender_test.mjs PAGE
import {pyrender} from "../pyrender.js";
import {graphsOf} from "./pages.mjs";

for (const g of await graphsOf(process.argv[2]))
  for (const {kind, stage, lines, error} of g.texts)
    if (kind === "pyrender" && !lines && !error) {
      const text = pyrender(g, g.rootAfter(stage)).lines.join("\n");
      console.log(JSON.stringify([g.name, g.target, stage ? g.stages[stage - 1].name : "", text]));
    }
