// Reads the graphs of a page that `tgc view -o` wrote, for tests under node.
import {readFileSync} from "node:fs";
import {RecordedGraph, unpackJson} from "../data.js";

/** @param {string} file */
export async function graphsOf(file) {
  const blobs = readFileSync(file, "utf8")
    .matchAll(/<script type="application\/octet-stream" id="graph(?:s(\d+)-(\d+)|\d+)">([^<]*)/g);
  return Promise.all([...blobs].flatMap(([, first, last, text]) => {
    if (!first) return RecordedGraph.read(text);
    const texts = new Map();
    const unpack = (part) => texts.get(part) || texts.set(part, unpackJson(part)).get(part);
    return Array.from({length: last - first}, (_, at) => RecordedGraph.read({text, at}, unpack));
  }));
}
