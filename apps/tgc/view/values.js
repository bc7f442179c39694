// Decides which nodes are values. A value, such as a constant, has no box: it is text in the boxes of its users.
/** @typedef {import("./data.js").RecordedGraph} RecordedGraph */

const kValues = new Set(["CONST", "VCONST", "DEVICE", "UNIQUE", "LUNIQUE", "PYLITERAL"]);

/** For each recording and node: 0 unknown, 1 no value, 2 a value. @type {WeakMap<RecordedGraph, Uint8Array>} */
const kIsValue = new WeakMap();
/** The recording of the last query, and its entry of `kIsValue`.
 * @type {{g: RecordedGraph | null, known: Uint8Array}} */
const kLatestQuery = {g: null, known: new Uint8Array(0)};

/** Whether a node is a value: a constant, a device or the like, a list of these with an index dtype, or an empty
 * STACK. */
export function isValue(/** @type {RecordedGraph} */ g, n) {
  if (kLatestQuery.g !== g || kLatestQuery.known.length < g.count) {
    let known = kIsValue.get(g);
    if (!known || known.length < g.count) kIsValue.set(g, known = new Uint8Array(g.count));
    kLatestQuery.g = g, kLatestQuery.known = known;
  }
  const {known} = kLatestQuery;
  if (!known[n]) known[n] = computeIsValue(g, n) ? 2 : 1;
  return known[n] === 2;
}
function computeIsValue(/** @type {RecordedGraph} */ g, n) {
  const op = g.opName(n);
  if (kValues.has(op)) return true;
  if (op === "VECTORIZE" || op === "NOOP" || op === "TUPLE" || op === "STACK") {
    const list = g.sourcesOf(n);
    if (op === "STACK" && !list.length) return true;
    return /^(index|weakint)/.test(g.dtypeName(n)) && list.length > 0 && list.every((s) => kValues.has(g.opName(s)));
  }
  return false;
}

/** Returns the text of a value. */
export function valueText(/** @type {RecordedGraph} */ g, n) {
  const op = g.opName(n), arg = g.argText(n);
  if (op === "VECTORIZE" || op === "STACK")
    return "(" + Array.from(g.sourcesOf(n), (s) => g.argText(s)).join(", ") + ")";
  if (op === "UNIQUE" || op === "LUNIQUE") return "#" + arg;
  return arg;
}
