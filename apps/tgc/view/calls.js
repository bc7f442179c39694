import {kernelName} from "./rewrites.js";
/** @typedef {import("./data.js").RecordedGraph} RecordedGraph */

/** For each recording, the numbers of the schedule's items by node: by CALL, and by its first source, the kernel's
 * graph.
 * @type {WeakMap<RecordedGraph, Map<number, number[]>>} */
const kItems = new WeakMap();

// Returns the entry of kItems for a recording. The LINEAR of the last graph lists the CALLs in the order of the
// schedule.
function itemsByNode(/** @type {RecordedGraph} */ g) {
  if (!kItems.has(g)) {
    const out = new Map(), isLinear = (n) => g.opName(n) === "LINEAR", add = (n, item) => {
      out.has(n) ? out.get(n).push(item) : out.set(n, [item]);
    };
    const linear = g.unread.packed ? undefined : g.nodesOf(g.rootAfter(g.stages.length)).find(isLinear);
    const calls = linear === undefined ? [] : Array.from(g.sourcesOf(linear));
    calls.forEach((n, item) => { add(n, item), add(g.sourcesOf(n)[0], item); });
    if (g.unread.packed) return out;  // not cached, because nodes are missing
    kItems.set(g, out);
  }
  return kItems.get(g);
}

/** Returns the items of the schedule that a CALL runs: one, or all with the same kernel. @param {RecordedGraph} g */
export function itemsOfCall(g, n) {
  const items = itemsByNode(g);
  return g.opName(n) === "CALL" ? items.get(n) || items.get(g.sourcesOf(n)[0]) || [] : [];
}

/** Returns the name of the kernel that a CALL runs; "": unknown. @param {RecordedGraph} g */
export function calledName(g, n) {
  const [item] = itemsOfCall(g, n), [body] = g.sourcesOf(n);
  const own = body === undefined ? "" : kernelName(g.argText(body));
  return item !== undefined && g.itemNames && g.itemNames[item] || (own === "test" ? "" : own);
}
