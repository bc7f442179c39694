// A recording (format: lib/view/README.md) as arrays, for fast access.
import {EventReader, EventKind} from "./events.js";

/** A rewrite rule. `source`: its file and line in tinygrad; in a recording of tinygrad's rewrites, the line of the
 * matcher that a stage calls. `text`: the rule as "(x + 0) -> x", or its source lines, if a recording has them.
 * @typedef {{name: string, branch: string, file: string, line: number, source: string, text: string}} Rule */
/** `lines`: for pyrender, the numbers of its lines in the table of all lines, as differences from the previous number.
 * `rows`: for a linear list, numbers in the same table.
 * @typedef {{kind: string, stage?: number, text?: string, lines?: number[], rows?: number[], error?: string,
 *   nodes?: number[]}} RawText */

/** A graph_rewrite of a whole graph or of a part of it, with the indices of its events.
 * @typedef {{name: string, set: string, rules: number, bottomUp: boolean, input: number, result: number, depth: number,
 *   events: number[], begin: number, rewrites: number}} Run */
/** @typedef {{at: number, run: Run, rule: number, before: number, after: number, madeFrom: number,
 *   madeCount: number}} Rewrite */
/** `nodes`: number of nodes of the stage's result; `count`: its number of rewrites; `eventCount`: its number of events,
 * which readEvents() reads; `discarded`: how many of the rewrites are of attempts that tinygrad discarded, if any.
 * @typedef {{index: number, name: string, alias: string, from: number, to: number, ms: number, nodes: number,
 *   count: number, discarded?: number, eventCount: number, changed: boolean, events: Int32Array, runs: Run[],
 *   rewrites: Rewrite[]}} Stage */

const kEventsPerSlice = 8000;

/** One graph with its stages. Nodes are numbers; a source has a smaller number than its users. */
export class RecordedGraph {
  /** Decodes everything except the events, which readEvents() reads. Before that, only the first graph can be shown.
   * @param {any} raw */
  constructor(raw) {
    /** @type {string} */ this.name = raw.name;
    /** @type {string} */ this.target = raw.target;
    /** @type {string} */ this.madeFor = raw.made_for;
    /** @type {string} */ this.error = raw.error;
    this.isTensor = raw.kind === "tensor";
    /** The release of tinygrad that recorded the graph; empty: tgc compiled it, or it is of 0.12.0.
     * @type {string} */ this.producer = raw.producer || "";
    /** The stage that results in the first graph; empty: the first graph is no stage's result. @type {string} */
    this.begins = raw.begins || "";
    /** @type {number} */ this.ast = raw.ast;
    /** @type {string[]} */ this.strings = raw.strings;
    /** @type {string[]} */ this.ops = raw.ops;
    this.count = raw.sources.length;
    /** Rows that the reader derives from events; their column `sources` is ~(number of sources). @type {number[]} */
    const derived = [], storedRows = [];
    raw.sources.forEach((count, n) => (count < 0 ? derived : storedRows).push(n));
    const column = (values, array) => {
      storedRows.forEach((n, i) => { array[n] = values[i]; });
      return array;
    };
    this.op = column(raw.op, new Uint16Array(this.count));
    this.dtype = column(raw.dtype, new Int32Array(this.count)), this.arg = column(raw.arg, new Int32Array(this.count));
    this.tag = new Int32Array(this.count);
    prefixSums(raw.tags, 2).forEach((tag, i) => { if (i % 2) this.tag[raw.tags[i - 1]] = tag; });
    this.number = Int32Array.from(raw.number);
    for (let i = 1; i < this.count; i++) this.number[i] += this.number[i - 1];
    this.first = new Int32Array(this.count + 1);
    raw.sources.forEach((count, n) => { this.first[n + 1] = this.first[n] + (count < 0 ? ~count : count); });
    this.source = new Int32Array(this.first[this.count]);
    /** @type {number[][]} */ this.lists = new Array(this.count);
    let next = 0;
    for (const n of storedRows)
      for (let e = this.first[n]; e < this.first[n + 1]; e++) this.source[e] = n - raw.source[next++];
    /** For a tensor graph: `madeOf` has the labels of the model's nodes, or of groups of nodes by the program's lines;
     * `madeForNode` maps a node of the table to an index of `madeOf`; `kernels` has the ASTs of the schedule's
     * items. */
    /** @type {string[]} */ this.madeOf = raw.made_of || [];
    this.madeForNode = mapOfPairs(prefixSums(raw.made_for_node || [], 2));
    /** @type {number[]} */ this.kernels = raw.kernels || [];
    /** The methods of the program that made nodes, if a recording has them; groupByLine() makes `madeOf` of them.
     * @type {import("./lines.js").Method[]} */ this.methods = raw.made_by || [];
    /** Whether `madeOf` is of lines of the program, and not of a model. */ this.isByLine = this.methods.length > 0;
    /** For a recorded schedule, the names of its kernels by item. @type {string[]} */ this.itemNames = [];
    this.inner = mapOfPairs(raw.inner);
    this.ranges = mapOfPairs(prefixSums(raw.ranges, 2));
    /** @type {number[][]} */ this.rangeLists = raw.range_lists;
    this.facts = {shapes: raw.shapes, bounds: raw.bounds};  // columns, decoded on demand
    const recorded = new Map(Object.entries(raw.rule_texts || {}));
    /** @type {Rule[]} */
    this.rules = raw.rules.map((r) => ({name: this.strings[r[0]], branch: this.strings[r[1]], file: this.strings[r[2]],
      line: r[3], source: this.strings[r[4]], text: this.strings[r[5]] || recorded.get(this.strings[r[0]]) || ""}));
    /** @type {Stage[]} */
    this.stages = raw.stages.map(({events, rewrites, ...stage}, index) => ({...stage, index, count: rewrites,
      eventCount: events, changed: stage.from !== stage.to, events: new Int32Array(0), runs: [], rewrites: []}));
    /** What readEvents() has to read. */ this.unread = {packed: "", at: -1, derived, unpack: unpackJson};
    /** @type {RawText[]} */ this.texts = raw.texts;
    /** @type {string[]} */ this.lines = raw.lines;
  }

