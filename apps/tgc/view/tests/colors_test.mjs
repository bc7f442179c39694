// Tests that every op of every release, as a page lists them, has a colour, except OTHER. Exits with 1 on a failure.
import assert from "node:assert/strict";
import {colorOfOp} from "../colors.js";
import {graphsOf} from "./pages.mjs";

const [{ops}] = await graphsOf(process.argv[2]);
assert.deepEqual(ops.filter((op) => colorOfOp(op) === "#ffffff"), ["OTHER"]);
console.log(`${ops.length} ops have colours`);
