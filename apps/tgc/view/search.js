// The search field. Words, op:NAME, dtype:NAME, arg:TEXT, rule:NAME, stage:NAME, device:NAME, #number and /regular
// expression/ must all match. The values may be regular expressions, too: rule:/^mul/.
import {expressionOf, isArithmetic, nameOf} from "./expressions.js";
import {isValue} from "./values.js";
/** @typedef {import("./data.js").RecordedGraph} RecordedGraph */

/** `rule` tests a rewrite by the names of its rule and its stage.
 * @typedef {{empty: boolean, error: string, node: (g: RecordedGraph, n: number) => boolean,
 *   rule: (name: string, stage: string) => boolean, line: (text: string) => boolean}} Query */

const kOfNodes = ["op", "dtype", "arg", "device", "number"], kOfRewrites = ["rule", "stage"];

// Returns the index arithmetic that an INDEX box prints: "[r0*33+r1]".
function indexText(g, n) {
  const list = Array.from(g.sourcesOf(n)).slice(1).filter((s) => isArithmetic(g, s) || isValue(g, s));
  return list.length ? "[" + list.map((s) => expressionOf(g, s)).join(", ") + "]" : "";
}

/** @param {string} text @returns {Query} */
export function queryOf(text) {
  const parts = text.match(/(?:\w+:)?\/(?:\\.|[^/\\])+\/|\S+/g) || [];
  let error = "";
  const asked = parts.map((part) => {
    const pair = /^(op|dtype|arg|device|rule|stage):(.*)$/i.exec(part), word = pair ? pair[2] : part;
    const kind = pair ? pair[1].toLowerCase() : /^#\d+$/.test(part) ? "number" : "any";
    if (/^\/.+\/$/.test(word)) {
      try {
        const regex = new RegExp(word.slice(1, -1), "i");
        return {kind, says: (t) => regex.test(t)};
      } catch (e) {
        error = "invalid regular expression: " + word;
        return {kind, says: () => false};
      }
    }
    const wanted = word.toLowerCase();
    if (kind === "op" && wanted.endsWith("*"))
      return {kind, says: (t) => t.toLowerCase().startsWith(wanted.slice(0, -1))};
    if (kind === "op") return {kind, says: (t) => t.toLowerCase() === wanted};
    return {kind, says: (t) => t.toLowerCase().includes(wanted)};
  });
  const asks = (kinds) => asked.some((a) => kinds.includes(a.kind));
  const ofNode = {
    op: (g, n, says) => says(g.opName(n)),
    dtype: (g, n, says) => says(g.dtypeName(n)),
    arg: (g, n, says) => says(g.argText(n)),
    number: (g, n, says) => says("#" + g.number[n] + " "),
    device: (g, n, says) => {
      if (g.target) return says(g.target);
      return [n, ...g.sourcesOf(n)].some((s) => g.opName(s) === "DEVICE" && says(g.argText(s)));
    },
    any: (g, n, says) => says(g.opName(n)) || says(g.dtypeName(n)) || says(g.argText(n)) || says(nameOf(g, n))
      || g.opName(n) === "INDEX" && says(indexText(g, n)),
  };
  for (const a of asked) if (a.kind === "number") {
    const exact = parts[asked.indexOf(a)] + " ";
    a.says = (t) => t === exact;
  }
  return {empty: !parts.length, error,
    node: (g, n) => parts.length > 0 && !asks(kOfRewrites) && asked.every((a) => ofNode[a.kind](g, n, a.says)),
    rule: (name, stage) => parts.length > 0 && !asks(kOfNodes)
      && asked.every((a) => a.says(a.kind === "stage" ? stage : name)),
    line: (t) => parts.length > 0 && !asks(kOfNodes) && !asks(kOfRewrites) && asked.every((a) => a.says(t))};
}
