// Finds repeated blocks by structure, such as the layers of a model or the lanes of an unrolled loop. A block is a node
// with the nodes that only it uses, down to its floor, if it has one: the node with which the rest of its chain begins.
import {expressionOf} from "./expressions.js";
import {isValue} from "./values.js";
import {labelOf} from "./match.js";
import {TextNumbering} from "./table.js";

/** A block: the nodes from `head` down to `floor`, which is not included. Blocks of the same structure have the same
 * `kind`; `size` is the number of nodes; `label`: the label of a block that is no repetition.
 * @typedef {{head: number, floor: number, kind: string, size: number, label?: string}} Block */

const kLeastBlockNodes = 3;
const kMovementOps = new Set(["RESHAPE", "EXPAND", "PERMUTE", "PAD", "SHRINK", "FLIP"]);  // tinygrad's movement ops
const kMostUnfoldedBuffers = 4;  // if a CALL has more buffers, their boxes are folded
const kLeastChainLength = 4;  // minimum number of nodes of a chain in which repetitions are searched
const kMostComparisons = 150000;  // limit on comparisons for each chain

export class Blocks {
  /** @param {import("./data.js").RecordedGraph} g @param {number} root @param {(n: number) => boolean} isText whether a
   *  node is text in its users' boxes */
  constructor(g, root, isText = (n) => isValue(g, n)) {
    this.g = g, this.nodes = g.nodesOf(root).filter((n) => n === root || !isText(n));
    this.at = new Map(this.nodes.map((n, i) => [n, i]));
    const placesOf = (list) => Array.from(list, (s) => this.at.get(s)).filter((s) => s !== undefined);
    this.sources = this.nodes.map((n) => placesOf(g.sourcesOf(n)));
    this.owner = immediateDominators(this.sources);
    this.size = this.nodes.map(() => 1), this.within = this.nodes.map(() => []);
    this.nodes.forEach((_, i) => {
      if (this.owner[i] >= 0) this.size[this.owner[i]] += this.size[i], this.within[this.owner[i]].push(i);
    });
  }

