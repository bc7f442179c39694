// Renders expressions as text: "r0*33+r1". Decides which nodes are index arithmetic, which a drawing can show as
// text in the boxes that use it.
import {isValue, valueText} from "./values.js";
/** @typedef {import("./data.js").RecordedGraph} RecordedGraph */

const kMostText = 240;
const kTightest = 20;  // binds more tightly than all operators

/** By op, the text of the operator, and how tightly it binds. */
const kOperators = {MUL: ["*", 10], IDIV: ["//", 10], CDIV: ["//", 10], FLOORDIV: ["//", 10], FDIV: ["/", 10],
  MOD: ["%", 10], CMOD: ["%", 10], FLOORMOD: ["%", 10], ADD: ["+", 9], SUB: ["-", 9],
  SHL: ["<<", 8], SHR: [">>", 8], AND: ["&", 7], XOR: ["^", 6], OR: ["|", 5], CMPLT: ["<", 4], CMPNE: ["!=", 4],
  CMPEQ: ["==", 4]};
const kIndexNames = new Set(["RANGE", "SPECIAL", "DEFINE_VAR"]);
const kArithmeticOps = new Set(["CAST", "WHERE", "MAX", "NEG", "VECTORIZE", "STACK", "GEP"]);
const kIndexDtypes = new Set(["index", "weakint"]);
const kIntegers = /^(bool|int|long|uint|ulong|short|ushort|char|uchar|int\d+|uint\d+|u?longlong|weakint|index)$/;

/** The sign of a binary op; "": it has none. @param {string} op */
export function operatorSign(op) { return op in kOperators ? kOperators[op][0] : ""; }

/** Returns the name of a node in expressions: "r0" for a RANGE, "data0" for a buffer; "": it has none.
 * @param {RecordedGraph} g */
export function nameOf(g, n) {
  const op = g.opName(n), arg = g.argText(n);
  if (op === "RANGE") {
    const axes = arg.split("AxisType")[0].match(/-?\d+/g) || ["?"];
    return "r" + axes.map((axis) => axis.replace("-", "m")).join("_");
  }
  if (op === "SPECIAL") return (/'([^']*)'/.exec(arg) || ["", arg])[1];
  if (op === "DEFINE_VAR") return (/'([^']*)'/.exec(arg) || ["", arg])[1];
  if (op === "DEFINE_GLOBAL") return "data" + arg;
  if (op === "PARAM") return "data" + (/^(?:ParamArg\()?(\d+)/.exec(arg) || ["", "?"])[1];
  if (op === "DEFINE_LOCAL" || op === "DEFINE_REG") return (op === "DEFINE_REG" ? "acc" : "local") + arg;
  return "";
}

/** Returns the axis type of a RANGE: "LOOP". @param {RecordedGraph} g */
export function axisTypeOf(g, n) { return (/AxisType\.(\w+)/.exec(g.argText(n)) || ["", ""])[1]; }

/** Returns the text of an expression. A node that has a name (nameOf) is shown by it. `within`: how tightly the
 * operator around the expression binds. `inline`: gives the sources, and which of these are text; others are shown by
 * number. If `inline.isExact` is set, brackets show the order of associative operations.
 * @param {RecordedGraph} g @param {number} key @param {number} within @param {InlineNodes | null} inline @returns
 * {string} */
export function expressionOf(g, key, within = 0, inline = null) {
  const n = key % g.count, op = g.opName(n);
  if (isValue(g, n)) return valueText(g, n);
  const name = nameOf(g, n);
  if (name) return name;
  const s = inline ? inline.sourcesOf(key) : g.sourcesOf(n);
  const of = (i, tight = 0) => {
    const isBox = inline && !nameOf(g, s[i] % g.count) && !inline.has(s[i] % g.count);
    return isBox ? "#" + g.number[s[i] % g.count] : expressionOf(g, s[i], tight, inline);
  };
  const put = (text, tight) => (tight < within ? "(" + text + ")" : text);
  const constant = (i) => (s.length > i && g.opName(s[i] % g.count) === "CONST" ? g.argText(s[i] % g.count) : "");
  if (s.length === 2 && op in kOperators) {
    const [sign, tight] = kOperators[op];
    if (op === "CMPNE" && constant(1) === "True") return put("!" + of(0, kTightest), kTightest - 1);
    if (op === "MUL" && constant(1) === "-1") return put("-" + of(0, tight), tight);
    const isSame = /^(ADD|MUL|AND|OR|XOR)$/.test(op) && g.opName(s[1] % g.count) === op;  // a+(b+c)
    const isLoose = isSame && !(inline && inline.isExact);
    const right = of(1, isLoose ? tight : tight + 1);
    if (op === "ADD" && right.startsWith("-")) return put(of(0, tight) + right, tight);
    return put(of(0, tight) + sign + right, tight);
  }
  if (op === "CAST" && s.length) {
    const from = scalar(g, s[0] % g.count), to = scalar(g, n).replace(/^dtypes\./, "");
    const plainCast = kIndexDtypes.has(to) || kIndexDtypes.has(from) && kIntegers.test(to);
    return plainCast ? of(0, within) : "(" + g.dtypeName(n) + ")" + of(0, kTightest);
  }
  if (op === "WHERE" && s.length === 3) {
    if (constant(2) === "Invalid") return put(of(1, 2) + " if " + of(0, 2), 1);
    return put(of(0, 2) + " ? " + of(1, 1) + " : " + of(2, 1), 1);
  }
  if (op === "GEP" && s.length === 1) return of(0, kTightest) + "." + g.argText(n).replace(/[(), ]/g, "");
  if (op === "NEG" && s.length === 1) return put("-" + of(0, kTightest), 10);
  const all = Array.from(s, (_, i) => of(i)).join(", ");
  return op === "VECTORIZE" || op === "STACK" ? "(" + all + ")" : op.toLowerCase() + "(" + all + ")";
}

