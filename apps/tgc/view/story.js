// Follows nodes through the stages. A place is a point between stages: place 0 is the first graph, place n is after the
// n-th stage.
import {StageHistory} from "./history.js";
/** @typedef {import("./data.js").RecordedGraph} RecordedGraph */

const kMostSearchedUsers = 100;  // limit on the users to search for one whose rewrite removed a node

/** The users of each node of a graph, in one array. */
class NodeUsers {
  /** @param {RecordedGraph} graph @param {number} root */
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

/** How a stage made a node from the node `node` (see Maker). `rewrite`: the rewrite's number in the stage; -1: none.
 * @typedef {{place: number, rewrite: number, kind: "rule" | "part" | "sources" | "stage", node: number}} Step */

export class NodeHistories {
  /** @param {RecordedGraph} graph */
  constructor(graph) {
    this.graph = graph;
    /** @type {Map<number, StageHistory>} */ this.known = new Map();
    /** @type {Map<number, Map<number, number>>} */ this.origins = new Map();
    /** @type {Map<number, Map<number, number[]>>} */ this.successors = new Map();
    /** @type {Map<number, NodeUsers>} */ this.users = new Map();
    this.last = graph.stages.length;
    while (this.last > 0 && graph.stages[this.last - 1].to < 0) this.last--;
  }

  root(place) { return place ? this.graph.stages[place - 1].to : this.graph.ast; }

  /** @param {number} place from 1 @returns {StageHistory} */
  historyAt(place) {
    if (!this.known.has(place)) this.known.set(place, new StageHistory(this.graph, this.graph.stages[place - 1]));
    return this.known.get(place);
  }
  /** For the nodes after stage `place`, returns the nodes from which they come before it; -1: none.
   * @param {number} place from 1 @returns {Map<number, number>} */
  originsAt(place) {
    if (!this.origins.has(place)) {
      const history = this.historyAt(place);
      this.origins.set(place, new Map([...history.result].map((n) => [n, history.origin(n)])));
    }
    return this.origins.get(place);
  }

  /** For nodes before stage `place`, returns the nodes after it that come from them.
   * @param {number} place from 1 @returns {Map<number, number[]>} */
  successorsAt(place) {
    if (!this.successors.has(place)) {
      const successors = new Map();
      for (const [n, was] of this.originsAt(place)) successors.has(was) ? successors.get(was).push(n)
        : successors.set(was, [n]);
      this.successors.set(place, successors);
    }
    return this.successors.get(place);
  }

  /** Returns the node of the first graph from which `node` at `place` came; -1: none. @param {number} place */
  nodeInFirstGraph(place, node) {
    for (let p = place; p > 0 && node >= 0; p--)
      if (this.graph.stages[p - 1].changed && this.originsAt(p).has(node)) node = this.originsAt(p).get(node);
    return node;
  }

  /** Returns the users of each node of the graph at a point between stages. @param {number} place @returns {NodeUsers}
   * */
  usersAt(place) {
    const root = this.root(place);
    if (!this.users.has(root)) this.users.set(root, new NodeUsers(this.graph, root));
    return this.users.get(root);
  }

