// Reads the events of a recording from the columns that lib/view/recording_events.cpp writes. The writer omits values
// that can be derived; this reader derives them by the same steps.

export const EventKind = {Begin: 0, End: 1, Rewrite: 2, Rebuilt: 3, Gated: 4};
const kEndWithResult = 5, kRebuiltWithResult = 6;

/** Returns the node at the end of the chain of replacements `to` that begins at `n`, or `n` itself if the chain does
 * not end. @param {Map<number, number>} to @param {number} n */
export function resolveNode(to, n) {
  const begun = n;
  let steps = 0;
  for (let next = to.get(n); next !== undefined; next = to.get(n)) {
    n = next;
    if (n === begun || ++steps > to.size) return begun;
  }
  return n;
}

/** Finds nodes (rows of the table) by their content. */
class RowsByContent {
  /** @param {import("./data.js").RecordedGraph} g */
  constructor(g) {
    this.g = g;
    this.mask = (1 << Math.ceil(Math.log2(g.count * 2 + 2))) - 1;
    this.slots = new Int32Array(this.mask + 1).fill(-1);
  }
  #hash(like, sources) {
    const g = this.g;
    let hash = Math.imul(g.op[like] * 31 + g.dtype[like], 0x9e3779b1);
    hash ^= Math.imul(g.arg[like] * 31 + g.tag[like], 0x85ebca77);
    for (const s of sources) hash = Math.imul((hash << 5 | hash >>> 27) ^ s, 0x9e3779b1);
    return hash ^ hash >>> 15;
  }
  /** Returns the index in `slots` for the row that has these sources and the op, dtype, arg and tag of row `like`. If
   * there is no such row, the slot is empty. */
  slot(like, sources) {
    const g = this.g;
    for (let i = this.#hash(like, sources) & this.mask; ; i = (i + 1) & this.mask) {
      const n = this.slots[i];
      if (n < 0) return i;
      if (g.op[n] !== g.op[like] || g.dtype[n] !== g.dtype[like]) continue;
      if (g.arg[n] !== g.arg[like] || g.tag[n] !== g.tag[like]) continue;
      if (g.first[n + 1] - g.first[n] !== sources.length) continue;
      if (sources.every((s, k) => g.source[g.first[n] + k] === s)) return i;
    }
  }
}

export class EventReader {
  /** `g`: the table, in which the rows of `derived` are still empty; `columns`: the columns of the events.
   * @param {import("./data.js").RecordedGraph} g @param {any} columns @param {number[]} derived */
  constructor(g, columns, derived) {
    this.g = g, this.columns = columns, this.derived = derived;
    this.at = Object.fromEntries(Object.keys(columns).map((k) => [k, 0]));
    this.nextDerived = 0, this.lastBefore = 0, this.madeEnd = 0;
    this.became = new Map();
    this.open = [{input: -1, to: new Map()}];
    this.rows = new RowsByContent(g);
    const isDerived = new Set(derived);
    for (let n = 0; n < g.count; n++) {
      if (isDerived.has(n)) continue;
      const slot = this.rows.slot(n, g.sourcesOf(n));
      if (this.rows.slots[slot] < 0) this.rows.slots[slot] = n;
    }
  }
  #nextValue(column) { return this.columns[column][this.at[column]++]; }
  #before(column) { return this.lastBefore += this.#nextValue(column); }
  #noteReplacement(before, after) { if (before !== after) this.open[this.open.length - 1].to.set(before, after); }

  /** Reads the next events and appends them to `out` as numbers: 0 begin (input, name, set, number of rules,
   * bottom-up), 1 end (result), 2 rewrite (rule, before, after, first node that it made, number of nodes that it made),
   * 3 rebuilt (before, after), 4 gated (node). @param {number} count @param {number[]} out */
  readEvents(count, out) {
    for (let i = 0; i < count; i++) {
      const kind = this.#nextValue("kind");
      if (kind === EventKind.Begin) {
        const [name, set, rules, bottomUp] = this.columns.run_kinds[this.#nextValue("run")];
        const input = this.lastBefore + this.#nextValue("input");
        this.open.push({input, to: new Map()});
        out.push(kind, input, name, set, rules, bottomUp);
      } else if (kind === EventKind.End || kind === kEndWithResult) {
        const run = this.open.length > 1 ? this.open.pop() : this.open[0];
        out.push(EventKind.End, kind === kEndWithResult ? this.#nextValue("result") : resolveNode(run.to, run.input));
      } else if (kind === EventKind.Rewrite) this.#readRewrite(out);
      else if (kind === EventKind.Gated) out.push(kind, this.#before("gated"));
      else {
        const before = this.#before("rebuilt");
        const after = kind === kRebuiltWithResult ? before + this.#nextValue("rebuilt_to")
          : this.#findRebuiltRow(before);
        this.#noteReplacement(before, after);
        out.push(EventKind.Rebuilt, before, after);
      }
    }
  }

  #readRewrite(out) {
    const g = this.g, rule = this.#nextValue("rule"), before = this.#before("rewritten");
    const made = this.madeEnd + this.#nextValue("made");
    const count = this.#nextValue("made_count"), code = this.#nextValue("became");
    this.madeEnd = made + count;
    const from = count ? this.madeEnd - 1 : before, far = code - 1;
    const created = from - (far & 1 ? -((far + 1) >> 1) : far >> 1), kept = g.source[g.first[before] - 1 - code];
    const after = code === 0 ? this.became.get(before) : code < 0 ? kept : created;
    this.became.set(before, after);
    this.#noteReplacement(before, after);
    out.push(EventKind.Rewrite, rule, before, after, made, count);
  }

  // Returns the row for `before` with its sources replaced: an equal existing row, else the next derived row.
  #findRebuiltRow(before) {
    const g = this.g, {to} = this.open[this.open.length - 1];
    const sources = Array.from(g.sourcesOf(before), (s) => resolveNode(to, s));
    const slot = this.rows.slot(before, sources);
    if (this.rows.slots[slot] >= 0) return this.rows.slots[slot];
    const n = this.rows.slots[slot] = this.derived[this.nextDerived++];
    g.op[n] = g.op[before], g.dtype[n] = g.dtype[before], g.arg[n] = g.arg[before], g.tag[n] = g.tag[before];
    g.source.set(sources, g.first[n]);
    this.madeEnd = Math.max(this.madeEnd, n + 1);
    return n;
  }
}
