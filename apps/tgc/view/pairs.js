// Pairs the graphs of two inputs by name, by what they were made for, or by structure; if each input has only one
// graph, these are a pair. Also finds the first stage that differs in a pair.

/** @typedef {{with: number, by: string}} Pair */

/** How graphs are paired, the surest way first. Graphs for which `of` returns equal texts are paired in order. A name
 * may be a running number, "prog.3", so what the graph was made for counts more. */
const kWays = [
  {by: "paired by name and target", of: (g) => [g.name, g.target, g.made_for].join("\n")},
  {by: "paired by what they were made for", of: (g) => g.made_for && [g.made_for, g.target].join("\n")},
  {by: "paired by equal structure", of: (g) => g.structure && [g.structure, g.target].join("\n")},
  {by: "paired by name and target", of: (g) => [g.name, g.target].join("\n")},
  {by: "paired by name", of: (g) => g.name},
  {by: "paired by equal structure", of: (g) => g.structure}];

/** Returns, for each graph of the page that has one, its partner of the other input.
 * @param {{name: string, target: string, made_for: string, structure: string, side: number}[]} graphs
 * @returns {Map<number, Pair>} */
export function pairsOf(graphs) {
  const out = new Map(), sides = [0, 1].map((side) => graphs.map((_, g) => g).filter((g) => graphs[g].side === side));
  const pair = (a, b, by) => { out.set(a, {with: b, by}), out.set(b, {with: a, by}); };
  if (sides.some((list) => !list.length)) return out;
  if (sides.every((list) => list.length === 1)) pair(sides[0][0], sides[1][0], "the only graphs");
  for (const {by, of} of kWays) {
    const [left, right] = sides.map((list) => list.filter((g) => !out.has(g) && of(graphs[g]))), waiting = new Map();
    for (const b of right) {
      const key = of(graphs[b]);
      waiting.has(key) ? waiting.get(key).push(b) : waiting.set(key, [b]);
    }
    for (const a of left) {
      const found = waiting.get(of(graphs[a]));
      if (found && found.length) pair(a, found.shift(), by);
    }
  }
  return out;
}

/** Returns the name of the first stage of both graphs, or "source", whose result differs between them; "": none.
 * @param {{results?: string[]}} a @param {{results?: string[]}} b each stage's name and the hash of its result */
export function firstDifference({results: a = []}, {results: b = []}) {
  const theirs = new Map();
  for (let i = 0, last = ""; i < b.length; i += 2) {
    last = b[i + 1] || last;
    if (!theirs.has(b[i])) theirs.set(b[i], last);
  }
  for (let i = 0, last = ""; i < a.length; i += 2) {
    last = a[i + 1] || last;
    if (theirs.has(a[i]) && theirs.get(a[i]) !== last) return a[i];
  }
  return "";
}
