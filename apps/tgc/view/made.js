// Finds the model's nodes that a kernel was made from. The stage "number the uops" tags tensors that may become a
// buffer, and the tags survive until the kernels are made.
/** @typedef {import("./data.js").RecordedGraph} RecordedGraph */
/** @typedef {import("./story.js").NodeHistories} NodeHistories */

const kOthers = new Set(["AFTER", "BUFFER", "KERNEL"]);  // the search stops at these: inputs and other kernels' results

const numbersIn = (/** @type {string} */ tag) => (tag.match(/\d+/g) || []).map(Number);

/** Returns the model's node for each number of a tag.
 * @param {RecordedGraph} g @param {NodeHistories} story @returns {Map<number, number>} */
function modelNodesOfTags(g, story) {
  const out = new Map();
  for (const stage of g.stages)
    for (const r of stage.rewrites) {
      const [tag] = numbersIn(g.strings[g.tag[r.after]]);
      if (tag === undefined || g.tag[r.before] || out.has(tag)) continue;
      const node = story.nodeInFirstGraph(stage.index, r.before);
      if (g.madeForNode.has(node)) out.set(tag, g.madeForNode.get(node));
    }
  return out;
}

/** Returns for each item of the schedule the sorted numbers of the model's nodes that the item was made from; empty if
 * the graph was not made for a model. The graph's events must have been read.
 * @param {RecordedGraph} g @param {NodeHistories} story @returns {number[][]} */
export function nodesOfKernels(g, story) {
  if (!g.madeForNode.size) return [];
  // madeOf: from a kernel's AST to the node that the kernel replaced
  const ofTag = modelNodesOfTags(g, story), madeOf = new Map();
  for (const stage of g.stages)
    for (const r of stage.rewrites)
      for (const n of [r.after, ...g.sourcesOf(r.after)])
        if (g.inner.has(n) && !kOthers.has(g.opName(r.before)) && !madeOf.has(g.inner.get(n)))
          madeOf.set(g.inner.get(n), r.before);
  return g.kernels.map((ast) => {
    const out = new Set(), first = madeOf.get(ast), stack = first === undefined ? [] : [first], seen = new Set(stack);
    while (stack.length) {
      const n = stack.pop();
      if (n !== first && kOthers.has(g.opName(n))) continue;
      for (const tag of numbersIn(g.strings[g.tag[n]])) if (ofTag.has(tag)) out.add(ofTag.get(tag));
      for (const s of g.sourcesOf(n)) if (!seen.has(s)) seen.add(s), stack.push(s);
    }
    return [...out].sort((a, b) => a - b);
  });
}

/** Returns the model's node that node `n` of the graph at `place` was made for; -1: unknown.
 * @param {RecordedGraph} g @param {NodeHistories} story */
export function modelNodeOf(g, story, place, n) {
  const first = story.nodeInFirstGraph(place, n);
  return g.madeForNode.has(first) ? g.madeForNode.get(first) : -1;
}