  /** The repeated blocks in chains. @returns {Block[]} */
  get chained() { return this.chains || (this.chains = this.#chains()); }
  get blocksByHead() { return this.byHead || (this.byHead = new Map(this.chained.map((b) => [b.head, b]))); }

  /** Returns the block of a chain that begins with a node. @param {number} n @returns {Block | undefined} */
  chainBlockAt(n) { return this.blocksByHead.get(n); }

  /** Returns the blocks with the same structure as the block of a node. @param {number} n @returns {Block[]} */
  blocksLike(n) {
    const block = this.blocksByHead.get(n);
    if (block) return this.chained.filter((b) => b.kind === block.kind);
    const i = this.at.get(n);
    if (i === undefined || this.size[i] < 2) return [];
    const {exactNumbers} = this;
    return this.nodes.filter((_, k) => exactNumbers[k] === exactNumbers[i]).map((m) => this.#blockBelow(m));
  }

  /** Returns the blocks that occur more than once and are inside no other repeated block, with their number of
   * occurrences; of a tensor graph, also the parts of #quietParts(). @returns {(Block & {count: number})[]} */
  repeats() { return this.repeated || (this.repeated = this.#repeats()); }
  #repeats() {
    const {exactNumbers} = this, count = new Map(), out = [...this.chained], taken = this.nodes.map(() => false);
    for (const {head, floor} of this.chained) this.#markTaken(taken, this.at.get(head),
      floor < 0 ? -1 : this.at.get(floor));
    exactNumbers.forEach((s, i) => { if (!taken[i]) count.set(s, (count.get(s) || 0) + 1); });
    for (let i = this.nodes.length - 1; i >= 0; i--)
      if (!taken[i] && this.size[i] >= kLeastBlockNodes && count.get(exactNumbers[i]) > 1)
        out.push(this.#blockBelow(this.nodes[i])), this.#markTaken(taken, i, -1);
    if (this.g.isTensor) out.push(...this.#quietParts(taken));
    const kinds = new Map();
    for (const {kind} of out) kinds.set(kind, (kinds.get(kind) || 0) + 1);
    return out.map((block) => ({...block, count: kinds.get(block.kind)}));
  }
  // Returns parts of a tensor graph that are of little interest: chains of ops that only move elements, and the buffers
  // of a CALL.
  #quietParts(taken) {
    const {g, nodes, sources, within} = this, out = [], op = (i) => g.opName(nodes[i]);
    for (let i = nodes.length - 1; i >= 0; i--) {
      if (taken[i]) continue;
      let floor = i;
      const ops = [], leaves = within[i].filter((k) => this.size[k] === 1 && k !== sources[i][0]);
      const goesOn = (k) => kMovementOps.has(op(k)) && !taken[k] && sources[k].length === 1
        && this.owner[sources[k][0]] === k;
      while (goesOn(floor)) ops.push(op(floor)), floor = sources[floor][0];
      if (op(i) === "CALL" && leaves.length > kMostUnfoldedBuffers) floor = sources[i][0],
        ops.push(leaves.length + " buffers");
      else if (ops.length < 2) continue;
      out.push({head: nodes[i], floor: nodes[floor], kind: "quiet" + i, size: ops.length, label: ops.join(", ")});
      for (let k = i; k !== floor; k = sources[k][0]) taken[k] = true;
    }
    return out;
  }
  #blockBelow(n) { return {head: n, floor: -1, kind: "=" + this.exactNumbers[this.at.get(n)],
    size: this.size[this.at.get(n)]}; }
  #markTaken(taken, head, floor) {
    const stack = [head];
    while (stack.length) {
      const i = stack.pop();
      if (i === floor || taken[i]) continue;
      taken[i] = true, stack.push(...this.within[i]);
    }
  }

  /** Returns a number for each node. Nodes have the same number if they and the nodes that only they use are alike: in
   * labels (labelOf), in edges between them, and in sources that are text. */
  get exactNumbers() {
    if (this.shapes) return this.shapes;
    const {g} = this, shape = this.shapes = [], shapes = new TextNumbering();
    this.nodes.forEach((n, i) => {
      const own = this.sources[i].map((s) => (this.owner[s] === i ? shape[s] : "x")).join();
      const others = this.within[i].map((k) => shape[k]).sort().join();
      const values = Array.from(g.sourcesOf(n), (s) => (this.at.has(s) ? "" : expressionOf(g, s))).join();
      shape[i] = shapes.number(labelOf(g, n) + "|" + values + "|" + own + "|" + others);
    });
    return shape;
  }

  /** Returns a key for the ops by which `head`, a node of a chain, is computed from the next node, `floor`. Layers
   * of different widths must be alike, so sizes are ignored, and so are sources that do not depend on `floor`, such
   * as weights. @returns {string} */
  #structureKey(head, floor, shapes) {
    const part = [], stack = [head], says = new Map([[floor, "^"]]);
    while (stack.length) {
      const i = stack.pop();
      if (i !== floor) part.push(i), stack.push(...this.within[i]);
    }
    for (const i of part.sort((a, b) => a - b)) {
      const n = this.nodes[i];
      if (i !== head && !this.sources[i].some((s) => says.has(s))) continue;
      const dtype = this.g.dtypeName(n).replace(/\.ptr.*/, "");
      const sources = this.sources[i].map((s) => says.get(s) ?? "w");
      says.set(i, shapes.number([this.g.opName(n), dtype, ...sources].join("|")));
    }
    return says.get(head);
  }
  /** Returns the node in which a chain continues after node `i`: of the nodes that only `i` uses, the one with the
   * largest `size`; -1: none. */
  #nextInChain(i) {
    let best = -1;
    for (const k of this.within[i]) if (best < 0 || this.size[k] > this.size[best]) best = k;
    return best;
  }

  // Returns the repeated blocks in chains of dominators: each node of a chain dominates the next.
  #chains() {
    const out = [], taken = this.nodes.map(() => false), isNext = this.nodes.map(() => false),
      shapes = new TextNumbering();
    const nextInChain = this.nodes.map((_, i) => this.#nextInChain(i));
    for (const k of nextInChain) if (k >= 0) isNext[k] = true;
    for (let i = this.nodes.length - 1; i >= 0; i--) {
      if (isNext[i] || taken[i]) continue;
      const chain = [];
      for (let k = i; k >= 0; k = nextInChain[k]) chain.push(k);
      if (chain.length < kLeastChainLength) continue;
      const floors = chain.slice(1).concat(-1);
      const size = chain.map((k, at) => this.size[k] - (floors[at] < 0 ? 0 : this.size[floors[at]]));
      for (const [begin, end, kind] of repeatsIn(chain.map((k, at) => this.#structureKey(k, floors[at], shapes)),
        size)) {
        const floor = floors[end - 1];
        out.push({head: this.nodes[chain[begin]], floor: floor < 0 ? -1 : this.nodes[floor], kind,
          size: size.slice(begin, end).reduce((a, b) => a + b, 0)});
        this.#markTaken(taken, chain[begin], floor);
      }
    }
    return out;
  }
}

