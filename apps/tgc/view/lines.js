// Groups the nodes of a recorded tensor graph by the lines of the program that made them, for folding (folding.js).
/** @typedef {import("./data.js").RecordedGraph} RecordedGraph */

/** A tensor method that made nodes, as a recording lists it. `caller`: the line that called it, "net.py:7::__call__";
 * `nodes`: positions of these nodes in the list that nodesOf() returns for the first graph.
 * @typedef {{name: string, caller?: string, backward?: boolean, nodes: number[]}} Method */
/** A line of the program, or the lines of a function. `at`: the line that called the method; `own`: the name of the
 * function. @typedef {{file: string, first: number, last: number, at: number, own: string, backward: boolean,
 *   key: string}} Lines */

const kMostGroups = 200;
// kFewOfLine and kFewOfFunction: maximum number of nodes of a group, such as a weight, that is joined with a user of
// another line or function, if groups are of lines and if they are of functions. kJoinRounds: how often groups are
// joined with their users.
const kFewOfLine = 1, kFewOfFunction = 8, kJoinRounds = 2;

/** Sets `madeOf` and `madeForNode` of a recorded tensor graph, as those of a model: the label of each group, and the
 * group of each node. A line, or the lines of a function, may have several groups, if they run several
 * times, or if other lines run between their parts. @param {RecordedGraph} g
 * @param {number} most number of groups above which more groups are joined */
export function groupByLine(g, most = kMostGroups) {
  const lines = g.methods.map(linesOf), functions = functionsOf(lines);
  /** @type {[Lines[], number, boolean][]} */
  const kinds = [[lines, kFewOfLine, false], [lines, kFewOfLine, true], [functions, kFewOfFunction, true]];
  for (const [of, few, joinsAlike] of kinds) {
    const {labels, groupOf} = new LineGrouping(g, g.methods, of, few, joinsAlike).result();
    g.madeOf = labels, g.madeForNode = groupOf;
    if (labels.length <= most) return;
  }
}

/** @param {Method} method @returns {Lines} */
function linesOf({caller = "", backward = false}) {
  const [place, own = ""] = caller.split("::"), [, file, line] = /^(.*):(\d+)$/.exec(place) || ["", place, "0"];
  const at = Number(line);
  return {file, first: at, last: at, at, own, backward, key: place + (backward ? " gradient" : "")};
}
// Whether a node of `line` can come from the same execution of a line or function as its source. An execution goes
// through its lines in order, and through their gradients in the reverse order.
const isInRun = (/** @type {Lines | undefined} */ source, /** @type {Lines} */ line) => source !== undefined
  && source.key === line.key && (line.backward ? source.at >= line.at : source.at <= line.at);
const placeOf = (/** @type {Lines} */ {file, first}) => file + ":" + first;

// Returns, for each line, the lines of its function: neighbouring lines of a file with the same name of the function.
function functionsOf(/** @type {Lines[]} */ lines) {
  const known = new Map();
  for (const {file, first, own} of lines) known.set(`${file}:${first}`, {file, first, own});
  const sorted = [...known.values()].sort((a, b) => (a.file < b.file ? -1 : a.file > b.file ? 1 : a.first - b.first));
  let at = null;
  const functions = new Map();
  for (const {file, first, own} of sorted) {
    if (!at || at.file !== file || at.own !== own) at = {file, own, first, last: first};
    at.last = first, functions.set(`${file}:${first}`, at);
  }
  return lines.map(({file, first, backward}) => {
    const of = functions.get(`${file}:${first}`);
    return {...of, at: first, backward, key: `${file}:${of.first}` + (backward ? " gradient" : "")};
  });
}

