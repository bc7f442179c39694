// Merges two recordings into one table, in which equal nodes have the same number.
/** @typedef {import("./data.js").RecordedGraph} RecordedGraph */

/** Adds the nodes of `b` that `a` lacks to `a`. Returns the names and roots of b's graphs, and for each node of `b` its
 * number `to`. The roots are numbers of the merged table, too. @param {RecordedGraph} a @param {RecordedGraph} b
 * @returns {{names: string[], roots: number[], graph: RecordedGraph, to: Int32Array}} */
export function mergeInto(a, b) {
  const text = (g, number) => g.strings[number];
  const key = (g, n, sources) =>
    [g.opName(n), text(g, g.dtype[n]), text(g, g.arg[n]), text(g, g.tag[n]), sources.join()].join("|");
  const known = new Map();
  for (let n = 0; n < a.count; n++) known.set(key(a, n, a.sourcesOf(n)), n);
  const strings = new Map(a.strings.map((s, i) => [s, i])), string = (text) => {
    if (!strings.has(text)) strings.set(text, a.strings.length), a.strings.push(text);
    return strings.get(text);
  };
  const to = new Int32Array(b.count), added = [], op = [], dtype = [], arg = [], tag = [], number = [];
  const first = Array.from(a.first), source = Array.from(a.source);
  for (let n = 0; n < b.count; n++) {
    const sources = Array.from(b.sourcesOf(n), (s) => to[s]), k = key(b, n, sources);
    if (known.has(k)) {
      to[n] = known.get(k);
      continue;
    }
    to[n] = a.count + added.length;
    known.set(k, to[n]), added.push(n);
    let index = a.ops.indexOf(b.opName(n));
    if (index < 0) index = a.ops.push(b.opName(n)) - 1;
    op.push(index), number.push(b.number[n]);
    dtype.push(string(b.strings[b.dtype[n]])), arg.push(string(b.argText(n))), tag.push(string(b.strings[b.tag[n]]));
    source.push(...sources), first.push(source.length);
  }
  a.op = Uint16Array.from([...a.op, ...op]);
  a.dtype = Int32Array.from([...a.dtype, ...dtype]), a.arg = Int32Array.from([...a.arg, ...arg]);
  a.tag = Int32Array.from([...a.tag, ...tag]);
  a.number = Int32Array.from([...a.number, ...number]);
  a.first = Int32Array.from(first), a.source = Int32Array.from(source);
  a.count += added.length, a.lists = new Array(a.count);
  const names = [b.begins, ...b.stages.map((s) => s.name)];
  const roots = [b.ast, ...b.stages.map((s) => s.to)].map((n) => (n < 0 ? -1 : to[n]));
  return {names, roots, graph: b, to};
}
