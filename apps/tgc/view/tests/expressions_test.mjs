// Prints index arithmetic of pages as JSON lines: its text, and its tree as nested arrays of ops, names and numbers.
// scripts/view_test evaluates both.
//   expressions_test.mjs PAGE...
import {InlineNodes, expressionOf, nameOf} from "../expressions.js";
import {isValue} from "../values.js";
import {graphsOf} from "./pages.mjs";

const kShown = /^(ADD|MUL|IDIV|MOD|CMPLT|CMPNE|AND|OR|XOR|SHL|SHR|SUB|MAX)$/;
for (const file of process.argv.slice(2))
  for (const g of await graphsOf(file)) {
    const inline = new InlineNodes(g, true), trees = new Map();
    for (let n = 0; n < g.count; n++) {
      const sources = Array.from(g.sourcesOf(n), (s) => trees.get(s));
      if (nameOf(g, n)) trees.set(n, nameOf(g, n));
      else if (isValue(g, n) && /^(-?\d+|True|False)$/.test(g.argText(n))) trees.set(n, [g.argText(n)]);
      else if (kShown.test(g.opName(n)) && !sources.includes(undefined)) trees.set(n, [g.opName(n), ...sources]);
      if (trees.has(n) && inline.has(n) && kShown.test(g.opName(n)))
        console.log(JSON.stringify([expressionOf(g, n), trees.get(n)]));
    }
  }