/** Finds the repeated parts of a row of names: ranges [begin, end) with their name, which do not overlap. Takes the
 * part first that hides the most nodes: its size times one less than the number of its occurrences.
 * @param {string[]} row @param {number[]} size @returns {[number, number, string][]} */
export function repeatsIn(row, size) {
  const sums = [0], taken = row.map(() => false), out = [], budget = {left: kMostComparisons};
  for (const s of size) sums.push(sums[sums.length - 1] + s);
  for (let found = bestPart(row, sums, taken, budget); found; found = bestPart(row, sums, taken, budget))
    for (const at of found.places) {
      out.push([at, at + found.length, row.slice(at, at + found.length).join()]);
      taken.fill(true, at, at + found.length);
    }
  return out.sort((a, b) => a[0] - b[0]);
}

// Returns the part that folds the most nodes and does not overlap `taken`; of equal ones, the shortest, then the first.
function bestPart(row, sums, taken, budget) {
  let best = null, most = 0, places = row.map((_, at) => at).filter((at) => !taken[at]), named = places.map(() => 0);
  for (let length = 1; places.length > 1 && budget.left > 0; length++) {
    budget.left -= places.length;
    const numbers = new Map(), groups = [];
    named = places.map((at, i) => {
      const says = named[i] + "," + row[at + length - 1];
      if (!numbers.has(says)) numbers.set(says, groups.length), groups.push({places: [], free: 0, count: 0, size: 0});
      const group = groups[numbers.get(says)];
      group.count++;
      if (at >= group.free) group.places.push(at), group.free = at + length, group.size += sums[at + length] - sums[at];
      return numbers.get(says);
    });
    for (const group of groups) {
      const times = group.places.length, spared = group.size * (times - 1) / times;
      if (times > 1 && group.size >= kLeastBlockNodes * times && spared > most)
        most = spared, best = {places: group.places, length};
    }
    const goesOn = (i) => groups[named[i]].count > 1 && places[i] + length < row.length && !taken[places[i] + length];
    const kept = places.map((_, i) => i).filter(goesOn);
    named = kept.map((i) => named[i]), places = kept.map((i) => places[i]);
  }
  return best;
}

/** Returns the immediate dominator of each node: the nearest other node that is on all paths from the root to the node;
 * -1: the node is the root. @param {number[][]} sources of each node, as positions in this list; the root is last */
function immediateDominators(sources) {
  const last = sources.length - 1, owner = sources.map(() => -2), depth = sources.map(() => 0);
  owner[last] = -1;
  const common = (a, b) => {
    while (a !== b) if (depth[a] >= depth[b]) a = owner[a]; else b = owner[b];
    return a;
  };
  for (let i = last; i >= 0; i--) {
    if (owner[i] >= 0) depth[i] = depth[owner[i]] + 1;
    for (const s of sources[i]) owner[s] = owner[s] === -2 ? i : common(owner[s], i);
  }
  return owner;
}