const scalar = (g, n) => g.dtypeName(n).replace(/\.vec\(\d+\)/, "");

/** For each recording: whether all of it was read, and which nodes are index arithmetic.
 * @type {WeakMap<RecordedGraph, {isWhole: boolean, is: Uint8Array}>} */
const kIndexArithmetic = new WeakMap();

// Marks ranges and variables, and integer arithmetic on these and on constants whose text is short. Such arithmetic
// must have an index dtype, be a bool that is computed from indices, or be a part of an index of an INDEX.
function indexArithmetic(/** @type {RecordedGraph} */ g) {
  const known = kIndexArithmetic.get(g), isWhole = !g.unread.packed;
  if (known && known.isWhole === isWhole && known.is.length === g.count) return known.is;
  const {count} = g, is = new Uint8Array(count), length = new Uint16Array(count), used = new Uint8Array(count);
  const kName = 1, kArithmetic = 2, kIndex = 3, isInteger = new Map(), ofIndices = new Map();
  const kinds = g.ops.map((op) => {
    if (kIndexNames.has(op)) return kName;
    return op in kOperators || kArithmeticOps.has(op) ? kArithmetic : op === "INDEX" ? kIndex : 0;
  });
  for (const dtype of new Set(g.dtype)) {
    const name = g.strings[dtype].replace(/^dtypes\./, "").replace(/\.vec\(\d+\)/, "");
    isInteger.set(dtype, kIntegers.test(name)), ofIndices.set(dtype, kIndexDtypes.has(name));
  }
  const kText = 1, kOfIndices = 2;  // kOfIndices: its dtype is that of indices, or it compares such nodes
  for (let n = 0; n < count; n++) {
    const kind = kinds[g.op[n]];
    if (kind === kName) is[n] = kText | kOfIndices, length[n] = 4;
    else if (kind === kArithmetic && isInteger.get(g.dtype[n])) {
      let total = 3, isText = g.first[n + 1] > g.first[n], some = ofIndices.get(g.dtype[n]);
      for (let e = g.first[n]; e < g.first[n + 1]; e++) {
        const s = g.source[e];
        if (is[s]) total += length[s], some ||= scalar(g, n) === "bool" && Boolean(is[s] & kOfIndices);
        else if (isValue(g, s)) total += Math.min(valueText(g, s).length, 100);
        else isText = false;
      }
      if (isText && total <= kMostText) is[n] = kText | (some ? kOfIndices : 0), length[n] = total;
    }
  }
  for (let n = count - 1; n >= 0; n--)
    if (kinds[g.op[n]] === kIndex) for (let e = g.first[n] + 1; e < g.first[n + 1]; e++) used[g.source[e]] = 1;
    else if (used[n] && is[n]) for (let e = g.first[n]; e < g.first[n + 1]; e++) used[g.source[e]] = 1;
  for (let n = 0; n < count; n++) if (!(is[n] & kOfIndices) && !(is[n] && used[n])) is[n] = 0;
  kIndexArithmetic.set(g, {isWhole, is});
  return is;
}

/** Whether a node is index arithmetic. @param {RecordedGraph} g @param {number} n */
export function isArithmetic(g, n) { return indexArithmetic(g)[n] > 0; }

