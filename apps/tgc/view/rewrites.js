// Describes in a line what a rewrite did, "r0*3*4 -> r0*(3*4)", and what a stage did to the loops, "+THREAD 4". Makes
// the texts of opts and of kernels' names.
import {expressionOf, nameOf} from "./expressions.js";
import {isValue} from "./values.js";
/** @typedef {import("./data.js").RecordedGraph} RecordedGraph */

const kArrow = " \u2192 ";
const kMostNodes = 10, kMostOfSide = 72;

/** Decides which nodes an expression shows with their sources; others are numbers or names. Without `nodes`: all. */
class ExpandedNodes {
  /** @param {RecordedGraph} g @param {Set<number> | null} nodes */
  constructor(g, nodes) { this.g = g, this.nodes = nodes, this.isExact = true; }
  sourcesOf(key) { return this.g.sourceList(key % this.g.count); }
  has(n) { return isValue(this.g, n) || !this.nodes || this.nodes.has(n); }
}

/** Returns a root and nodes below it, the nearest first, until there are at least `most`.
 * @param {RecordedGraph} g @param {number} most */
function nearestNodes(g, root, most) {
  const out = [root], seen = new Set(out);
  for (let i = 0; i < out.length && out.length < most; i++)
    for (const s of g.sourcesOf(out[i])) if (!seen.has(s)) seen.add(s), out.push(s);
  return out;
}

/** @returns {string} */
const exactText = (g, n, nodes) => expressionOf(g, n, 0, /** @type {any} */ (new ExpandedNodes(g, nodes)));

// Whether the expression of a node has at most `most` nodes; a node counts each time that it is used.
function isSmallExpression(g, root, most) {
  const stack = [root];
  for (let count = 0; stack.length; count++) {
    if (count === most) return false;
    for (const s of g.sourcesOf(stack.pop())) stack.push(s);
  }
  return true;
}

/** Returns the two sides of a rewrite as expressions: whole ones if both are small, else those of sidesOf().
 * @param {RecordedGraph} g @param {{before: number, after: number}} rewrite @returns {string[]} */
export function wholeSidesOf(g, rewrite) {
  const both = [rewrite.before, rewrite.after];
  return both.every((n) => isSmallExpression(g, n, 60)) ? both.map((n) => exactText(g, n, null)) : sidesOf(g, rewrite);
}

/** Returns the two sides of a rewrite as expressions. Nodes that both sides have are numbers, unless there is room.
 * @param {RecordedGraph} g @param {{before: number, after: number}} rewrite @returns {[string, string]} */
export function sidesOf(g, {before, after}) {
  const [a, b] = [before, after].map((root) => nearestNodes(g, root, 4 * kMostNodes)), inA = new Set(a),
    inB = new Set(b);
  const sides = [[before, a, inB], [after, b, inA]].map(([root, nodes, other]) => {
    const own = nodes.filter((n) => n === root || !other.has(n)).slice(0, kMostNodes);
    const text = (list) => exactText(g, root, new Set(list));
    const whole = () => (nodes.length <= kMostNodes ? text(nodes) : "");
    // if a side's root is a part of the other side, its number stands for it in both texts
    const isNumber = other.has(root) && g.sourcesOf(root).length > 0 && !isValue(g, root) && !nameOf(g, root);
    const numbered = (list) => () => (isNumber ? "#" + g.number[root] : text(list));
    return {whole, part: numbered(own), root: numbered([root])};
  });
  for (const how of ["whole", "part", "root"]) {
    const [x, y] = sides.map((side) => side[how]());
    if (x && y && x.length <= kMostOfSide && y.length <= kMostOfSide) return [x, y];
  }
  const [x, y] = sides.map((side) => shortened(side.root(), kMostOfSide));
  return [x, y];
}

export const shortened = (text, most) => (text.length > most ? text.slice(0, most - 1) + "\u2026" : text);
/** Returns the number of characters with which both texts begin. @param {string} a @param {string} b */
export function commonPrefixLength(a, b) {
  let same = 0;
  while (same < a.length && a[same] === b[same]) same++;
  return same;
}
/** Returns two different texts, shortened to parts that show their first difference. @param {string} a
 * @param {string} b @param {number} most @returns {string[]} */
