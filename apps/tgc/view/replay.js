// Reconstructs a graph within a graph rewrite: the input with the replacements that were made up to an event.
import {EventKind, resolveNode} from "./events.js";
/** @typedef {import("./data.js").RecordedGraph} RecordedGraph */
/** @typedef {import("./data.js").Run} Run */

/** A graph to draw. A node's key is its number in the recording, or this number plus `count` if the node keeps sources
 * that the graph rewrite has replaced.
 * @typedef {{order: number[], sources: DrawnSources, root: number, count: number}} Shown */

/** The sources of drawn nodes by key, with the interface of a Map: a node's own sources unless some were replaced. */
export class DrawnSources {
  /** `seen`: by key; 0: the node is not drawn.
   * @param {RecordedGraph} graph @param {Uint8Array} seen @param {Map<number, number[]>} replaced */
  constructor(graph, seen, replaced) { this.graph = graph, this.seen = seen, this.replaced = replaced; }
  has(key) { return Boolean(this.seen[key]); }
  /** @returns {number[]} */
  get(key) { return this.replaced.get(key) || this.graph.sourceList(key % this.graph.count); }
}

/** The replacements that a graph rewrite has made up to an event. */
export class Replacements {
  /** `until`: the last event to apply. @param {RecordedGraph} graph @param {Run} run @param {Int32Array} events
   *  @param {number} until */
  constructor(graph, run, events, until = Infinity) {
    this.graph = graph;
    /** @type {Map<number, number>} */ this.to = new Map();
    /** @type {Set<number>} */ this.gates = new Set();
    /** For each new node, the first node that it replaces. @type {Map<number, number>} */ this.from = new Map();
    for (const at of run.events) {
      if (at > until) break;
      if (events[at] === EventKind.Gated) this.gates.add(events[at + 1]);
      else if (events[at] === EventKind.Rewrite) this.#replace(events[at + 2], events[at + 3]);
      else this.#replace(events[at + 1], events[at + 2]);
    }
  }
  #replace(before, after) {
    if (before === after) return;
    this.to.set(before, after);
    if (!this.from.has(after)) this.from.set(after, before);
  }

  /** Returns what the node has become so far. @param {number} n */
  resolve(n) { return resolveNode(this.to, n); }

  /** Returns the graph below `root` with the replacements. @param {number} root @returns {Shown} */
  replacedGraph(root) {
    if (!this.to.size && !this.gates.size) return unreplacedGraph(this.graph, root);
    const g = this.graph, count = g.count, order = [], lists = new Map(), untouched = new Map();
    const state = new Uint8Array(2 * count), kOpen = 1, kDone = 2;  // by key: 0 (not visited), kOpen or kDone
    const sources = new DrawnSources(g, state, lists), isReplaced = new Uint8Array(count);
    for (const n of this.to.keys()) isReplaced[n] = 1;
    // Returns the keys of the sources that are drawn for the node of `key`.
    const drawnSources = (key) => {
      const n = key % count, own = g.sourceList(n), isRaw = key >= count || this.gates.has(n);
      if (isRaw) return own.map((s) => (this.#isTouched(s, untouched) ? s + count : s));
      let isOwn = true;
      for (const s of own) if (isReplaced[s] || state[s] === kOpen) isOwn = false;
      if (isOwn) return own;
      return own.map((s) => {
        const to = this.resolve(s);
        return state[to] === kOpen ? s + count : to;
      });
    };
    const start = this.resolve(root), stack = [start];
    while (stack.length) {
      const key = stack[stack.length - 1];
      if (!state[key]) {
        state[key] = kOpen;
        const list = drawnSources(key);
        if (list !== g.lists[key]) lists.set(key, list);
        for (let i = list.length - 1; i >= 0; i--) if (!state[list[i]]) stack.push(list[i]);
      } else {
        stack.pop();
        if (state[key] === kOpen) state[key] = kDone, order.push(key);
      }
    }
    return {order, sources, root: start, count};
  }

  /** Whether a node, or one below it, is replaced. */
  #isTouched(n, known) {
    if (!this.to.size) return false;
    const stack = [n];
    while (stack.length) {
      const top = stack[stack.length - 1];
      if (known.has(top)) {
        stack.pop();
        continue;
      }
      if (this.to.has(top)) {
        known.set(top, true), stack.pop();
        continue;
      }
      const list = this.graph.sourcesOf(top), missing = [];
      let touched = false;
      for (const s of list) known.has(s) ? touched ||= known.get(s) : missing.push(s);
      if (touched || !missing.length) known.set(top, touched), stack.pop();
      else stack.push(...missing);
    }
    return known.get(n);
  }
}

/** Returns the graph below `root` without replacements.
 * @param {RecordedGraph} graph @param {number} root @returns {Shown} */
export function unreplacedGraph(graph, root) {
  const order = graph.nodesOf(root), seen = new Uint8Array(2 * graph.count);
  for (const n of order) seen[n] = 1;
  return {order, sources: new DrawnSources(graph, seen, new Map()), root, count: graph.count};
}

/** Whether `shown` is the graph below `root`, node for node. @param {RecordedGraph} graph @param {Shown} shown */
export function isSameGraph(graph, shown, root) {
  if (shown.root !== root) return false;
  return shown.order.every((key) => {
    const n = key % graph.count, list = shown.sources.get(key);
    return graph.sourcesOf(n).every((s, i) => list[i] % graph.count === s);
  });
}
