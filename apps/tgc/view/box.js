// A box: a drawn node with its text, its position and its height.
import {isValue, valueText} from "./values.js";
/** @typedef {import("./data.js").Recorded} Recorded */

export const Size = {width: 176, row: 94, line: 14, pad: 6, gap: 18, longest: 4};

export class Box {
  /** `list` has the keys of the node's sources; `byKey` tells which of these have boxes. The other sources are values,
   * which are text in this box. @param {Recorded} g @param {number} key @param {number[]} list its sources, by key
   *  @param {Map<number, Box>} byKey which of these are boxes; values are text in it
   *  @param {import("./folding.js").Fold | null} fold */
  constructor(g, key, list, byKey, fold) {
    this.g = g, this.key = key, this.n = key % g.count, this.list = list, this.fold = fold;
    this.title = (fold && fold.title) || g.opName(this.n);
    this.x = 0, this.y = 0, this.row = 0;  // left edge, vertical centre and number of the row
    this.ghost = false;                    // true for a removed node, which is drawn behind the node that replaces it
    /** The sources that have boxes, and their positions in `list`. */
    /** @type {number[]} */ this.sources = [];
    /** @type {number[]} */ this.slots = [];
    for (let slot = 0; slot < list.length; slot++)
      if (byKey.has(list[slot])) this.sources.push(list[slot]), this.slots.push(slot);
    let count = 1;  // lines of text
    if (!fold || !fold.title) {
      if (g.argText(this.n)) count++;
      if (this.#told().some((s) => this.#isValue(s))) count++;
    }
    if (fold) count += fold.lines.length + (fold.count ? 1 : 0);
    this.height = Size.pad * 2 + Size.line * count;
  }

  /** The lines below the title: the arg, and the values among the sources. Made when the box is first drawn. */
  get lines() { return this.said || (this.said = this.#says()); }
  #says() {
    const {g, n, fold} = this, out = [], told = this.#told(), values = [];
    if (fold && fold.title) return fold.lines;
    if (g.argText(n)) out.push(shortArg(g, n));
    told.forEach((s, i) => {
      if (this.#isValue(s)) values.push((told.length > 1 ? i + ": " : "") + valueText(g, s % g.count));
    });
    if (values.length) out.push(values.join("   "));
    return fold ? [...out, ...fold.lines] : out;
  }
  #isValue(key) { return isValue(this.g, key % this.g.count); }
  // Returns the sources that are shown as text in the box; a folded box shows those of its first node.
  #told() { return this.fold ? this.g.sourceList(this.n) : this.list; }
}

/** Returns the text of a node's arg, shortened for a box. */
function shortArg(/** @type {Recorded} */ g, n) {
  const arg = g.argText(n);
  if (g.opName(n) === "RANGE") return arg.replace(/AxisType\./g, "").replace(/[()]/g, "");
  if (arg.startsWith("KernelInfo")) return (/name='([^']*)'/.exec(arg) || ["", arg])[1].replace(/\\x1b\[\d+m/g, "");
  return arg.replace(/Ops\.|dtypes\.|AxisType\.|AddrSpace\./g, "");
}