export function shortenPair(a, b, most) {
  const same = commonPrefixLength(a, b);
  const from = same < most / 2 ? 0 : same - Math.floor(most / 3);
  return [a, b].map((text) => (from ? "\u2026" : "") + shortened(text.slice(from), most));
}

/** Returns what a rewrite did: its two sides, or, if they have the same text, how the nodes differ.
 * @param {RecordedGraph} g @param {{before: number, after: number}} rewrite */
export function changeText(g, rewrite) {
  const [x, y] = sidesOf(g, rewrite), {before, after} = rewrite;
  if (x !== y) return x + kArrow + y;
  const argOf = (n) => g.argText(n).replace(/AxisType\.|Ops\.|dtypes\./g, "");
  const facts = [["", (n) => g.opName(n)], ["", (n) => g.dtypeName(n)], ["", argOf],
    ["tag ", (n) => g.strings[g.tag[n]] || "none"]];
  const differs = facts.map(([name, of]) => [name, of(before), of(after)]).filter(([, p, q]) => p !== q)
    .map(([name, p, q]) => name + shortened(p, kMostOfSide) + kArrow + shortened(q, kMostOfSide));
  return differs.length ? x + ": " + differs.join(", ") : x + ", with other sources";
}

/** @typedef {{kind: string, size: string}} Loop */

/** Returns the kind and the size of each RANGE and SPECIAL that has a size: "THREAD", "4".
 * @param {RecordedGraph} g @returns {Loop[]} */
function loopsOf(g, root) {
  const out = [];
  for (const n of g.nodesOf(root)) {
    const op = g.opName(n), [size] = g.sourcesOf(n), arg = g.argText(n);
    if (op !== "RANGE" && op !== "SPECIAL" || size === undefined) continue;
    const kind = op === "RANGE" ? (/AxisType\.(\w+)/.exec(arg) || ["", "RANGE"])[1] : arg.replace(/'/g, "");
    out.push({kind, size: sidesOf(g, {before: size, after: size})[0]});
  }
  return out;
}

/** Returns how the loops of two graphs differ: ["+THREAD 4", "+2 UPCAST 4", "−LOOP 64"].
 * @param {RecordedGraph} g @param {number} from @param {number} to roots @returns {string[]} */
export function loopChanges(g, from, to) {
  if (from < 0 || to < 0 || from === to) return [];
  const counts = new Map(), count = (root, by) => {
    for (const {kind, size} of loopsOf(g, root)) {
      const what = kind + " " + size;
      counts.set(what, (counts.get(what) || 0) + by);
    }
  };
  count(from, -1), count(to, 1);
  const said = (n, what) => (n > 0 ? "+" : "\u2212") + (Math.abs(n) > 1 ? Math.abs(n) + " " : "") + what;
  return [...counts].filter(([, n]) => n).sort((x, y) => y[1] - x[1]).map(([what, n]) => said(n, what));
}

/** Returns the opts of a kernel's arg as text: ["UPCAST 0 by 4"]. @param {string} arg "KernelInfo(...)" */
export function optsOf(arg) {
  return shownOpts((/applied_opts=\((.*?)\)(?:, opts_to_apply|\)$)/.exec(arg) || ["", ""])[1]);
}

/** Returns opts as text: ["UPCAST 0 by 4"]. @param {string} applied a tuple of Opts as Python prints it */
export function shownOpts(applied) {
  return [...applied.matchAll(/Opt\(op=OptOps\.(\w+), axis=(\w+), arg=(\((?:[^()]|\([^()]*\))*\)|[^()]*)\)/g)]
    .map(([, op, axis, by]) => op + (axis === "None" ? "" : " " + axis) + (by === "None" ? "" : " by " + by));
}

/** Returns a kernel's name without codes of colours. @param {string} arg "KernelInfo(...)" */
export function kernelName(arg) {
  return withoutColors((/\bname='([^']*)'/.exec(arg) || ["", ""])[1]);
}

/** Returns a text without escape sequences of colours, also if printed as "\x1b[..m". @param {string} text */
export function withoutColors(text) { return text.replace(/\\x1b\[\d*m|\x1b\[\d*m/g, ""); }
