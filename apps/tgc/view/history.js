// The history of the nodes in one stage: which event made a node, and what the stage made of a node. `tgc trace
// --explain` finds the same steps (lib/trace/provenance.cpp).
import {EventKind} from "./events.js";
/** @typedef {import("./data.js").RecordedGraph} RecordedGraph */

/** How a node was made from the node `before`. `at`: the event. "rule": a rule replaced `before` by the node; "part": a
 * rule replaced `before` by a graph that has the node below its root; "sources": the node is `before` with new sources;
 * "stage": code of the stage outside its rules made the node (`at` and `before` are -1).
 * @typedef {{kind: "rule" | "part" | "sources" | "stage", at: number, before: number}} Maker */
/** @typedef {{at: number, depth: number, isRule: boolean, before: number, after: number}} Change */

export class StageHistory {
  /** @param {RecordedGraph} graph @param {import("./data.js").Stage} stage */
  constructor(graph, stage) {
    this.graph = graph, this.stage = stage;
    this.input = new Set(graph.nodesOf(stage.from)), this.result = new Set(graph.nodesOf(stage.to));
    /** @type {Change[]} */ this.changes = [];
    /** For a node, the first event that resulted in it. @type {Map<number, Change>} */ this.resultOf = new Map();
    /** For a node, the innermost rewrite that created it. @type {Map<number, Change>} */ this.madeBy = new Map();
    /** For a node that the stage's input lacks, the first rewrite whose result used it.
     * @type {Map<number, Change>} */ this.insertedBy = new Map();
    /** For a node, the events that replace it. @type {Map<number, Change[]>} */ this.changesOf = new Map();
    /** @type {Map<number, number>} */ this.origins = new Map();
    /** @type {Map<number, number>} */ this.successors = new Map();
    this.#readEvents();
    this.#findInserted();
  }

  #readEvents() {
    const e = this.stage.events, length = [6, 2, 6, 3, 2];  // numbers in an event, by its kind
    for (let at = 0, depth = -1; at < e.length; at += length[e[at]]) {
      if (e[at] === EventKind.Begin) depth++;
      else if (e[at] === EventKind.End) depth--;
      if (e[at] !== EventKind.Rewrite && e[at] !== EventKind.Rebuilt) continue;
      const isRule = e[at] === EventKind.Rewrite, [before, after] = isRule ? [e[at + 2], e[at + 3]]
        : [e[at + 1], e[at + 2]];
      const change = {at, depth, isRule, before, after};
      if (before !== after) {
        this.changes.push(change);
        this.changesOf.has(before) ? this.changesOf.get(before).push(change) : this.changesOf.set(before, [change]);
        if (!this.resultOf.has(after)) this.resultOf.set(after, change);
      }
      if (!isRule || before >= e[at + 4]) continue;
      for (let n = e[at + 4]; n < e[at + 4] + e[at + 5]; n++) if (!this.madeBy.has(n)) this.madeBy.set(n, change);
    }
  }
  // Finds the rewrites that first used nodes that the stage's input does not have.
  #findInserted() {
    const g = this.graph, seen = new Uint8Array(g.count);
    for (const n of this.input) seen[n] = 1;
    const add = (root, change) => {
      const stack = [root];
      while (stack.length) {
        const n = stack.pop();
        if (seen[n]) continue;
        seen[n] = 1;
        if (change) this.insertedBy.set(n, change);
        for (let i = g.first[n]; i < g.first[n + 1]; i++) stack.push(g.source[i]);
      }
    };
    for (const change of this.changes) if (change.isRule) add(change.before, null), add(change.after, change);
  }

  /** Returns what made a node: the first event before that at `end` that resulted in it, else the innermost
   * rewrite that created it, else a rewrite that inserted it, else the rewrite that is still running then and
   * created it. @returns {Maker} */
  maker(node, end) {
    const result = this.resultOf.get(node), made = this.madeBy.get(node), inserted = this.insertedBy.get(node);
    if (result && result.at < end)
      return {kind: result.isRule ? "rule" : "sources", at: result.at, before: result.before};
    const part = made && made.at < end ? made : inserted && inserted.at < end ? inserted : made;
    return part ? {kind: "part", at: part.at, before: part.before} : {kind: "stage", at: -1, before: -1};
  }

  /** Returns the steps that made a node of the stage's result, the last step first. @param {number} node */
  steps(node) {
    const out = [], isRoot = node === this.stage.to;
    for (let end = Infinity; node >= 0 && !this.input.has(node);) {
      const made = this.maker(node, end);
      if (made.kind === "stage") made.before = isRoot ? this.stage.from : -1;  // such as the optimizer's root
      out.push(made);
      node = made.before, end = Math.min(end, made.at);
      if (made.kind === "stage") break;
    }
    return out;
  }

  /** Returns the node of the stage's input from which a node of its result comes; -1: the stage's own code made it. */
  origin(node) {
    if (this.input.has(node)) return node;
    if (!this.origins.has(node)) this.origins.set(node, this.steps(node).pop().before);
    return this.origins.get(node);
  }

  /** Returns the node of the stage's result that replaces a node of its input; -1: none. First follows the stage's own
   * rewrites; if these do not lead into the result, rewrites inside rules. */
  next(node) {
    if (!this.successors.has(node)) this.successors.set(node, this.#findSuccessor(node));
    return this.successors.get(node);
  }
  #findSuccessor(node) {
    let now = node;
    for (let at = -1, change = null; (change = this.#nextOwnChange(now, at)); at = change.at) now = change.after;
    if (this.result.has(now)) return now;
    if (this.result.has(node)) return node;
    const inner = this.#findReachedResult(node);
    return inner < 0 && node === this.stage.from ? this.stage.to : inner;
  }
  /** Returns the first rewrite that replaced a node, or the node with new sources; null: none did. @param {number} node
   * @returns {Change | null} */
  firstReplacement(node) {
    for (let at = -1, now = node, change = null; ; at = change.at, now = change.after) {
      change = this.#nextOwnChange(now, at) || (this.changesOf.get(now) || []).find((c) => c.at > at);
      if (!change || change.isRule) return change || null;
    }
  }
  #nextOwnChange(node, behind) {
    return (this.changesOf.get(node) || []).find((change) => change.at > behind && change.depth <= 0);
  }
  // Returns the first node of the result that is reached from `node` by events, each after the one before.
  #findReachedResult(node) {
    const reached = new Set([node]);
    for (const {before, after} of this.changesOf.has(node) ? this.changes : []) {
      if (!reached.has(before) || reached.has(after)) continue;
      if (this.result.has(after)) return after;
      reached.add(after);
    }
    return -1;
  }
}
