// What the program recorded (lib/view/README.md describes the format), as arrays that are quick to walk.

/** @typedef {{name: string, branch: string, file: string, line: number, source: string}} Rule */
/** @typedef {{kind: string, stage?: number, text?: string, error?: string, nodes?: number[]}} RawText */

export const Kind = {Begin: 0, End: 1, Rewrite: 2, Rebuilt: 3, Gated: 4};

/** A rewrite of the whole graph or of a part of it, with all that it did, as numbers of events.
 * @typedef {{name: string, set: string, rules: number, bottomUp: boolean, input: number, result: number, depth: number,
 *   events: number[], begin: number, rewrites: number}} Run */
/** @typedef {{at: number, run: Run, rule: number, before: number, after: number, madeFrom: number, madeCount: number,
 *   ns: number}} Rewrite */
/** @typedef {{index: number, name: string, alias: string, from: number, to: number, ms: number, events: Int32Array,
 *   runs: Run[], rewrites: Rewrite[], changed: boolean}} Stage */

/** One graph on its way through the pipeline. Nodes are numbers; sources have smaller ones than their users. */
export class Recorded {
  /** @param {any} raw */
  constructor(raw) {
    /** @type {string} */ this.name = raw.name;
    /** @type {string} */ this.target = raw.target;
    /** @type {string} */ this.madeFor = raw.made_for;
    /** @type {string} */ this.error = raw.error;
    this.isTensor = raw.kind === "tensor";
    /** @type {number} */ this.ast = raw.ast;
    /** @type {string[]} */ this.strings = raw.strings;
    /** @type {string[]} */ this.ops = raw.ops;
    this.count = raw.op.length;
    this.op = Uint8Array.from(raw.op);
    this.dtype = Int32Array.from(raw.dtype);
    this.arg = Int32Array.from(raw.arg);
    this.number = Int32Array.from(raw.number);
    for (let i = 1; i < this.count; i++) this.number[i] += this.number[i - 1];
    this.first = new Int32Array(this.count + 1);
    for (let i = 0; i < this.count; i++) this.first[i + 1] = this.first[i] + raw.sources[i];
    this.source = Int32Array.from(raw.source);
    for (let i = 0; i < this.count; i++)
      for (let e = this.first[i]; e < this.first[i + 1]; e++) this.source[e] = i - this.source[e];
    this.inner = pairs(raw.inner);
    this.tags = pairs(summed(raw.tags, 2));
    this.shapes = pairs(summed(raw.shapes, 2));
    this.ranges = pairs(summed(raw.ranges, 2));
    /** @type {number[][]} */ this.rangeLists = raw.range_lists;
    /** @type {Map<number, [number, number]>} */ this.bounds = new Map();
    summed(raw.bounds, 3);
    for (let i = 0; i < raw.bounds.length; i += 3) this.bounds.set(raw.bounds[i], [raw.bounds[i + 1], raw.bounds[i + 2]]);
    /** @type {Rule[]} */
    this.rules = raw.rules.map((r) => ({name: this.strings[r[0]], branch: this.strings[r[1]], file: this.strings[r[2]],
      line: r[3], source: this.strings[r[4]]}));
    /** @type {Stage[]} */
    this.stages = raw.stages.map((s, index) => this.#stage(s, index));
    /** @type {RawText[]} */ this.texts = raw.texts;
  }

  opName(n) { return this.ops[this.op[n]]; }
  dtypeName(n) { return this.strings[this.dtype[n]].replace(/^dtypes\./, ""); }
  argText(n) { return this.strings[this.arg[n]]; }
  sourcesOf(n) { return this.source.subarray(this.first[n], this.first[n + 1]); }

  /** The nodes of a graph, sources first. @param {number} root @returns {number[]} */
  nodesOf(root) {
    const out = [];
    if (root < 0) return out;
    const seen = new Uint8Array(this.count), stack = [root];
    while (stack.length) {
      const n = stack[stack.length - 1];
      if (seen[n] === 0) {
        seen[n] = 1;
        for (let e = this.first[n + 1] - 1; e >= this.first[n]; e--) if (!seen[this.source[e]]) stack.push(this.source[e]);
      } else {
        stack.pop();
        if (seen[n] === 1) seen[n] = 2, out.push(n);
      }
    }
    return out;
  }

  /** The place of a stage's result: the text and graph "after stage s", s from 0 for the AST. */
  rootAfter(s) {
    for (let i = s; i > 0; i--) if (this.stages[i - 1].name !== "linear" && this.stages[i - 1].to >= 0) return this.stages[i - 1].to;
    return this.ast;
  }

  #stage(raw, index) {
    const events = Int32Array.from(raw.events), runs = [], rewrites = [], open = [];
    let before = 0, after = 0;
    for (let i = 0; i < events.length;) {
      const at = i, kind = events[i];
      if (kind === Kind.Rewrite || kind === Kind.Rebuilt) {
        const k = kind === Kind.Rewrite ? i + 2 : i + 1;
        events[k] = before += events[k], events[k + 1] = after += events[k + 1];
        if (kind === Kind.Rewrite) events[i + 4] += after;
      } else if (kind === Kind.Gated) events[i + 1] = before += events[i + 1];
      if (kind === Kind.Begin) {
        const run = {input: events[i + 1], name: this.strings[events[i + 2]], set: this.strings[events[i + 3]],
          rules: events[i + 4], bottomUp: events[i + 5] === 1, result: -1, depth: open.length, events: [], begin: at, rewrites: 0};
        open.push(run), runs.push(run);
        i += 6;
        continue;
      }
      const run = open[open.length - 1];
      if (kind === Kind.End) open.pop().result = events[i + 1], i += 2;
      else if (kind === Kind.Rewrite) {
        if (run) run.events.push(at), run.rewrites++;
        rewrites.push({at, run, rule: events[i + 1], before: events[i + 2], after: events[i + 3], madeFrom: events[i + 4],
          madeCount: events[i + 5], ns: events[i + 6]});
        i += 7;
      } else {
        if (run) run.events.push(at);
        i += kind === Kind.Rebuilt ? 3 : 2;
      }
    }
    return {index, name: raw.name, alias: raw.alias, from: raw.from, to: raw.to, ms: raw.ms, events, runs, rewrites,
      changed: raw.from !== raw.to};
  }
}

/** Rows of numbers of which each was told by how far it is from the one above. */
function summed(list, row) {
  for (let i = row; i < list.length; i++) list[i] += list[i - row];
  return list;
}

/** @param {number[]} list @returns {Map<number, number>} */
function pairs(list) {
  const out = new Map();
  for (let i = 0; i < list.length; i += 2) out.set(list[i], list[i + 1]);
  return out;
}

/** Bytes of zlib's format in base64, as JSON. @param {string} base64 */
export async function unpacked(base64) {
  const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

/** Text in which nothing is hidden: control characters and those that turn the direction of what follows are shown by
 * their number. @param {string} text */
export function plain(text) {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g,
    (c) => "\u27e8" + "U+" + c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0") + "\u27e9");
}
