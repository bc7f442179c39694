// Matches the nodes of two graphs by structure, like `tgc diff` (lib/diff/graph_match.cpp; same terms). Ignores names,
// such as the numbers of ranges and local buffers.
import {TextNumbering} from "./table.js";
/** @typedef {import("./data.js").RecordedGraph} RecordedGraph */

const kNameless = new Set(["UNIQUE", "LUNIQUE", "DEFINE_LOCAL", "DEFINE_REG"]);
const kConstants = new Set(["CONST", "VCONST", "DEVICE"]);
const kPartners = 4, kWindow = 64, kMostUsers = 64;  // limits on the number of candidates, for very regular graphs

/** Returns a node's arg without the parts that are only names. @param {RecordedGraph} g */
function labelOfArg(g, n) {
  const op = g.opName(n);
  let arg = g.argText(n);
  if (kNameless.has(op)) arg = "";
  if (op === "RANGE") arg = (arg.match(/,/g) || []).length + arg.replace(/^.*,/, "");
  if (op === "UNROLL" || op === "CONTRACT") {
    const seen = [];
    arg = arg.replace(/\((\d+), (\d+)\)/g, (_, axis, size) => {
      if (!seen.includes(axis)) seen.push(axis);
      return "(" + seen.indexOf(axis) + ", " + size + ")";
    });
  }
  return arg;
}
/** Returns a node's label: op, dtype, arg and tag without names, and without its sources. @param {RecordedGraph} g */
export function labelOf(g, n) { return g.op[n] + "|" + g.dtype[n] + "|" + g.tag[n] + "|" + labelOfArg(g, n); }

/** One of the two graphs to match; its nodes are numbered in order. */
class MatchSide {
  /** `shapes` numbers nodes by everything below them, without names; `labels` numbers their labels.
   * @param {RecordedGraph} g @param {number} root @param {TextNumbering} shapes @param {TextNumbering} labels */
  constructor(g, root, shapes, labels) {
    this.nodes = g.nodesOf(root);
    const index = new Map(this.nodes.map((n, i) => [n, i]));
    this.sources = this.nodes.map((n) => Array.from(g.sourcesOf(n), (s) => index.get(s)));
    this.op = this.nodes.map((n) => g.op[n]), this.dtype = this.nodes.map((n) => g.dtype[n]);
    this.users = this.nodes.map(() => []), this.match = new Int32Array(this.nodes.length).fill(-1);
    this.isValue = [], this.label = [], this.shape = [];
    this.nodes.forEach((n, i) => {
      const list = this.sources[i];
      for (const s of list) if (this.users[s][this.users[s].length - 1] !== i) this.users[s].push(i);
      this.isValue[i] = kConstants.has(g.opName(n)) && list.every((s) => this.isValue[s]);
      this.label[i] = labels.number(labelOf(g, n));
      const inner = g.inner.has(n) ? new MatchSide(g, g.inner.get(n), shapes, labels).shape.pop() : "";
      this.shape[i] = shapes.number(this.label[i] + "," + inner + ":" + list.map((s) => this.shape[s]).join());
    });
  }
}

class Matcher {
  /** @param {MatchSide} a @param {MatchSide} b */
  constructor(a, b) {
    this.a = a, this.b = b;
    this.inA = new Set(a.shape.filter((_, i) => !a.isValue[i]));
    this.inB = new Set(b.shape.filter((_, i) => !b.isValue[i]));
    this.known = new Map(), this.candidates = [], this.queue = [];
    this.followedA = new Map(), this.followedB = new Map();
  }
  run() {
    this.#matchShared();
    this.#propose(this.a.nodes.length - 1, this.b.nodes.length - 1);
    for (let i = 0; i < this.queue.length; i++) this.#pairSources(...this.queue[i]);
    this.#acceptBestPairs();
    this.#matchMoved();
    this.#matchByNeighbours();
  }
  #alike(x, y) { return this.a.shape[x] === this.b.shape[y]; }
  #haveSameLabel(x, y) { return this.a.label[x] === this.b.label[y]; }
  #areUnmatched(x, y) { return this.a.match[x] < 0 && this.b.match[y] < 0; }
  #accept(x, y) { this.a.match[x] = y, this.b.match[y] = x; }