class LineGrouping {
  /** @param {RecordedGraph} g @param {Method[]} methods @param {Lines[]} lines of each method
   * @param {number} few maximum number of nodes of a group that is joined with a user of another line
   * @param {boolean} joinsAlike whether the groups of one line and one depth are one group */
  constructor(g, methods, lines, few, joinsAlike) {
    this.g = g, this.few = few, this.order = g.nodesOf(g.ast);
    /** @type {Map<number, Lines>} */ this.lineOf = new Map();
    /** @type {Map<number, string>} */ this.names = new Map();
    // by node; -1: no line, but nodes below it have groups
    /** @type {Map<number, number>} */ this.groupOf = new Map();
    /** @type {number[]} */ this.parent = [];  // by group, the group with which it is joined; itself: none
    methods.forEach(({name, nodes}, i) => {
      for (const k of nodes) this.lineOf.set(this.order[k], lines[i]), this.names.set(this.order[k], name);
    });
    this.#groupConnected();
    if (joinsAlike) this.#joinSameLines();
    this.#joinSmallGroups();
  }
  root(k) {
    while (this.parent[k] !== k) k = this.parent[k] = this.parent[this.parent[k]];
    return k;
  }
  // Groups connected nodes of one line and one depth. A change of the line makes a node one deeper, so no path leaves a
  // group and comes back.
  #groupConnected() {
    const {g, lineOf, groupOf, parent} = this, depths = new Map();
    this.depth = [];
    for (const n of this.order) {
      const sources = Array.from(g.sourcesOf(n)).filter((s) => groupOf.has(s));
      if (!lineOf.has(n) && n !== g.ast) {  // a node such as an ASSIGN: it gets the line of a source
        const of = sources.filter((s) => lineOf.has(s)).pop();
        if (of !== undefined) lineOf.set(n, lineOf.get(of));
      }
      const line = lineOf.get(n), isSame = (s) => line !== undefined && isInRun(lineOf.get(s), line);
      const depth = Math.max(0, ...sources.map((s) => depths.get(s) + (isSame(s) ? 0 : 1)));
      depths.set(n, depth);
      if (!line && sources.length) groupOf.set(n, -1);
      if (!line) continue;
      const joined = sources.filter((s) => isSame(s) && depths.get(s) === depth).map((s) => this.root(groupOf.get(s)));
      const group = joined.length ? Math.min(...joined) : parent.push(parent.length) - 1;
      for (const k of joined) parent[k] = group;
      this.depth[group] = depth, groupOf.set(n, group);
    }
  }
  // Joins the groups of one line and one depth, such as the gradients of several weights. No path leads from one to
  // another.
  #joinSameLines() {
    const first = new Map();
    for (const [n, group] of this.groupOf) {
      if (group < 0) continue;
      const of = this.root(group), alike = `${this.depth[of]} ${this.lineOf.get(n).key}`;
      if (first.has(alike)) this.parent[of] = this.root(first.get(alike));
      else first.set(alike, of);
    }
  }
  // Orders groups so that each comes after those that it uses. @param {number} a @param {number} b
  #compare(a, b) { return this.depth[a] - this.depth[b] || a - b; }
  // Joins a group without sources with its first user if the group has few nodes, such as a weight, or is of that
  // user's line. Joins the groups of one line that have no users, such as the updates of weights. Neither makes a
  // cycle.
  #joinSmallGroups() {
    const {parent, depth} = this;
    for (let round = 0; round < kJoinRounds; round++) {
      const {users, lines, size, hasSources} = this.#describeGroups();
      for (const [group, line] of lines) {
        if (hasSources.has(group)) continue;
        const first = [...users.get(group)].sort((a, b) => this.#compare(a, b))[0];
        const isOfUser = first !== undefined && placeOf(lines.get(first)) === placeOf(line);
        if (first === undefined || size.get(group) > this.few && !isOfUser) continue;
        parent[group] = first;
      }
    }
    const {users, lines} = this.#describeGroups();
    /** @type {Map<string, number>} */ const ends = new Map();
    for (const [group, {key}] of lines) {
      if (users.get(group).size) continue;
      const end = ends.get(key) ?? group;
      ends.set(key, end), parent[group] = end, depth[end] = Math.max(depth[end], depth[group]);
    }
  }
  // Returns the users, the line and the number of nodes of each group, and the set of groups that have sources.
  #describeGroups() {
    const {g, groupOf, lineOf} = this, users = new Map(), lines = new Map(), size = new Map(), hasSources = new Set();
    /** By node of no line, the groups that it uses. @type {Map<number, Set<number>>} */ const through = new Map();
    for (const n of this.order) {
      const own = groupOf.get(n) >= 0 ? this.root(groupOf.get(n)) : -1;
      const see = (/** @type {number} */ group) => {
        if (own >= 0 && group !== own) users.get(group).add(own), hasSources.add(own);
        else if (own < 0) through.has(n) ? through.get(n).add(group) : through.set(n, new Set([group]));
      };
      if (own >= 0 && !lines.has(own)) lines.set(own, lineOf.get(n)), users.set(own, new Set()), size.set(own, 0);
      if (own >= 0) size.set(own, size.get(own) + 1);
      for (const s of g.sourcesOf(n)) {
        const group = groupOf.get(s);
        if (group >= 0) see(this.root(group));
        else if (through.has(s)) through.get(s).forEach(see);
      }
    }
    return {users, lines, size, hasSources};
  }

  /** @returns {{labels: string[], groupOf: Map<number, number>}} */
  result() {
    const {g, order, groupOf, lineOf, names} = this, shown = new Map(), out = new Map(), said = [];
    for (const n of order) {
      if (!(groupOf.get(n) >= 0)) continue;
      const group = this.root(groupOf.get(n));
      if (!shown.has(group)) shown.set(group, said.push(new Set()) - 1);
      const at = shown.get(group);
      out.set(n, at);
      if (names.has(n)) said[at].add(names.get(n));
    }
    // the label of a group has the line that occurs most often among its nodes
    const counts = said.map(() => new Map());
    for (const [n, at] of out) counts[at].set(lineOf.get(n), (counts[at].get(lineOf.get(n)) || 0) + 1);
    const labels = said.map((methods, at) => {
      const [line] = [...counts[at]].sort((a, b) => b[1] - a[1])[0], {file, first, last, own, backward} = line;
      const place = file + (first ? ":" + first + (last > first ? "\u2013" + last : "") : "");
      return place.replaceAll(" ", "\u00a0") + (backward ? " gradient of " : " ") + [...methods].join(", ")
        + (own ? ", in " + own : "");
    });
    // a node that no line made, such as a weight, belongs to the first group that uses it
    const first = new Map();  // from such a node to that group
    for (const n of [...order].reverse()) {
      const own = groupOf.get(n) >= 0 ? this.root(groupOf.get(n)) : first.get(n);
      if (own === undefined) continue;
      for (const s of g.sourcesOf(n))
        if (!groupOf.has(s) && (!first.has(s) || this.#compare(own, first.get(s)) < 0)) first.set(s, own);
    }
    for (const [n, group] of first) out.set(n, shown.get(group));
    // buffers that no line uses, such as those of the calls of a schedule
    for (const op of ["BUFFER", "PARAM"]) {
      const alone = order.filter((n) => g.opName(n) === op && !out.has(n) && !groupOf.has(n));
      if (alone.length < 2) continue;
      for (const n of alone) out.set(n, labels.length);
      labels.push(op + " of no line of the program");
    }
    return {labels, groupOf: out};
  }
}
