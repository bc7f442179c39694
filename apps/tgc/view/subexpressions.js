// Finds the part of a line that shows a node: parses the line, which is Python or C, and matches its expression with
// the node of the line and the nodes below it.
import {operatorSign} from "./expressions.js";
/** @typedef {import("./data.js").RecordedGraph} RecordedGraph */
/** @typedef {import("./texts.js").Text} Text */
/** A part of a line. `name` is, for example, an identifier, a number, an operator or the name of a called function.
 * @typedef {{from: number, to: number, kind: "leaf" | "call" | "binary" | "wrap" | "choice" | "list", name: string,
 *   kids: Part[]}} Part */

const kTokenPattern =
  /\s+|[A-Za-z_]\w*|\d[\w.]*(?:e[-+]\d+f?)?|"[^"]*"|'[^']*'|<<|>>|==|!=|<=|>=|&&|\|\||\/\/|\*\*|./gy;
const kPrecedence = {"||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7,
  "<<": 8,
  ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "//": 10, "%": 10, "**": 11};
const kPythonPrecedence = {...kPrecedence, "|": 6.3, "^": 6.4, "&": 6.5, "==": 6, "!=": 6, "<": 6, ">": 6, "<=": 6,
  ">=": 6};
const kMostTries = 4000;  // limit on comparisons of parts with nodes, for each line

class Parser {
  /** @param {string} text @param {boolean} isPython */
  constructor(text, isPython) {
    this.precedence = isPython ? kPythonPrecedence : kPrecedence, this.at = 0;
    /** @type {{text: string, from: number, to: number}[]} */ this.tokens = [];
    for (const m of text.matchAll(kTokenPattern))
      if (m[0].trim()) this.tokens.push({text: m[0], from: m.index, to: m.index + m[0].length});
  }
  peek(ahead = 0) { return (this.tokens[this.at + ahead] || {text: ""}).text; }
  next() { return this.tokens[this.at++] || {text: "", from: this.end(), to: this.end()}; }
  end() {
    const last = this.tokens[Math.min(this.at, this.tokens.length) - 1];
    return last ? last.to : 0;
  }

  /** @returns {Part} */
  expression(least = 0) {
    let left = this.unary();
    for (;;) {
      const sign = this.peek(), tight = this.precedence[sign];
      if (sign === "?" && least === 0) {
        this.next();
        const yes = this.expression();
        if (this.peek() === ":") this.next();
        const no = this.expression();
        left = {from: left.from, to: no.to, kind: "choice", name: "?", kids: [left, yes, no]};
      } else if (tight !== undefined && tight >= least) {
        this.next();
        const right = this.expression(tight + 0.05);
        left = {from: left.from, to: right.to, kind: "binary", name: sign, kids: [left, right]};
      } else return left;
    }
  }
  /** @returns {Part} */
  unary() {
    const {text, from} = this.tokens[this.at] || {text: "", from: 0};
    if (!/^[-!~*&+]$/.test(text)) return this.postfix();
    this.next();
    const kid = this.unary();
    return {from, to: kid.to, kind: "wrap", name: text, kids: [kid]};
  }
  /** @returns {Part} */
  postfix() {
    if (/^[)\]},:]$/.test(this.peek())) return {from: this.end(), to: this.end(), kind: "leaf", name: "", kids: []};
    const first = this.next(), {from} = first;
    /** @type {Part} */ let out = {from, to: first.to, kind: "leaf", name: first.text, kids: []};
    if (first.text === "(") {
      const inside = this.argumentList(")"), isCast = inside.length === 1 && this.#isType(inside[0])
        && /^[\w({*'"]/.test(this.peek());
      if (isCast) {
        const kid = this.peek() === "{" ? this.postfix() : this.unary();
        return {from, to: kid.to, kind: "wrap", name: "cast", kids: [kid]};
      }
      out = {from, to: this.end(), kind: inside.length === 1 ? "wrap" : "list", name: "(", kids: inside};
    } else if (first.text === "{") out = {from, to: this.end(), kind: "list", name: "{", kids: this.argumentList("}")};
    for (;;) {
      const sign = this.peek();
      if (sign === ".") {
        this.next();
        out = {from, to: this.next().to, kind: "wrap", name: "", kids: [out]};
        out.name = "." + (this.tokens[this.at - 1] || {text: ""}).text;
      } else if (sign === "(" || sign === "[") {
        this.next();
        const args = this.argumentList(sign === "(" ? ")" : "]"), isMethod = out.kind === "wrap"
          && out.name.startsWith(".");
        const name = sign === "[" ? "[" : isMethod ? out.name.slice(1) : out.name;
        out = {from, to: this.end(), kind: "call", name, kids: isMethod ? [...out.kids, ...args] : args};
      } else return {...out, to: Math.max(out.to, this.end())};
    }
  }
  argumentList(close) {
    const out = [];
    while (this.at < this.tokens.length && this.peek() !== close) {
      if (/^[A-Za-z_]/.test(this.peek()) && this.peek(1) === "=") this.at += 2;
      out.push(this.expression());
      if (this.peek() === ",") this.next();
      else if (this.peek() !== close) this.next();
    }
    this.next();
    return out;
  }
  #isType(part) {
    if (part.kind === "leaf") return /^[A-Za-z_]\w*$/.test(part.name) && !/\d$|^[a-z]+\d+_/.test(part.name)
      || /^(u?int|u?char|u?short|u?long|half|float|double)\d+$/.test(part.name);
    return part.kind === "binary" && part.name === "*" && part.kids[1].name === "" && this.#isType(part.kids[0]);
  }
}