  /** Unpacks and reads a recording without its events. `packed`: its text; or a text of several graphs and the number
   * `at` of the graph in it. `unpack`: unpackJson(), or a function that caches its results, to read several graphs of
   * one text.
   * @param {string | {text: string, at: number}} packed @returns {Promise<RecordedGraph>} */
  static async begin(packed, unpack = unpackJson) {
    const {text, at} = typeof packed === "string" ? {text: packed, at: -1} : packed;
    const [first, second] = text.split(" "), raw = documentOfGraph(await unpack(first), at);
    await pause();
    const out = new RecordedGraph(raw);
    Object.assign(out.unread, {packed: second, at, unpack});
    await pause();
    return out;
  }

  /** Reads the events, with pauses in which the page can handle input. Later calls wait for the end of the first. */
  readEvents() { return this.reading || (this.reading = this.#readEvents()); }
  async #readEvents() {
    const columns = documentOfGraph(await this.unread.unpack(this.unread.packed), this.unread.at);
    await pause();
    const reader = new EventReader(this, columns, this.unread.derived);
    await pause();
    for (const stage of this.stages) {
      const events = [];
      for (let left = stage.eventCount; left > 0; left -= kEventsPerSlice) {
        reader.readEvents(Math.min(left, kEventsPerSlice), events);
        if (left > kEventsPerSlice) await pause();
      }
      this.#splitEvents(stage, Int32Array.from(events));
      if (stage.eventCount > kEventsPerSlice) await pause();
    }
    this.unread = {packed: "", at: -1, derived: [], unpack: unpackJson};
  }

  /** Like begin(), but also reads the events.
   * @param {string | {text: string, at: number}} packed @returns {Promise<RecordedGraph>} */
  static async read(packed, unpack = unpackJson) {
    const out = await RecordedGraph.begin(packed, unpack);
    await out.readEvents();
    return out;
  }

  /** By node, the number of its shape's text in `strings`. @returns {Map<number, number>} */
  get shapes() {
    return this.shapeOf || (this.shapeOf = mapOfPairs(prefixSums(this.facts.shapes, 2)));
  }
  /** By node, the numbers of the texts of its minimum and maximum in `strings`.
   * @returns {Map<number, [number, number]>} */
  get bounds() {
    if (this.boundsOf) return this.boundsOf;
    const texts = prefixSums(this.facts.bounds, 3);
    this.boundsOf = new Map();
    for (let i = 0; i < texts.length; i += 3) this.boundsOf.set(texts[i], [texts[i + 1], texts[i + 2]]);
    return this.boundsOf;
  }

  /** The name of the first graph. */
  firstName() { return this.begins || (this.isTensor ? "tensor graph" : "AST"); }

  opName(n) { return this.ops[this.op[n]]; }
  dtypeName(n) { return this.strings[this.dtype[n]].replace(/^dtypes\./, ""); }
  argText(n) { return this.strings[this.arg[n]]; }
  sourcesOf(n) { return this.source.subarray(this.first[n], this.first[n + 1]); }
  /** Returns the sources as an array. A node always gets the same array, so that arrays can be compared by identity. */
  sourceList(n) { return this.lists[n] || (this.lists[n] = Array.from(this.sourcesOf(n))); }

  /** Returns the nodes of a graph, sources first. @param {number} root @returns {number[]} */
  nodesOf(root) {
    const out = [];
    if (root < 0) return out;
    const seen = new Uint8Array(this.count), stack = [root];
    while (stack.length) {
      const n = stack[stack.length - 1];
      if (seen[n] === 0) {
        seen[n] = 1;
        for (let e = this.first[n + 1] - 1; e >= this.first[n]; e--)
          if (!seen[this.source[e]]) stack.push(this.source[e]);
      } else {
        stack.pop();
        if (seen[n] === 1) seen[n] = 2, out.push(n);
      }
    }
    return out;
  }

  /** Returns the root of the last graph, apart from linear lists, at the end of stage `s` or before. Stages count from
   * 1; 0 is the first graph. */
  rootAfter(s) {
    for (let i = s; i > 0; i--)
      if (this.stages[i - 1].name !== "linear" && this.stages[i - 1].to >= 0) return this.stages[i - 1].to;
    return this.ast;
  }

  /** @param {Stage} stage @param {Int32Array} events */
  #splitEvents(stage, events) {
    const {runs, rewrites} = stage, open = [];
    stage.events = events;
    for (let i = 0; i < events.length;) {
      const at = i, kind = events[i];
      if (kind === EventKind.Begin) {
        const run = {input: events[i + 1], name: this.strings[events[i + 2]], set: this.strings[events[i + 3]],
          rules: events[i + 4], bottomUp: events[i + 5] === 1, result: -1, depth: open.length, events: [],
          begin: at, rewrites: 0};
        open.push(run), runs.push(run);
        i += 6;
        continue;
      }
      const run = open[open.length - 1];
      if (kind === EventKind.End) open.pop().result = events[i + 1], i += 2;
      else if (kind === EventKind.Rewrite) {
        if (run) run.events.push(at), run.rewrites++;
        rewrites.push({at, run, rule: events[i + 1], before: events[i + 2], after: events[i + 3],
          madeFrom: events[i + 4], madeCount: events[i + 5]});
        i += 6;
      } else {
        if (run) run.events.push(at);
        i += kind === EventKind.Rebuilt ? 3 : 2;
      }
    }
  }
}

