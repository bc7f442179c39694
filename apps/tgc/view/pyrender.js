// Makes the text of a kernel's graph, as tinygrad's pyrender does (lib/text/pyrender.cpp), for graphs whose text a
// recording omits (is_text_implied_by_reprs in lib/text/pyrender.h).
/** @typedef {import("./data.js").RecordedGraph} RecordedGraph */

const kNeverNamed = new Set(["CONST", "VCONST", "DEVICE"]);
const kAlwaysNamed = new Set(["DEFINE_GLOBAL", "LOAD", "SPECIAL", "RANGE", "CONTIGUOUS", "VECTORIZE", "WHERE", "END",
  "ASSIGN"]);
const kMethods = new Set(["SINK", "END", "STORE", "LOAD", "UNIQUE", "SQRT", "INDEX", "REDUCE", "AFTER", "THREEFRY",
  "WHERE", "RECIPROCAL", "EXP2", "LOG2", "SIN", "CONTIGUOUS", "BARRIER", "ASSIGN", "DETACH"]);
/** @type {Map<string, [string, number]>} the sign and the precedence of an op */
const kInfix = new Map([["ADD", ["+", 2]], ["IDIV", ["//", 1]], ["MOD", ["%", 1]], ["SHL", ["<<", 3]],
  ["SHR", [">>", 3]], ["MUL", ["*", 1]], ["CMPLT", ["<", 99]], ["CMPNE", ["!=", 99]], ["AND", ["&", 4]],
  ["OR", ["|", 6]], ["XOR", ["^", 5]]]);
const kNoInfix = ["", 99];

// Returns for each node of the table whether it has a line of its own.
function namedNodes(g, root, order) {
  const users = new Int32Array(g.count), named = new Uint8Array(g.count);
  named[root] = 1;
  for (const n of order)
    for (let e = g.first[n]; e < g.first[n + 1]; e++) users[g.source[e]]++;
  for (const n of order) {
    const op = g.opName(n), sources = g.sourcesOf(n);
    if (op === "SINK") for (const s of sources) named[s] = 1;
    if (op === "STORE" && sources.length > 1) named[sources[1]] = 1;
    if ((op === "REDUCE" || op === "REDUCE_AXIS") && sources.length) named[sources[0]] = 1;
    if ((users[n] !== 1 || kAlwaysNamed.has(op)) && !kNeverNamed.has(op)) named[n] = 1;
  }
  return named;
}

/** Returns the text of the graph below `root`. `nodes`: pairs of a node and its line.
 * @param {RecordedGraph} g @param {number} root @returns {{lines: string[], nodes: number[]}} */
export function pyrender(g, root) {
  const order = g.nodesOf(root), named = namedNodes(g, root, order);
  const lines = [], nodes = [], texts = new Array(g.count);  // texts: the name of a node, or its expression
  const dtype = (n) => g.strings[g.dtype[n]] || "dtypes.void", text = (n) => texts[n];
  const tuple = (list) => `(${list.join(", ")}${list.length === 1 ? "," : ""})`;
  const infixOf = (n) => kInfix.get(g.opName(n)) || kNoInfix;
  const operand = (n, isBare) => {
    const isInfix = !named[n] && kInfix.has(g.opName(n)) && g.sourcesOf(n).length === 2 && !g.tag[n];
    return isBare && isInfix ? text(n).slice(1, -1) : text(n);
  };
  const index = (n, sources) => {
    const more = sources.length > 2 ? text(sources[2]) + ", " : "";
    const last = dtype(sources[0]) !== dtype(n) ? `dtype=${dtype(n)})` : "ptr=True)";
    return `${text(sources[0])}.index(${text(sources[1])}, ${more}${last}`;
  };
  const method = (n, op, sources) => {
    const all = Array.from(sources.subarray(1), text);
    if (g.arg[n]) all.push("arg=" + g.argText(n));
    return `${sources.length ? text(sources[0]) : "UOp"}.${op.toLowerCase()}(${all.join(", ")})`;
  };
  const expression = (n) => {
    const op = g.opName(n), sources = g.sourcesOf(n), arg = g.argText(n), [sign, place] = infixOf(n);
    const isOfConst = sources.length && g.opName(sources[0]) === "CONST";
    if (sign && sources.length === 2) {
      const strip = place !== 99, [a, b] = sources;
      return `(${operand(a, strip && infixOf(a)[1] <= place)}${sign}${operand(b, strip && infixOf(b)[1] < place)})`;
    }
    if (op === "CONST") return `UOp.const(${dtype(n)}, ${arg})`;
    if (op === "DEFINE_VAR" && !sources.length) {
      const ofIndex = dtype(n) === "dtypes.index";
      return `UOp.variable(${arg.slice(1, -1).replace(/'/g, '"')}${ofIndex ? "" : ", dtype=" + dtype(n)})`;
    }
    if (op === "CAST" || op === "BITCAST") return `${text(sources[0])}.${op.toLowerCase()}(${dtype(n)})`;
    if (op === "SPECIAL" && isOfConst && sources.length === 1)
      return `UOp.special(${g.argText(sources[0])}, ${arg}, dtype=${dtype(n)})`;
    if (op === "RANGE" && isOfConst) {
      const more = sources.length > 1 ? ", src=" + tuple(Array.from(sources.subarray(1), text)) : "";
      const own = dtype(n) === "dtypes.index" ? "" : ", dtype=" + dtype(n);
      return `UOp.range(${g.argText(sources[0])}, ${arg.slice(1, -1)}${more}${own})`;
    }
    if (op === "INDEX" && sources.length >= 2 && dtype(sources[0]).replace(/^(.*)\.ptr\(.*$/, "$1") !== dtype(n))
      return index(n, sources);
    if (kMethods.has(op)) return method(n, op, sources);
    return `UOp(Ops.${op}, ${dtype(n)}, ${tuple(Array.from(sources, text))}${g.arg[n] ? ", " + arg : ""})`;
  };
  order.forEach((n, i) => {
    const tag = g.tag[n] ? `.rtag(${g.strings[g.tag[n]]})` : "", own = expression(n);
    texts[n] = own + tag;
    if (!named[n]) return;
    const isBare = !tag && kInfix.has(g.opName(n)) && g.sourcesOf(n).length === 2, name = n === root ? "ast" : "c" + i;
    texts[n] = name, nodes.push(n, lines.length);
    lines.push(`${name} = ${isBare ? own.slice(1, -1) : own + tag}`);
  });
  return {lines, nodes};
}
