// Follows nodes through the stages: what a node came from, what it became, and the rewrites in between. A place is a
// point between stages: place 0 is the AST, place n is after the n-th stage.
import {Kind} from "./events.js";
import {origins} from "./replay.js";
/** @typedef {import("./data.js").Recorded} Recorded */

/** The users of each node of a graph, in one array. */
class Users {
  /** @param {Recorded} graph @param {number} root */
  constructor(graph, root) {
    const nodes = graph.nodesOf(root), {first, source} = graph;
    this.first = new Int32Array(graph.count + 2);
    for (const n of nodes) for (let e = first[n]; e < first[n + 1]; e++) this.first[source[e] + 2]++;
    for (let n = 2; n < this.first.length; n++) this.first[n] += this.first[n - 1];
    this.user = new Int32Array(this.first[graph.count + 1]);
    for (const n of nodes) for (let e = first[n]; e < first[n + 1]; e++) this.user[this.first[source[e] + 1]++] = n;
  }
  /** Whether any node of the graph uses the node. @param {number} n */
  has(n) { return this.first[n] < this.first[n + 1]; }
  get(n) { return this.user.subarray(this.first[n], this.first[n + 1]); }
}

/** @typedef {{place: number, rewrite: number, kind: "rule" | "part" | "sources" | "stage", node: number}} Step */

export class Story {
  /** @param {Recorded} graph */
  constructor(graph) {
    this.graph = graph;
    /** @type {Map<number, Map<number, number>>} */ this.known = new Map();
    /** @type {Map<number, Users>} */ this.users = new Map();
    this.last = graph.stages.length;
    while (this.last > 0 && graph.stages[this.last - 1].to < 0) this.last--;
  }

  root(place) { return place ? this.graph.stages[place - 1].to : this.graph.ast; }

  /** For the nodes after stage `place`, returns the nodes that they were before it. @param {number} place from 1 */
  originsAt(place) {
    if (!this.known.has(place)) this.known.set(place, origins(this.graph, place - 1));
    return this.known.get(place);
  }

  /** Returns the node of the first graph from which `node` at `place` came; -1: none. @param {number} place */
  atFirst(place, node) {
    for (let p = place; p > 0 && node >= 0; p--)
      if (this.graph.stages[p - 1].changed && this.originsAt(p).has(node)) node = this.originsAt(p).get(node);
    return node;
  }

  /** Returns the users of each node of the graph at a point between stages. @param {number} place @returns {Users} */
  usersAt(place) {
    const root = this.root(place);
    if (!this.users.has(root)) this.users.set(root, new Users(this.graph, root));
    return this.users.get(root);
  }

  /** For each point between stages, returns the nodes that `nodes` of the graph at `place` were or have become.
   * @param {number} place @param {number[]} nodes
   *  @returns {Set<number>[]} */
  relatives(place, nodes) {
    const out = [];
    out[place] = new Set(nodes);
    for (let p = place; p > 0; p--) {
      const was = this.#changes(p) ? this.originsAt(p) : null;
      out[p - 1] = was ? new Set([...out[p]].map((n) => was.get(n)).filter((n) => n !== undefined && n >= 0)) : out[p];
    }
    for (let p = place + 1; p <= this.last; p++) {
      if (!this.#changes(p)) {
        out[p] = out[p - 1];
        continue;
      }
      out[p] = new Set();
      for (const [n, was] of this.originsAt(p)) if (out[p - 1].has(was)) out[p].add(n);
    }
    return out;
  }
  #changes(place) { return this.graph.stages[place - 1].changed; }

  /** Returns the rewrites that made a node of the graph at `place`, the newest first. @returns {Step[]} */
  history(place, node) {
    const out = [], g = this.graph;
    for (let p = place; p > 0 && node >= 0; p--) {
      if (!this.#changes(p)) continue;
      const stage = g.stages[p - 1], inputs = new Set(g.nodesOf(stage.from));
      for (let guard = 0; !inputs.has(node) && guard < 100; guard++) {
        const step = this.#maker(stage, p, node);
        out.push(step);
        if (step.node < 0 || step.node === node) {
          node = -1;
          break;
        }
        node = step.node;
      }
    }
    return out;
  }
  #maker(stage, place, node) {
    const e = stage.events;
    const found = stage.rewrites.findIndex((r) => r.after === node && r.before !== node);
    if (found >= 0) return {place, rewrite: found, kind: "rule", node: stage.rewrites[found].before};
    for (const run of stage.runs)
      for (const at of run.events)
        if (e[at] === Kind.Rebuilt && e[at + 2] === node && e[at + 1] !== node)
          return {place, rewrite: -1, kind: "sources", node: e[at + 1]};
    const part = stage.rewrites.findIndex((r) => node >= r.madeFrom && node < r.madeFrom + r.madeCount);
    if (part >= 0) return {place, rewrite: part, kind: "part", node: stage.rewrites[part].before};
    const origin = this.originsAt(place).get(node);
    return {place, rewrite: -1, kind: "stage", node: origin === undefined ? -1 : origin};
  }
}