// Returns the document of graph `at`: each member of `all` is a list with an element for each graph. -1: returns `all`.
function documentOfGraph(all, at) {
  if (at < 0) return all;
  return Object.fromEntries(Object.entries(all).map(([key, list]) => [key, list[at] ?? undefined]));
}

/** Decodes rows of `row` numbers that are differences from the previous row. */
export function prefixSums(list, row) {
  for (let i = row; i < list.length; i++) list[i] += list[i - row];
  return list;
}

/** @param {number[]} list @returns {Map<number, number>} */
function mapOfPairs(list) {
  const out = new Map();
  for (let i = 0; i < list.length; i += 2) out.set(list[i], list[i + 1]);
  return out;
}

/** The values of the characters that encode data: "!" to "~" except "&", "<" and "\\". */
const kDigits = Uint8Array.from({length: 127}, (_, c) => c - 33 - [38, 60, 92].filter((left) => c > left).length);

/** Unpacks JSON that was compressed by zlib and encoded as text (encode_bytes in lib/view/page.cpp): two of 91
 * characters are 13 bits, a single one at the end is 6 bits. @param {string} text */
export async function unpackJson(text) {
  const digit = (i) => kDigits[text.charCodeAt(i)];
  const out = new Uint8Array(((text.length >> 1) * 13 + (text.length & 1) * 6) >> 3);
  for (let i = 0, at = 0, bits = 0, have = 0; i < text.length; i += 2) {
    const isLast = i + 1 === text.length;
    bits |= (isLast ? digit(i) : digit(i) + 91 * digit(i + 1)) << have, have += isLast ? 6 : 13;
    for (; have >= 8; have -= 8, bits >>>= 8) out[at++] = bits & 255;
  }
  const stream = new DecompressionStream("deflate"), writer = stream.writable.getWriter();
  writer.write(out), writer.close();  // a Blob's stream would pass through another process
  const json = await new Response(stream.readable).text();
  await pause();
  return JSON.parse(json);
}

/** Lets the browser handle pending input, so that long work does not block the page. */
export function pause() {
  return new Promise((go) => {  // repeated calls of setTimeout wait at least 4 ms
    const {port1, port2} = new MessageChannel();
    port1.onmessage = () => { port1.close(), go(undefined); };
    port2.postMessage(0);
  });
}

const kHidden = /(?![\t\n])[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/** Returns the text with code point numbers in place of control characters and other characters that have no visible
 * form; tabs and line breaks stay. @param {string} text */
export function plainText(text) {
  const number = (c) => c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
  return text.replace(kHidden, (c) => "\u27e8U+" + number(c) + "\u27e9");
}
