// Blocks: a node with all that only it uses. Those that say the same, names apart, are alike: the layers of a model, the
// lanes of an unrolled loop.
import {isValue} from "./layout.js";
import {labelOf} from "./match.js";
import {Table} from "./table.js";

const kLeast = 3;  // nodes of a block that is folded without being asked for

/** @param {import("./data.js").Recorded} g @param {number} root */
export function blocksOf(g, root) {
  const nodes = g.nodesOf(root).filter((n) => n === root || !isValue(g, n)), at = new Map(nodes.map((n, i) => [n, i]));
  const sources = nodes.map((n) => Array.from(g.sourcesOf(n), (s) => at.get(s)).filter((s) => s !== undefined));
  const owner = owners(sources), size = nodes.map(() => 1), within = nodes.map(() => []), shape = [], shapes = new Table();
  nodes.forEach((_, i) => {
    if (owner[i] >= 0) size[owner[i]] += size[i], within[owner[i]].push(i);
  });
  nodes.forEach((n, i) => {
    const values = Array.from(g.sourcesOf(n), (s) => (at.has(s) ? "" : g.argText(s)));
    const own = sources[i].map((s) => (owner[s] === i ? shape[s] : "x"));
    shape[i] = shapes.number(labelOf(g, n) + "|" + values.join() + "|" + own.join() + "|" + within[i].map((k) => shape[k]).sort().join());
  });
  return {
    /** The heads of the blocks like that of a node. */
    alike: (n) => (size[at.get(n)] > 1 ? nodes.filter((_, i) => shape[i] === shape[at.get(n)]) : []),
    /** The heads of blocks that are there more than once and in no other such. */
    repeats: () => {
      const count = new Map(), heads = [], taken = nodes.map(() => false);
      shape.forEach((s) => count.set(s, (count.get(s) || 0) + 1));
      for (let i = nodes.length - 1; i >= 0; i--) {  // users come before what they use
        taken[i] = owner[i] >= 0 && taken[owner[i]];
        if (!taken[i] && size[i] >= kLeast && count.get(shape[i]) > 1) taken[i] = true, heads.push(i);
      }
      return {heads: heads.map((i) => nodes[i]), kinds: new Set(heads.map((i) => shape[i])).size};
    },
  };
}

/** For each node the one that alone uses it, be it through others: its immediate dominator, seen from the root; -1: none.
 * @param {number[][]} sources by place, sources first */
function owners(sources) {
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