  #propose(x, y) {
    if (this.a.isValue[x] || this.b.isValue[y]) return;
    const key = x * this.b.nodes.length + y;
    if (!this.known.has(key)) {
      this.known.set(key, this.candidates.length);
      this.candidates.push({x, y, votes: 0});
      const p = this.followedA.get(x) || 0, q = this.followedB.get(y) || 0;
      this.followedA.set(x, p + 1);
      if (p < kPartners) this.followedB.set(y, q + 1);
      if (p < kPartners && q < kPartners) this.queue.push([x, y]);
    }
    this.candidates[this.known.get(key)].votes++;
  }

  // Pairs the sources of two nodes: first equal ones at the same position from the front or the back, then other equal
  // ones, then the rest, without values.
  #pairSources(x, y) {
    const sx = this.a.sources[x], sy = this.b.sources[y], usedX = sx.map(() => false), usedY = sy.map(() => false);
    const take = (i, j) => { usedX[i] = usedY[j] = true, this.#propose(sx[i], sy[j]); };
    const common = Math.min(sx.length, sy.length);
    if (sx.length === sy.length) sx.forEach((s, i) => { if (this.#alike(s, sy[i])) take(i, i); });
    else {
      let front = 0;
      while (front < common && this.#alike(sx[front], sy[front])) take(front, front), front++;
      for (let k = 1; front + k <= common && this.#alike(sx[sx.length - k], sy[sy.length - k]); k++)
        take(sx.length - k, sy.length - k);
    }
    sx.forEach((s, i) => {
      const j = usedX[i] ? -1 : sy.findIndex((t, k) => !usedY[k] && this.#alike(s, t));
      if (j >= 0) take(i, j);
    });
    for (const same of [true, false])
      sx.forEach((s, i) => {
        if (usedX[i]) return;
        let j = i;
        if (j >= sy.length || usedY[j] || sx.length !== sy.length) j = Math.max(0, i - kWindow);
        const end = Math.min(sy.length, i + kWindow);
        while (j < end && (usedY[j] || same && !this.#haveSameLabel(s, sy[j]))) j++;
        if (j >= end || !same && (this.a.isValue[s] || this.b.isValue[sy[j]])) return;
        usedX[i] = usedY[j] = true;
        this.#pairUnlike(s, sy[j]);
      });
  }

  // Matches the nodes that both graphs have: stages of one compilation share them.
  #matchShared() {
    const index = new Map(this.b.nodes.map((n, y) => [n, y]));
    this.a.nodes.forEach((n, x) => {
      const y = index.get(n);
      if (y !== undefined && !this.a.isValue[x]) this.#accept(x, y);
    });
  }
  // Returns how similar two nodes are, from 0 to 3: 0.5 each for op and label, up to 2 for equal sources by position.
  #likeness(x, y) {
    const sx = this.a.sources[x], sy = this.b.sources[y], n = Math.min(sx.length, sy.length);
    let alike = 0;
    for (let i = 0; i < n; i++) alike += this.#alike(sx[i], sy[i]) ? 1 : 0;
    return (this.a.op[x] === this.b.op[y] ? 0.5 : 0) + (this.#haveSameLabel(x, y) ? 0.5 : 0)
      + (n ? 2 * alike / Math.max(sx.length, sy.length) : 0);
  }
  // Proposes a pair for x and y, two different sources: x and y themselves or, if a node seems to be inserted, x with a
  // source of y, or a source of x with y. Proposes nothing if x and y are unlike and each occurs in the other graph.
  #pairUnlike(x, y) {
    const same = this.#haveSameLabel(x, y);
    let best = this.#likeness(x, y), pair = [x, y];
    const consider = (p, q) => {
      if (this.a.isValue[p] || this.b.isValue[q]) return;
      const likeness = this.#alike(p, q) ? 9 : !same && this.#haveSameLabel(p, q) ? this.#likeness(p, q) - 0.1 : 0;
      if (likeness > best) best = likeness, pair = [p, q];
    };
    for (const t of this.b.sources[y]) consider(x, t);
    for (const s of this.a.sources[x]) consider(s, y);
    // each occurs in the other graph
    if (best < 1 && this.inB.has(this.a.shape[x]) && this.inA.has(this.b.shape[y])) return;
    this.#propose(...pair);
  }

  // Whether two nodes are similar enough to be one changed node.
  #areSimilar(x, y) {
    const {a, b} = this, sx = a.sources[x], sy = b.sources[y];
    if (a.op[x] === b.op[y]) return true;
    if (a.dtype[x] !== b.dtype[y] && sx.length !== sy.length) return false;
    const shared = sx.filter((s) => sy.some((t) => this.#alike(s, t) || a.match[s] === t)).length;
    return shared * 2 >= Math.max(sx.length, sy.length) && shared > 0;
  }
  // Matches proposed pairs of nodes that are similar, the most certain pairs first.
  #acceptBestPairs() {
    const sameOp = (x, y) => this.a.op[x] === this.b.op[y];
    const rank = ({x, y}) => (this.#alike(x, y) ? 0 : this.#haveSameLabel(x, y) ? 1 : sameOp(x, y) ? 2 : 3);
    const ranked = this.candidates.map((c) => ({...c, rank: rank(c)}))
      .sort((c, d) => c.rank - d.rank || d.votes - c.votes);
    for (const {x, y, rank: r} of ranked)
      if ((r < 3 || this.#areSimilar(x, y)) && this.#areUnmatched(x, y)) this.#accept(x, y);
  }
  // Matches equal subgraphs that moved, which no matched neighbours propose; those nearest to the output first.
  #matchMoved() {
    const {a, b} = this, left = new Map();
    b.nodes.forEach((_, y) => {
      if (b.match[y] >= 0 || b.isValue[y]) return;
      left.has(b.shape[y]) ? left.get(b.shape[y]).push(y) : left.set(b.shape[y], [y]);
    });
    for (let x = a.nodes.length - 1; x >= 0; x--) {
      const found = a.match[x] >= 0 || a.isValue[x] ? null : left.get(a.shape[x]);
      while (found && found.length && b.match[found[found.length - 1]] >= 0) found.pop();
      const worklist = found && found.length ? [[x, found[found.length - 1]]] : [];
      while (worklist.length) {
        const [u, v] = worklist.pop();
        if (!this.#areUnmatched(u, v) || !this.#alike(u, v) || a.isValue[u]) continue;
        this.#accept(u, v);
        a.sources[u].forEach((s, i) => worklist.push([s, b.sources[v][i]]));
      }
    }
  }
  // Matches each remaining node with the node of the same op that shares the most neighbours with it.
  #matchByNeighbours() {
    const {a, b} = this;
    a.nodes.forEach((_, x) => {
      if (a.match[x] >= 0 || a.isValue[x]) return;
      const score = new Map(), consider = (y) => {
        if (b.match[y] < 0 && !b.isValue[y] && b.op[y] === a.op[x]) score.set(y, (score.get(y) || 0) + 1);
      };
      for (const s of a.sources[x])
        if (a.match[s] >= 0 && b.users[a.match[s]].length < kMostUsers) b.users[a.match[s]].forEach(consider);
      for (const user of a.users[x])
        if (a.match[user] >= 0) b.sources[a.match[user]].slice(0, kMostUsers).forEach(consider);
      let best = 0, bestY = -1;
      for (const [y, n] of score) {
        const weight = 2 * n + (this.#haveSameLabel(x, y) ? 1 : 0);
        if (weight > best || weight === best && y < bestY) best = weight, bestY = y;
      }
      if (best) this.#accept(x, bestY);
    });
  }
}

/** @typedef {{what: string, before: string, after: string}} Difference */
/** The difference of two graphs, without values. `like`: for a node of the first graph, the matching node of the
 * second; `changed`: by node of the second graph, its changes; `came` and `went`: the nodes of the second and of the
 * first graph that match none.
 * @typedef {{like: Map<number, number>, changed: Map<number, {of: number, differences: Difference[]}>,
 *   came: Set<number>, went: Set<number>}} Diff */

const kKept = 3;
/** @type {WeakMap<RecordedGraph, {shapes: TextNumbering, labels: TextNumbering, sides: Map<number, MatchSide>}>} */
const known = new WeakMap();

/** Prepares a graph for diffOf(). Returns false if it was prepared already.
 * @param {RecordedGraph} g @param {number} root */
export function prepareSide(g, root) {
  if (!known.has(g)) known.set(g, {shapes: new TextNumbering(), labels: new TextNumbering(), sides: new Map()});
  const {shapes, labels, sides} = known.get(g);
  if (sides.has(root)) return false;
  sides.set(root, new MatchSide(g, root, shapes, labels));
  if (sides.size > kKept) sides.delete(sides.keys().next().value);
  return true;
}
/** @param {RecordedGraph} g @param {number} root @returns {MatchSide} */
function sideOf(g, root) {
  prepareSide(g, root);
  const side = known.get(g).sides.get(root);
  side.match.fill(-1);
  return side;
}

/** @param {RecordedGraph} g @param {number} from @param {number} to roots @returns {Diff} */
export function diffOf(g, from, to) {
  const a = sideOf(g, from);
  if (from === to) known.get(g).sides.delete(to);  // the two sides must be two objects
  const b = sideOf(g, to);
  new Matcher(a, b).run();
  const out = {like: new Map(), changed: new Map(), came: new Set(), went: new Set()};
  const valueOf = (side, i) => g.argText(side.nodes[i]);
  const titleOf = (n) => "#" + g.number[n] + " " + g.opName(n);
  const nameOf = (side, i) => (side.isValue[i] ? valueOf(side, i) : titleOf(side.nodes[i]));
  const sameValue = (s, t) => a.isValue[s] && b.isValue[t] && a.shape[s] === b.shape[t];
  const corresponds = (s, t) => (a.isValue[s] || b.isValue[t] ? sameValue(s, t) : a.match[s] === t);
  const isGone = (s) => !a.isValue[s] && a.match[s] < 0, isNew = (t) => !b.isValue[t] && b.match[t] < 0;
  a.nodes.forEach((n, x) => { if (isGone(x)) out.went.add(n); });
  b.nodes.forEach((n, y) => {
    if (isNew(y)) out.came.add(n);
    const x = b.match[y];
    if (x < 0) return;
    const was = a.nodes[x], differences = [], add = (what, before, after) => differences.push({what, before, after});
    out.like.set(was, n);
    if (g.op[was] !== g.op[n]) add("op", g.opName(was), g.opName(n));
    if (g.dtype[was] !== g.dtype[n]) add("dtype", g.dtypeName(was), g.dtypeName(n));
    if (labelOfArg(g, was) !== labelOfArg(g, n)) add("arg", g.argText(was), g.argText(n));
    if (g.tag[was] !== g.tag[n]) add("tag", g.strings[g.tag[was]], g.strings[g.tag[n]]);
    const sx = a.sources[x], sy = b.sources[y];
    if (sx.length === sy.length) sx.forEach((s, i) => {
      if (!corresponds(s, sy[i]) && !isNew(sy[i]) && !isGone(s)) add("source " + i, nameOf(a, s), nameOf(b, sy[i]));
    });
    else {
      const gone = sx.filter((s) => !sy.some((t) => corresponds(s, t)));
      const come = sy.filter((t) => !sx.some((s) => corresponds(s, t)));
      if (!gone.every(isGone) || !come.every(isNew))
        add("sources", gone.map((s) => nameOf(a, s)).join(", "), come.map((t) => nameOf(b, t)).join(", "));
    }
    if (differences.length) out.changed.set(n, {of: was, differences});
  });
  return out;
}
