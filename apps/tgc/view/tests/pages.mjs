// Reads the graphs of a page that `tgc view -o` wrote, for tests under node.
import {readFileSync} from "node:fs";
import {Recorded} from "../data.js";

/** @param {string} file */
export async function graphsOf(file) {
  const blobs = [...readFileSync(file, "utf8")
    .matchAll(/<script type="application\/octet-stream" id="graph\d+">([^<]*)/g)];
  return Promise.all(blobs.map((b) => Recorded.read(b[1])));
}