/** Parses a line. Returns what follows its "=" (without one, the whole line), after a left side that begins with "*" or
 *  "(", such as the address of a store. @param {string} line @param {boolean} isPython @returns {Part[]} */
function parseParts(line, isPython) {
  const parser = new Parser(line.replace(/;\s*$/, ""), isPython), out = [];
  let depth = 0, equals = -1;
  parser.tokens.forEach(({text}, i) => {
    if (/^[([{]$/.test(text)) depth++;
    else if (/^[)\]}]$/.test(text)) depth--;
    else if (text === "=" && !depth && equals < 0) equals = i;
  });
  if (equals > 0 && /^[*(]/.test(parser.peek())) out.push(parser.expression());
  parser.at = equals + 1;
  out.push(parser.expression());
  return out;
}

const kOpsByCallName = {index: ["INDEX"], load: ["LOAD"], store: ["STORE"], cast: ["CAST", "BITCAST"], where: ["WHERE"],
  "*": ["LOAD", "INDEX"], "[": ["INDEX", "GEP"], r: ["REDUCE_AXIS"], UOp: [], sqrt: ["SQRT"], exp2: ["EXP2"]};

function mayShowOp(part, op) {
  const {kind, name} = part;
  if (kind === "binary") {
    return operatorSign(op) === name || ["/IDIV", "/FDIV", "+INDEX", "-ADD"].includes(name + op);
  }
  if (kind === "choice") return op === "WHERE" || op === "LOAD";
  if (kind === "list") return op === "VECTORIZE";
  if (name.startsWith(".")) return op === "GEP";
  if (name === "cast") return /CAST|VECTORIZE/.test(op);
  if (kind === "wrap") return name === "-" && op === "NEG" || name === "*" && /^(LOAD|INDEX)$/.test(op);
  const known = kOpsByCallName[name];
  return (known && known.includes(op)) || name.toUpperCase() === op || /^make_/.test(name) && op === "VECTORIZE";
}

/** Returns, for each node that a part of a line shows, where that part begins and ends.
 * @param {RecordedGraph} g @param {Text} text @param {number} line @returns {Map<number, [number, number]>} */
export function spansOf(g, text, line) {
  text.spans = text.spans || new Map();
  if (!text.spans.has(line)) text.spans.set(line, findSpans(g, text, line));
  return text.spans.get(line);
}

function findSpans(g, text, line) {
  const out = new Map(), own = text.nodesOf.get(line);
  if (!own || !/^(pyrender|source)$/.test(text.kind) || text.lines[line].length > 3000) return out;
  let left = kMostTries;
  /** @param {Part} part @param {number} n @returns {boolean} */
  const match = (part, n) => {
    if (left-- < 0) return false;
    const op = g.opName(n), isNamed = text.linesOf.has(n) && !own.includes(n);
    if (part.kind === "leaf" && isNamed) return /^[A-Za-z_]/.test(part.name);
    if (part.kind === "leaf") return isConstant(n) && /^\d/.test(part.name) && put(part, n);
    if (isNamed) return part.kind === "wrap" && match(part.kids[0], n);
    if (part.kind !== "call" || part.name !== "const")
      if (mayShowOp(part, op) && put(part, n)) {
        const free = [...part.kids];
        for (const s of g.sourcesOf(n)) {
          const at = free.findIndex((kid) => match(kid, s));
          if (at >= 0) free.splice(at, 1);
        }
        return true;
      }
    if (part.kind === "call" && part.name === "const") return op === "CONST" && put(part, n);
    if (part.kind === "wrap") return match(part.kids[0], n);
    // an op that the line does not show, such as a LOAD or a CAST
    const isUnseen = /^(LOAD|CAST|AFTER|NOOP|STORE)$/.test(op) && g.first[n] < g.first[n + 1];
    return isUnseen && match(part, g.source[g.first[n]]);
  };
  const isConstant = (n) => /^V?CONST$/.test(g.opName(n));
  const put = ({from, to}, n) => {
    if (!out.has(n)) out.set(n, /** @type {[number, number]} */ ([from, to]));
    return true;
  };
  for (const n of own) {
    const parts = parseParts(text.lines[line], text.kind === "pyrender"), isStore = g.opName(n) === "STORE";
    if (isStore && parts.length === 2) g.sourcesOf(n).forEach((s, i) => { if (parts[i]) match(parts[i], s); });
    else match(parts[parts.length - 1], n);
    out.delete(n);  // its span would be the whole line
  }
  return out;
}
