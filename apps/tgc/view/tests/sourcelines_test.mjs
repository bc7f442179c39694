// Tests which lines of a source belong to which nodes. For graphs that tgc compiled, compares them with the lines that
// tgc recorded; for other recordings, counts the lines with nodes. Exits with 1 below the shares that are expected.
//   sourcelines_test.mjs PAGE...
import {prefixSums} from "../data.js";
import {withoutColors} from "../rewrites.js";
import {linesOfRows, parseRows} from "../sourcelines.js";
import {NodeHistories} from "../story.js";
import {rowsOfList, textsAt} from "../texts.js";
import {graphsOf} from "./pages.mjs";

const kPreamble = /^(typedef|#|extern|template|struct|static inline|using|\/\/)|__device__|^inline/;
const isCode = (line) => line.trim() && !kPreamble.test(line);
let same = 0, all = 0, linked = 0, recorded = 0;
for (const file of process.argv.slice(2))
  for (const graph of await graphsOf(file)) {
    const [linear, source] = ["linear", "source"].map((kind) => graph.texts.find((t) => t.kind === kind));
    const isLikeC = source && !source.error && /\(.*data\d/.test(source.text) && !/^(define|target)/m.test(source.text);
    if (!linear || !isLikeC) continue;
    if (graph.producer) {
      const story = new NodeHistories(graph), texts = textsAt(graph, story, story.last, new Map());
      const text = texts.find((t) => t.kind === "source");
      text.lines.forEach((line, i) => { if (isCode(line)) recorded++, linked += text.nodesOf.has(i) ? 1 : 0; });
      continue;
    }
    const rows = parseRows((linear.rows ? rowsOfList(graph, linear) : linear.text.split("\n")).map(withoutColors));
    const pairs = (list) => list.reduce((out, x, i) => (i % 2 ? out : [...out, [x, list[i + 1]]]), []);
    const rowOf = new Map(pairs(prefixSums([...linear.nodes], 2))), exact = pairs(prefixSums([...source.nodes], 2));
    const found = new Set(linesOfRows(rows, source.text.split("\n")).map(String));
    for (const [node, line] of exact) all++, same += found.has(rowOf.get(node) + "," + line) ? 1 : 0;
  }
const share = (some, of) => (of ? some / of : 1);
console.log(`${same} of ${all} lines are as recorded, ${linked} of ${recorded} lines of recordings have nodes`);
process.exit(all + recorded && share(same, all) >= 0.97 && share(linked, recorded) >= 0.95 ? 0 : 1);
