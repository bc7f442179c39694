// The data of one track: chunks of slices at several levels of detail (lib/view/timeline.h), which are read when shown.
import {unpackJson} from "../view/data.js";
import {documentText} from "./documents.js";

const kMostSlices = 20000,
  kMostShortSlices = 3000;  // most slices of a level to draw; up to kMostShortSlices are drawn even if they are short
const kFineBinPixels = 3;                   // a bin of at most this many pixels does not look coarse
const kMostKeptChunks = 160;

/** The slices of a chunk, ordered by row and begin. `rows`: for each row, its first slice and the one after its last.
 * @typedef {{rows: Map<number, [number, number]>, begin: Float64Array, end: Float64Array, kind: Uint8Array,
 *   amount: Uint8Array, item: Int32Array | null}} Chunk */
/** @typedef {{bin: number, begin: number[], end: number[], count: number[]}} Level */

export class Track {
  /** @param {{number: number, name: string, rows: {name: string, most: number, style: string}[], levels: Level[]}} raw
   * @param {() => void} arrived called when a chunk has been read */
  constructor(raw, arrived) {
    this.number = raw.number, this.name = raw.name, this.rows = raw.rows, this.levels = raw.levels;
    this.arrived = arrived;
    /** @type {Map<string, Chunk>} */ this.chunks = new Map();
    /** @type {Map<string, Promise<Chunk>>} */ this.pending = new Map();
  }

  get begin() { return this.levels[0].begin.length ? this.levels[0].begin[0] : 0; }
  get end() { return this.levels[0].end.length ? this.levels[0].end[this.levels[0].end.length - 1] : 0; }
  get coarsestLevel() { return this.levels.length - 1; }

  /** Returns the level to draw between two times: the first one, from the finest on, that has few slices, or after
   * which bins would be too wide, unless it has too many narrow slices; else the coarsest.
   * @param {number} from @param {number} to @param {number} perPixel cycles */
  levelFor(from, to, perPixel) {
    for (let level = 0; level < this.coarsestLevel; level++) {
      const {bin, count} = this.levels[level], [first, last] = this.#chunkRange(level, from, to);
      let sum = 0;
      for (let n = first; n < last; n++) sum += count[n];
      const isEnough = this.levels[level + 1].bin > kFineBinPixels * perPixel;
      if (sum <= kMostShortSlices || isEnough && (sum <= kMostSlices || bin >= perPixel && bin > 1)) return level;
    }
    return this.coarsestLevel;
  }

  /** Returns the chunks to draw: those of the best level or, if some of them were not read, of the next coarser level
   * that was read; else none. Begins to read missing chunks. @returns {{level: number, chunks: Chunk[]}} */
  visibleChunks(from, to, perPixel) {
    const best = this.levelFor(from, to, perPixel), [begin, end] = this.#chunkRange(best, from, to);
    const isSoon = end - begin <= 2;
    for (let level = best; level <= this.coarsestLevel; level++) {
      const [first, last] = this.#chunkRange(level, from, to), chunks = [];
      for (let n = first; n < last; n++) {
        const chunk = this.#keptChunk(level, n);
        if (chunk) chunks.push(chunk);
        else if (level === best || level === this.coarsestLevel && !isSoon) this.readChunk(level, n).then(this.arrived);
      }
      if (chunks.length === last - first) return {level, chunks};
    }
    return {level: this.coarsestLevel, chunks: []};
  }

  /** Returns the chunks of the finest level that contain a time. @param {number} time @returns {Promise<Chunk[]>} */
  async chunksAt(time) {
    const [first, last] = this.#chunkRange(0, time, time + 1), out = [];
    for (let n = first; n < last; n++) out.push(await this.readChunk(0, n));
    return out;
  }

  /** @param {number} level @param {number} n @returns {Promise<Chunk>} */
  readChunk(level, n) {
    const key = level + "." + n, keptChunk = this.#keptChunk(level, n);
    if (keptChunk) return Promise.resolve(keptChunk);
    if (!this.pending.has(key)) this.pending.set(key, this.#loadChunk(level, key));
    return /** @type {Promise<Chunk>} */ (this.pending.get(key));
  }
  async #loadChunk(level, key) {
    const chunk = chunkOf(await unpackJson(await documentText("t" + this.number + "." + key)), this.levels[level].bin);
    this.chunks.set(key, chunk), this.pending.delete(key);
    for (const old of this.chunks.keys()) {
      if (this.chunks.size <= kMostKeptChunks) break;
      if (!old.startsWith(this.coarsestLevel + ".")) this.chunks.delete(old);
    }
    return chunk;
  }
  #keptChunk(level, n) {
    const key = level + "." + n, chunk = this.chunks.get(key);
    if (chunk) this.chunks.delete(key), this.chunks.set(key, chunk);
    return chunk;
  }
  /** The chunks of a level that have slices between two times: the first, and the one after the last. */
  #chunkRange(level, from, to) {
    const {begin, end} = this.levels[level];
    let first = firstIndexAbove(end, from), last = first;
    while (last < begin.length && begin[last] < to) last++;
    return [first, last];
  }
}

/** Returns the first index of a sorted list with a value above `value`. @param {ArrayLike<number>} list */
export function firstIndexAbove(list, value, from = 0, to = list.length) {
  while (from < to) {
    const middle = (from + to) >> 1;
    if (list[middle] > value) to = middle;
    else from = middle + 1;
  }
  return from;
}

/** @returns {Chunk} */
function chunkOf({first, slices}, bin) {
  const count = slices.begin.length, rows = new Map();
  const begin = new Float64Array(count), end = new Float64Array(count);
  for (let i = 0, n = 0; i < slices.rows.length; i += 2) {
    const last = n + slices.rows[i + 1];
    rows.set(slices.rows[i], [n, last]);
    for (let at = first; n < last; n++) {
      at += slices.begin[n] * bin;
      begin[n] = at, end[n] = at + slices.length[n] * bin;
    }
  }
  return {rows, begin, end, kind: Uint8Array.from(slices.kind), amount: Uint8Array.from(slices.amount),
    item: slices.item ? Int32Array.from(slices.item) : null};
}
