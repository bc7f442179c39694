// Finds which node each line of a recorded source shows. Renderers print the linear list in order: a line for each
// loop, store and named value. A line shows, of the next nodes of its kind, the one whose names and constants differ
// least from the line's.
/** @typedef {import("./data.js").RecordedGraph} RecordedGraph */
/** A row of the linear list. `sources`: numbers of rows; a constant is given by its value, as text.
 * @typedef {{op: string, dtype: string, sources: (number | string)[], arg: string, node: number}} Row */

const kListRow = /^\s*(\d+) Ops\.(\w+)\s*:.*?(dtypes\..*?)\s+(\[(?:\d+|'[^']*'|"[^"]*"|, )*\])\s+(.*)$/;
// "float4 val0 = ...;", "var<workgroup> temp0: array<f32,16>;", "float acc0[1];": a type or "var" precedes a new name
const kNewName = /^[A-Za-z_][\w:<>,]*[\s*&]/;
const kDefinition = new RegExp(/^(?:(?:[A-Za-z_][\w:<>,]*|__align__\(\d+\)|[*&])[\s*&]+)*?/.source
  + /([A-Za-z_]\w*)(\[.*?\])?(?::[\w<>,]+)?\s*(?:=(?!=)(.*))?;/.source);
const kMostLeaves = 200;              // limit on the nodes that are searched for names and constants
const kMostPassed = 12, kPassed = 2;  // number of rows to try for a line, and the cost of each that it skips
const kComments = /\/\*.*?\*\/|\/\/ .*$|__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)/g;
const kBlockOps = new Set(["RANGE", "END", "ENDRANGE", "IF", "ENDIF", "STORE", "ASSIGN", "BARRIER"]);
const kPlaces = ["DEFINE_LOCAL", "DEFINE_REG", "DEFINE_ACC", "BUFFER"];
const kBuffers = new Set(["PARAM", "DEFINE_GLOBAL", "DEFINE_VAR", ...kPlaces]);
const kStores = new Set(["STORE", "ASSIGN", "CUSTOM"]);
const kWords = /\.[xyzw]\b|[A-Za-z_]\w*|(?<![\w.])(?:0x[\da-fA-F]+|\d+\.?\d*(?:e[-+]?\d+)?)/g;
const kInside = /^(INDEX|SHRINK|GEP)$/;
const kUnnamed = new Set([...kBlockOps, ...kBuffers, "SPECIAL", "CONST", "VCONST", "SINK", "GROUP", "NOOP", "AFTER",
  "LINEAR", "SOURCE", "BINARY", "PROGRAM"]);

/** Parses the text of a linear list. @param {string[]} lines @returns {Row[]} */
export function parseRows(lines) {
  const out = [];
  for (const line of lines) {
    const [, number, op, dtype, list, arg] = kListRow.exec(line) || [];
    if (number === undefined || Number(number) !== out.length) continue;
    const sources = [...list.matchAll(/(\d+)(?=[,\]])|'([^']*)'|"([^"]*)"/g)]
      .map(([, row, one, two]) => (row !== undefined ? Number(row) : one ?? two));
    out.push({op, dtype, sources, arg, node: -1});
  }
  return out;
}

/** Finds the node of each row: the sources of the graph's LINEAR node, else the nodes with the row's op, dtype and
 * sources. @param {RecordedGraph} g @param {number} root @param {Row[]} rows */