/** Decides which nodes are text in the boxes of their users: values, and index arithmetic unless it is to be shown. */
export class InlineNodes {
  /** `hides`: index arithmetic is text. `open`: the nodes that have boxes all the same. For a rewrite, `drawn`: the
   * sources of drawn nodes; `stale`: the boxes that must not be reused, because their text differs from the recorded
   * graph's; `edited`: those whose text the rewrite changed; `more`: lines that say how.
   * @param {RecordedGraph} g @param {boolean} hides
   * @param {{open?: Set<number>, drawn?: import("./replay.js").DrawnSources | null, edited?: Set<number>,
   *   stale?: Set<number>, more?: string[]}} how */
  constructor(g, hides, {open = new Set(), drawn = null, edited = new Set(), stale = new Set(), more = []} = {}) {
    Object.assign(this, {g, hides, open, drawn, edited, stale, more});
    this.is = hides ? indexArithmetic(g) : null;
  }

  /** The sources of a drawn node, by key. @param {number} key */
  sourcesOf(key) {
    return this.drawn && this.drawn.has(key) ? this.drawn.get(key) : this.g.sourceList(key % this.g.count);
  }

  /** Whether a node is text in its users. @param {number} n */
  has(n) {
    if (isValue(this.g, n)) return true;
    return this.is !== null && this.is[n] > 0 && !this.open.has(n) && this.g.opName(n) !== "RANGE";
  }
  /** Whether a source of a node is text in the node's box. A RANGE has a box, but an INDEX names it in its expression.
   * @param {number} n @param {number} slot @param {number} source */
  isText(n, slot, source) {
    if (this.has(source)) return true;
    return this.hides && slot > 0 && !this.open.has(source) && this.g.opName(n) === "INDEX"
      && this.g.opName(source) === "RANGE";
  }

  /** Calls `act` for each node that is text in the box of a node. @param {number} n @param {(s: number) => void} act */
  forEach(n, act) {
    const seen = new Set(), stack = Array.from(this.g.sourcesOf(n));
    while (stack.length) {
      const s = stack.pop();
      if (seen.has(s) || !this.has(s)) continue;
      seen.add(s), act(s);
      if (!isValue(this.g, s)) for (const t of this.g.sourcesOf(s)) stack.push(t);
    }
  }

  /** Returns an InlineNodes with boxes for index arithmetic that differs between two graphs, and for index arithmetic
   * that uses it.
   * @param {import("./replay.js").Shown[]} graphs @param {(n: number) => boolean} differs */
  openDifferences(graphs, differs) {
    if (!this.hides) return this;
    const {g} = this, open = new Set();
    for (const {order} of graphs)
      for (const n of order) {
        const isHidden = this.is[n] && g.opName(n) !== "RANGE";
        if (isHidden && (differs(n) || g.sourcesOf(n).some((s) => open.has(s)))) open.add(n);
      }
    return open.size ? new InlineNodes(g, true, {open}) : this;
  }

  /** Returns the InlineNodes of the graph after a rewrite. `more`: lines that say what the rewrite changed, for boxes
   * whose text it changed. @param {import("./replay.js").Shown} was @param {import("./replay.js").Shown} is
   * @param {string[]} more */
  afterRewrite(was, is, more) {
    if (!this.hides) return this;
    const {g} = this, drawn = is.sources, changed = new Set(), replaced = new Set(), edited = new Set();
    for (const key of is.order) {
      const n = key % g.count, list = drawn.get(key), isHidden = this.has(n) && !isValue(g, n);
      const isIn = (set) => list.some((s, slot) => set.has(s) && this.isText(n, slot, s % g.count));
      const isNew = () => !was.sources.has(key) || was.sources.get(key).some((s, i) => s !== list[i]);
      const isReplaced = () => list.some((s, i) => s % g.count !== g.source[g.first[n] + i]);
      if (isIn(changed) || isHidden && isNew()) (isHidden ? changed : edited).add(key);
      if (isIn(replaced) || isHidden && isReplaced()) replaced.add(key);
    }
    const stale = new Set([...edited, ...replaced]);
    return stale.size ? new InlineNodes(g, true, {drawn, edited, stale, more}) : this;
  }
}

/** Breaks a text, best after operators, into at most `most` lines of at most `width` characters, except the last.
 * @param {string} text @param {number} width @param {number} most @returns {string[]} */
export function wrapText(text, width, most) {
  const out = [];
  while (text.length > width && out.length < most - 1) {
    const at = Math.max(...[...text.slice(0, width).matchAll(/[-+*/%&|<>?:,= ](?=[^-+*/%&|<>?:,= ])/g)]
      .map((m) => m.index + 1), 0);
    const end = at > width / 3 ? at : width;
    out.push(text.slice(0, end)), text = text.slice(end);
  }
  out.push(text);
  return out;
}