  /** For each point between stages, returns the nodes from which `nodes` of the graph at `place` come, those that come
   * from them, and those that replaced them. @param {number} place @param {number[]} nodes @returns {Set<number>[]} */
  relatives(place, nodes) {
    const out = [];
    out[place] = new Set(nodes);
    if (place && this.#isChanged(place))  // nodes that exist only within the stage
      for (const n of nodes) if (!this.historyAt(place).result.has(n)) out[place].add(this.historyAt(place).next(n));
    out[place].delete(-1);
    for (let p = place; p > 0; p--) {
      const was = this.#isChanged(p) ? this.historyAt(p) : null;
      out[p - 1] = was ? new Set([...out[p]].map((n) => was.origin(n)).filter((n) => n >= 0)) : out[p];
    }
    for (let p = place + 1; p <= this.last; p++) {
      out[p] = out[p - 1];
      if (!this.#isChanged(p)) continue;
      const history = this.historyAt(p);
      out[p] = new Set([...out[p - 1]].map((n) => history.next(n)).filter((n) => n >= 0));
      for (const was of out[p - 1]) for (const n of this.successorsAt(p).get(was) || []) out[p].add(n);
    }
    return out;
  }
  /** Returns the place of a node that a state shows. A rewrite shows nodes of the graph before its stage.
   * @param {import("./state.js").State} state @param {number} n */
  placeOf({s, r}, n) { return r >= 0 && this.historyAt(s).input.has(n) ? s - 1 : s; }

  /** Returns what the node `n` of the graph at `place` is in the graph that a state shows; -1: nothing. `drawing` is
   * that graph's. Of several nodes, chooses one of the same op.
   * @param {number} place @param {number} n @param {import("./state.js").State} state
   * @param {import("./layout.js").Drawing} drawing */
  counterpart(place, n, state, drawing) {
    if (state.r < 0) return this.bestMatch(this.relatives(place, [n])[Math.min(state.s, this.last)], n);
    const own = this.relatives(place, [n])[state.s - 1], history = this.historyAt(state.s);
    if (drawing.home.has(n)) return n;
    return this.bestMatch([...drawing.home.nodes()].filter((m) => own.has(history.origin(m))), n);
  }
  /** Returns `n` if it is among the nodes, else the largest of the same op, else the largest; -1 if there are none.
   * @param {Iterable<number>} nodes @param {number} n */
  bestMatch(nodes, n) {
    const all = [...nodes], alike = all.filter((m) => this.graph.op[m] === this.graph.op[n]);
    return all.includes(n) ? n : all.length ? Math.max(...alike.length ? alike : all) : -1;
  }

  /** Returns the first rewrite after `place` that replaced a node, or else that removed it by replacing the nearest of
   * its users. `rewrite` -1: no such rewrite of the stage is known. null: the node stays.
   * @param {number} place @param {number} n
   * @returns {{place: number, rewrite: number, isOwn: boolean, before: number, after: number} | null} `isOwn`: it
   * replaced the node, and not a user; `before`: the replaced node */
  replacement(place, n) {
    const isBelow = (root) => this.graph.nodesOf(root).includes(n);
    for (let p = place + 1; p <= this.last; p++) {
      const history = this.#isChanged(p) ? this.historyAt(p) : null;
      if (!history || history.result.has(n)) continue;
      const now = history.next(n), users = this.usersAt(p - 1), nearest = [n];
      const own = history.firstReplacement(n);
      let change = own;
      for (let i = 0; i < nearest.length && !change; i++)
        for (const user of nearest.length < kMostSearchedUsers ? users.get(nearest[i]) : []) {
          const ofUser = history.firstReplacement(user);
          if (ofUser && !isBelow(ofUser.after)) change = ofUser;
          if (!nearest.includes(user)) nearest.push(user);
        }
      if (now >= 0 && !own) n = now;  // the node stays, with other sources
      else {
        const rewrite = change ? this.graph.stages[p - 1].rewrites.findIndex((r) => r.at === change.at) : -1;
        const {before, after} = change || {before: n, after: -1};
        return {place: p, rewrite, isOwn: Boolean(own), before, after};
      }
    }
    return null;
  }

  /** Returns the place whose graph has a node that a state selects: the shown one, or else the latest before it that
   * has the node. @param {import("./state.js").State} state @param {number} n */
  placeWithNode(state, n) {
    const has = (p) => (p ? this.historyAt(p).result : new Set(this.graph.nodesOf(this.root(0)))).has(n);
    if (state.r >= 0 || has(Math.min(state.s, this.last))) return this.placeOf(state, n);
    for (let p = Math.min(state.s, this.last) - 1; p >= 0; p--) if (has(p)) return p;
    return state.s;
  }

  #isChanged(place) { return this.graph.stages[place - 1].changed; }

  /** Returns the steps that made a node of the graph at `place`, the newest first. @returns {Step[]} */
  history(place, node) {
    const out = [], g = this.graph;
    for (let p = place; p > 0 && node >= 0; p--) {
      if (!this.#isChanged(p)) continue;
      for (const {kind, at, before} of this.historyAt(p).steps(node)) {
        const rewrite = kind === "sources" ? -1 : g.stages[p - 1].rewrites.findIndex((r) => r.at === at);
        out.push({place: p, rewrite, kind, node: before}), node = before;
      }
    }
    return out;
  }
}