export function findNodes(g, root, rows) {
  const nodes = g.nodesOf(root), isSame = (n, row) => g.opName(n) === row.op;
  const linear = nodes.find((n) => g.opName(n) === "LINEAR" && g.sourcesOf(n).length === rows.length
    && rows.every((row, i) => isSame(g.sourcesOf(n)[i], row)));
  if (linear !== undefined) return rows.forEach((row, i) => { row.node = g.sourcesOf(linear)[i]; });
  const groups = new Map(), arg = (text) => text.replace(/Ops\.|dtypes\.|\s|'/g, "");
  const key = (op, dtype, sources) => [op, dtype.replace(/^dtypes\./, ""), ...sources].join("|");
  for (const n of nodes) {
    const k = key(g.opName(n), g.dtypeName(n) || "void", g.sourcesOf(n));
    groups.has(k) ? groups.get(k).push(n) : groups.set(k, [n]);
  }
  for (const row of rows) {
    const sources = row.sources.map((s) => (typeof s === "number" ? rows[s] : valueBefore(rows, row, s)) || row);
    const free = groups.get(key(row.op, row.dtype, sources.map((s) => s.node))) || [];
    const same = free.findIndex((n) => arg(g.argText(n) || "None") === arg(row.arg));
    if (free.length) [row.node] = free.splice(Math.max(same, 0), 1);
  }
}
// Returns the last row before `row` of the constant that `row` names by its value; null: none.
function valueBefore(rows, row, value) {
  const isIt = (r) => /CONST$/.test(r.op) && r.arg === value, end = rows.indexOf(row);
  for (let i = end - 1; i >= 0; i--) if (isIt(rows[i])) return rows[i];
  return null;
}

/** Returns pairs of a row and a line of the source, both from 0.
 * @param {Row[]} rows @param {string[]} lines @returns {[number, number][]} */
export function linesOfRows(rows, lines) { return new LineFinder(rows, lines).findPairs(); }

class LineFinder {
  constructor(rows, lines) {
    this.rows = rows, this.lines = lines, this.out = [], this.next = 0, this.open = [];
    /** @type {Map<number, string>} */ this.nameOf = new Map();
    this.names = new Set();
    this.uses = new Int32Array(rows.length);
    for (const {sources} of rows) for (const s of sources) if (typeof s === "number") this.uses[s]++;
  }

  findPairs() {
    const {lines} = this, isEnd = /[{)]\s*(?:\[\[.*)?$/;
    const isHead = (line) => /\bdata\d/.test(line) && isEnd.test(line.replace(kComments, ""));
    let body = lines.findIndex((line) => isHead(line) && /\(/.test(line) && !/;\s*$/.test(line));
    if (body < 0) body = lines.findIndex((line) => /^@compute.*\{/.test(line));
    if (body < 0) return this.out;
    lines.slice(0, body + 1).forEach((line, i) => {
      const isBinding = /^@group|^var</.test(line.trim());
      if (i === body || isBinding) this.#linkParameters(line, i);
    });
    let depth = 0, isIn = false;
    for (; body < lines.length; body++) {
      const text = lines[body].replace(kComments, "").trim();
      if (isIn && text !== "{" && text) this.#linkLine(text, body);
      isIn ||= /\{$/.test(text) || text === "{";
      depth += (text.match(/\{/g) || []).length - (text.match(/\}/g) || []).length;
      if (depth <= 0 && /\}/.test(text)) break;
    }
    return this.out;
  }
  #addPair(row, line, name = "") {
    this.out.push([row, line]);
    if (name) this.nameOf.set(row, name), this.names.add(name);
  }
  #linkParameters(line, at) {
    const words = line.match(/[A-Za-z_]\w*/g) || [];
    this.rows.forEach(({op, arg}, i) => {
      if (!/^(PARAM|DEFINE_GLOBAL|DEFINE_VAR)$/.test(op) || this.nameOf.has(i)) return;
      const number = (/^(?:ParamArg\()?(\d+)/.exec(arg) || ["", ""])[1], named = /'([^']+)'/.exec(arg);
      const name = words.find((w) => named && op !== "PARAM" && w === named[1]
        || number && new RegExp("^data" + number + "(_|$)").test(w)) || words.find((w) => named && w === named[1]);
      if (name) this.#addPair(i, at, name);
    });
  }

  #linkLine(text, at) {
    if (/^\}/.test(text)) {
      const from = this.open.pop();
      this.#linkToNextRow(from === undefined ? /^SINK$/ : from < 0 ? /^ENDIF$/ : /^(END|ENDRANGE)$/, at, from);
    }
    const rest = text.replace(/^\}\s*/, "");
    const loop = /^for\s*\(.*?([A-Za-z_]\w*)(?::\s*\w+)?\s*=/.exec(rest);
    if (loop) this.open.push(this.#linkToNextRow(/^RANGE$/, at, -1, loop[1]));
    else if (/^if\s*\(/.test(rest)) this.#linkToNextRow(/^IF$/, at), /\{\s*$/.test(rest) && this.open.push(-1);
    else if (/^(barrier|__syncthreads|workgroupBarrier|threadgroup_barrier|__builtin_amdgcn_s_barrier)/.test(rest)
      || /s_barrier|fence\(/.test(rest)) this.#linkToNextRow(/^BARRIER$/, at);
    else if (rest) this.#linkStatement(rest, at);
  }
  // Links a line to the next row whose op matches `kind`, preferably to one that has row `of` as a source.
  #linkToNextRow(kind, at, of = -1, name = "") {
    const {rows} = this, all = rows.map((_, i) => i).filter((i) => i >= this.next && kind.test(rows[i].op));
    const [row] = [...(of < 0 ? [] : all.filter((i) => rows[i].sources.includes(of))), ...all];
    if (row === undefined) return -1;
    this.#addPair(row, at, name), this.next = row + 1;
    return row;
  }
  #linkStatement(text, at) {
    const [, name, size, value] = kNewName.test(text) && kDefinition.exec(text) || [];
    const {rows} = this, isLocal = /^var<workgroup>|^(__shared__|threadgroup|__local)\b/.test(text);
    const special = rows.findIndex(({op, arg}) => op === "SPECIAL" && arg.replace(/'/g, "") === name);
    if (special >= 0) return this.#addPair(special, at, name);
    if (name && (size || isLocal) && value === undefined) {
      const row = rows.findIndex(({op}, i) => kPlaces.includes(op) && !this.nameOf.has(i));
      return row < 0 ? 0 : this.#addPair(row, at, name);
    }
    const isStore = !name && /(^|[^=<>!])=(?!=)|\(/.test(text);
    const words = this.#wordsOf(name ? text.slice(text.indexOf(name) + name.length) : text);
    const isLoad = /^val\d/.test(name || "");
    let best = null, passed = 0;
    for (let i = this.next; i < rows.length && passed < kMostPassed; i++) {
      const {op, dtype} = rows[i], isVoid = /void/.test(dtype);
      if (best && kBlockOps.has(op) && !isStore) break;
      if (isStore ? !kStores.has(op)
        : kUnnamed.has(op) || isVoid || (op === "LOAD") !== isLoad || this.#isConstant(i)) continue;
      const isShared = op === "WHERE" || this.uses[i] !== 1 && !kInside.test(op);
      const isAlone = isStore || (isLoad ? !this.#isOfRegister(i) : isShared);
      const cost = wordDistance(words, this.#namesAndConstants(i)) + kPassed * passed + (isAlone ? 0 : kPassed);
      if (!best || cost < best.cost) best = {row: i, cost};
      if (isAlone) passed++;
    }
    if (best) this.#addPair(best.row, at, name || ""), this.next = best.row + 1;
  }

  #isConstant(row) {
    const {op, sources: [first]} = this.rows[row];
    if (op !== "CAST") return /^V?CONST$/.test(op);
    return typeof first === "string" || first >= 0 && this.#isConstant(first);
  }
  // Whether a LOAD reads a register; such a LOAD mostly has no line of its own.
  #isOfRegister(row) {
    let i = row;
    while (typeof i === "number" && !kBuffers.has(this.rows[i].op)) [i] = this.rows[i].sources;
    return typeof i === "number" && /_REG|_ACC|AddrSpace\.REG/.test(this.rows[i].op + " " + this.rows[i].arg);
  }

  #wordsOf(text) {
    const out = new Map();
    for (const [word] of text.matchAll(kWords))
      if (word[0] === ".") countConstant(out, "xyzw".indexOf(word[1]));
      else if (/^\d/.test(word)) countConstant(out, word);
      else if (this.names.has(word)) countWord(out, word);
    return out;
  }
  // Returns the names and constants of the expression of a row, with how often each occurs.
  #namesAndConstants(row) {
    const out = new Map(), {rows} = this;
    let seen = 0;
    const visit = (i, isTop) => {
      if (seen++ > kMostLeaves) return;
      if (typeof i === "string") return countConstant(out, i);
      const {op, sources, arg, dtype} = rows[i];
      if (!isTop && this.nameOf.has(i)) return countWord(out, this.nameOf.get(i));
      if (/^V?CONST$/.test(op)) return (arg.match(/-?[\w.]+/g) || []).forEach((c) => countConstant(out, c));
      if (op === "GEP") countConstant(out, arg.replace(/\D/g, ""));
      if (/void/.test(dtype) && !isTop) return;
      const count = /^(AFTER|NOOP)$/.test(op) ? 1 : op === "STORE" ? 2 : sources.length;  // others are not printed
      sources.slice(0, count).forEach((s) => visit(s, false));
    };
    visit(row, true);
    return out;
  }
}
const countWord = (map, key) => { map.set(key, (map.get(key) || 0) + 1); };
const countConstant = (map, text) => {
  if (!Number.isNaN(Number(text))) countWord(map, String(Math.abs(Number(text))));
};

// Returns how much the names and constants of a line and of a row differ. Names count more.
function wordDistance(a, b) {
  let out = 0;
  for (const key of new Set([...a.keys(), ...b.keys()]))
    out += Math.abs((a.get(key) || 0) - (b.get(key) || 0)) * (/^[A-Za-z_]/.test(key) ? 3 : 1);
  return out;
}
