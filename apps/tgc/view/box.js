import {calledName} from "./calls.js";
import {axisTypeOf, expressionOf, nameOf, operatorSign, wrapText} from "./expressions.js";
/** @typedef {import("./data.js").RecordedGraph} RecordedGraph */
/** @typedef {import("./expressions.js").InlineNodes} InlineNodes */

export const Size = {width: 176, row: 94, line: 14, pad: 6, gap: 18, longest: 4};

const kMostLineLetters = 23, kMostLines = 4;
// ops whose boxes do not show the shape of a tensor; most have it in their other text
const kShapeNotShown = new Set(["RESHAPE", "EXPAND", "BUFFER", "CONST"]);

const kShapeOps = new Set(["RESHAPE", "EXPAND"]);

export class Box {
  /** `list` has the keys of the node's sources; `byKey` has the boxes made so far; `inline` decides which sources are
   * text in this box.
   * @param {RecordedGraph} g @param {number} key @param {number[]} list @param {Map<number, Box>} byKey
   *  @param {import("./folding.js").Fold | null} fold @param {InlineNodes} inline */
  constructor(g, key, list, byKey, fold, inline) {
    this.g = g, this.key = key, this.n = key % g.count, this.list = list, this.fold = fold, this.inline = inline;
    this.title = (fold && fold.title) || g.opName(this.n);
    this.x = 0, this.y = 0, this.row = 0;  // left edge, vertical centre and number of the row
    this.marked = 0;                       // how many lines at the end of `lines` say what a rewrite changed
    this.ghost = false;
    /** The sources with edges to this box, and their positions in `list`. */
    /** @type {number[]} */ this.sources = [];
    /** @type {number[]} */ this.slots = [];
    for (let slot = 0; slot < list.length; slot++)
      if (byKey.has(list[slot]) && !this.#isText(slot, list[slot]))
        this.sources.push(list[slot]), this.slots.push(slot);
    const lines = fold && fold.title ? 0 : this.#lineCount();
    const ofFold = fold ? fold.lines.length + (fold.count ? 1 : 0) : 0;
    this.height = Size.pad * 2 + Size.line * (1 + lines + ofFold);
  }

  /** Whether the box can be reused in a drawing: the same sources have edges to it. @param {Map<number, Box>} byKey
   *  @param {InlineNodes} inline */
  canBeReused(byKey, inline) {
    let at = 0;
    return this.list.every((s, slot) => {
      const isSource = byKey.has(s) && !inline.isText(this.n, slot, s % this.g.count);
      return isSource === (this.slots[at] === slot) && (!isSource || ++at > 0);
    }) && at === this.slots.length;
  }

  /** The lines below the title. Made when the box is first drawn, unless they decide its height. */
  get lines() { return this.said || (this.said = this.#linesBelowTitle()); }
  #linesBelowTitle() {
    const {fold} = this;
    if (fold && fold.title) return fold.lines;
    const out = this.#ownLines();
    return fold ? [...out, ...fold.lines] : out;
  }
  #lineCount() {
    const {g, inline} = this, sourceKeys = this.#sourceKeys();
    if (inline.hides && sourceKeys.some((s, i) => this.#isText(i, s) && inline.is[s % g.count])) {
      this.said = this.#ownLines();
      const {length} = this.said;
      if (this.fold) this.said = [...this.said, ...this.fold.lines];
      return length;
    }
    const arg = g.opName(this.n) === "CALL" ? calledName(g, this.n) : g.argText(this.n);
    const isNamed = arg || g.isTensor && this.#shape() !== "";
    const hasText = sourceKeys.some((s, i) => this.#isText(i, s));
    return (isNamed ? 1 : 0) + (hasText && !/^(RANGE|PARAM)$/.test(g.opName(this.n)) ? 1 : 0);
  }
  // Returns the lines below the op: arg and shape, the sources that are text, and what a rewrite changed.
  #ownLines() {
    const {g, n} = this, op = g.opName(n), out = [], sourceKeys = this.#sourceKeys(), texts = new Map();
    sourceKeys.forEach((s, i) => { if (this.#isText(i, s)) texts.set(i, expressionOf(g, s, 0, this.inline)); });
    if (op === "PARAM" && texts.size === 1) return [shortArg(g, n) + "[" + [...texts.values()][0] + "]"];
    if (op === "RANGE") return [[shortArg(g, n), ...texts.values()].join(" \u00d7 ")];
    const arg = [shortArg(g, n), g.isTensor ? this.#shape() : ""].filter(Boolean).join("  ");
    if (arg) out.push(arg);
    const {edited, more} = this.inline, added = edited.has(this.key) ? more : [];
    const room = kMostLines - out.length - added.length;
    if (texts.size) out.push(...wrapText(this.#sourceText(op, sourceKeys, texts), kMostLineLetters, room));
    this.marked = added.length;
    return [...out, ...added];
  }
  // Returns the sources that are text, as one line. A dot stands for a source that has a box.
  #sourceText(op, sourceKeys, texts) {
    const sign = operatorSign(op).replace("*", "\u00d7"), {g} = this;
    if (op === "INDEX" && texts.size) {
      const slots = sourceKeys.map((_, i) => i).slice(1),
        isGate = (i) => g.dtypeName(sourceKeys[i] % g.count) === "bool";
      const of = (list) => list.map((i) => texts.get(i) || "\u00b7").join(", "), gates = slots.filter(isGate);
      return "[" + of(slots.filter((i) => !isGate(i))) + "]" + (gates.length ? " if " + of(gates) : "");
    }
    if (sign && sourceKeys.length === 2) {
      const isFirst = texts.has(0) && !texts.has(1);
      return (isFirst ? [texts.get(0), sign, "\u00b7"] : [texts.get(0), sign, texts.get(1)]).filter(Boolean).join(" ");
    }
    const isPlain = sourceKeys.length < 2 || kShapeOps.has(op) && texts.size === 1;
    return [...texts].map(([i, text]) => (isPlain ? "" : i + ": ") + text).join("   ");
  }
  #shape() {
    const {g, n} = this, shape = kShapeNotShown.has(g.opName(n)) ? undefined : g.shapes.get(n);
    return shape === undefined ? "" : "(" + g.strings[shape] + ")";
  }
  #isText(slot, key) { return this.inline.isText(this.n, slot, key % this.g.count); }
  #sourceKeys() { return this.fold ? this.g.sourceList(this.n) : this.list; }
}

/** Returns the text of a node's arg, shortened for a box. */
function shortArg(/** @type {RecordedGraph} */ g, n) {
  const arg = g.argText(n), op = g.opName(n), name = nameOf(g, n);
  if (op === "CALL") return calledName(g, n);
  if (op === "RANGE") return name + " " + axisTypeOf(g, n);
  if (op === "PARAM") return name + " " + g.dtypeName(n);
  if (name.startsWith("data")) return name + " " + g.dtypeName(n).replace(/\.ptr\((-?\d+)\)/, "[$1]");
  if (arg.startsWith("KernelInfo")) return (/name='([^']*)'/.exec(arg) || ["", arg])[1].replace(/\\x1b\[\d+m/g, "");
  return arg.replace(/Ops\.|dtypes\.|AxisType\.|AddrSpace\./g, "");
}
