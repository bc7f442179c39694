// The search field. Words, op:NAME, dtype:NAME, arg:TEXT, rule:NAME, stage:NAME, device:NAME, #number and /regular
// expression/ must all match. The values may be regular expressions, too: rule:/^mul/.
import {expressionOf, isArithmetic, nameOf} from "./expressions.js";
import {isValue} from "./values.js";
/** @typedef {import("./data.js").RecordedGraph} RecordedGraph */

/** `rule` tests a rewrite by the names of its rule and its stage.
 * @typedef {{empty: boolean, error: string, node: (g: RecordedGraph, n: number) => boolean,
 *   rule: (name: string, stage: string) => boolean, line: (text: string) => boolean}} Query */

const kNodeKinds = ["op", "dtype", "arg", "device", "number"], kRewriteKinds = ["rule", "stage"];

// Returns the index arithmetic that an INDEX box prints: "[r0*33+r1]".
function indexText(g, n) {
  const list = Array.from(g.sourcesOf(n)).slice(1).filter((s) => isArithmetic(g, s) || isValue(g, s));
  return list.length ? "[" + list.map((s) => expressionOf(g, s)).join(", ") + "]" : "";
}

/** @param {string} text @returns {Query} */
export function parseQuery(text) {
  const parts = text.match(/(?:\w+:)?\/(?:\\.|[^/\\])+\/|\S+/g) || [];
  let error = "";
  const terms = parts.map((part) => {
    const pair = /^(op|dtype|arg|device|rule|stage):(.*)$/i.exec(part), word = pair ? pair[2] : part;
    const kind = pair ? pair[1].toLowerCase() : /^#\d+$/.test(part) ? "number" : "any";
    if (/^\/.+\/$/.test(word)) {
      try {
        const regex = new RegExp(word.slice(1, -1), "i");
        return {kind, matches: (t) => regex.test(t)};
      } catch (e) {
        error = "invalid regular expression: " + word;
        return {kind, matches: () => false};
      }
    }
    const wanted = word.toLowerCase();
    if (kind === "op" && wanted.endsWith("*"))
      return {kind, matches: (t) => t.toLowerCase().startsWith(wanted.slice(0, -1))};
    if (kind === "op") return {kind, matches: (t) => t.toLowerCase() === wanted};
    return {kind, matches: (t) => t.toLowerCase().includes(wanted)};
  });
  const hasTermOf = (kinds) => terms.some((a) => kinds.includes(a.kind));
  const nodeTests = {
    op: (g, n, matches) => matches(g.opName(n)),
    dtype: (g, n, matches) => matches(g.dtypeName(n)),
    arg: (g, n, matches) => matches(g.argText(n)),
    number: (g, n, matches) => matches("#" + g.number[n] + " "),
    device: (g, n, matches) => {
      if (g.target) return matches(g.target);
      return [n, ...g.sourcesOf(n)].some((s) => g.opName(s) === "DEVICE" && matches(g.argText(s)));
    },
    any: (g, n, matches) => matches(g.opName(n)) || matches(g.dtypeName(n)) || matches(g.argText(n))
      || matches(nameOf(g, n))
      || g.opName(n) === "INDEX" && matches(indexText(g, n)),
  };
  for (const a of terms) if (a.kind === "number") {
    const exact = parts[terms.indexOf(a)] + " ";
    a.matches = (t) => t === exact;
  }
  return {empty: !parts.length, error,
    node: (g, n) => parts.length > 0 && !hasTermOf(kRewriteKinds)
      && terms.every((a) => nodeTests[a.kind](g, n, a.matches)),
    rule: (name, stage) => parts.length > 0 && !hasTermOf(kNodeKinds)
      && terms.every((a) => a.matches(a.kind === "stage" ? stage : name)),
    line: (t) => parts.length > 0 && !hasTermOf(kNodeKinds) && !hasTermOf(kRewriteKinds)
      && terms.every((a) => a.matches(t))};
}
