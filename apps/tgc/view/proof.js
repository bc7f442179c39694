/** @typedef {import("./app.js").App} App */

/** `says`: the text that the page shows; default: the name. `sign`: the badge. `rank`: higher is worse.
 * @type {Record<string, {name: string, says?: string, sign: string, rank: number}>} */
const kVerdicts = {p: {name: "proven", sign: "\u2713", rank: 0},
  s: {name: "sampled", says: "tested, not proven", sign: "\u2248", rank: 1},
  u: {name: "unknown", sign: "?", rank: 2}, r: {name: "refuted", sign: "\u2717", rank: 3}};

/** Returns the text that the page shows for a verdict. @param {string} name */
export function verdictText(name) {
  const verdict = Object.values(kVerdicts).find((v) => v.name === name);
  return verdict && verdict.says || name;
}

/** Returns how many rewrites of the shown graph have each verdict: "124 proven, 1 refuted, 3 not checked".
 * @param {App} app */
export function countsText({index, state, graph}) {
  const letters = index.graphs[state.g].proof.marks.join("");
  const all = graph.stages.reduce((sum, s) => sum + s.count, 0);
  const counts = Object.entries(kVerdicts).map(([letter, {name}]) => [letters.split(letter).length - 1, name]);
  return [...counts, [all - letters.length, "not checked"]].filter(([count]) => count > 0)
    .map(([count, name]) => count + " " + verdictText(String(name))).join(", ");
}

/** Returns the marks of a stage, a letter for each rewrite; "": none. @param {App} app @param {number} place */
function verdictMarks(app, place) {
  const {proof} = app.index.graphs[app.state.g];
  return proof && place > 0 && proof.marks[place - 1] || "";
}

/** Returns the worst verdict on the rewrites `first` to `last` of the stage before `place`; null if there is none.
 * @param {App} app @param {number} place @param {number} [first] @param {number} [last] */
export function verdictOf(app, place, first = 0, last = Infinity) {
  const some = [...verdictMarks(app, place)].slice(first, last + 1).map((letter) => kVerdicts[letter]);
  return some.length ? some.reduce((worst, v) => (v.rank > worst.rank ? v : worst)) : null;
}

/** Returns why a rewrite is not proven, and its counterexample. @param {App} app
 * @returns {{why: string, counterexample?: Record<string, string>, before?: string[], after?: string[]} | undefined} */
export function proofNoteOf(app, place, rewrite) {
  return app.index.graphs[app.state.g].proof.notes.find((note) => note.stage === place - 1 && note.rewrite === rewrite);
}

/** Returns for what values a rewrite is wrong, "expected 1, got 2 for r0 = 0", and what a run of the kernel stores.
 * @param {Record<string, string>} example */
export function exampleText({before, after, stored, ...inputs}) {
  const where = Object.entries(inputs).map(([name, value]) => `${name} = ${value}`).join(", ");
  const sides = before === undefined ? "" : expectedText(before, after, where);
  const whole = stored && (sides ? "a run of the kernel, for other inputs: " : "") + stored;
  return [sides, whole].filter(Boolean).join("; ");
}

const kShownDigits = 7;  // digits that are shown of a fraction, unless expected and actual value would look equal

/** Returns "expected 1, got 2 for r0 = 0". @param {string} right @param {string} wrong @param {string} where */
function expectedText(right, wrong, where) {
  const short = (text) => {
    const isFraction = /^-?\d+\.\d+(e[-+]?\d+)?$/.test(text);
    return isFraction ? String(Number(Number(text).toPrecision(kShownDigits))) : text;
  };
  const [a, b] = short(right) === short(wrong) ? [right, wrong] : [short(right), short(wrong)];
  return `expected ${a}, got ${b}` + (where ? " for " + where : "");
}

/** Returns what is wrong at a point that a bisection found: "expected 1, got 2 for r0 = 0", "data0[5]: expected 1, got
 * 2 for data1[5] = 3". @param {Record<string, string>} [point] */
export function pointText({element = "", before = "", after = "", ...values} = {}) {
  const where = Object.entries(values).map(([name, value]) => `${name} = ${value}`).join(", ");
  return before || after ? (element && element + ": ") + expectedText(before, after, where) : "";
}

/** Returns the next rewrite with the graph's worst verdict; null if none is worse than "proven". @param {App} app */
export function nextUnproven(app) {
  const {proof} = app.index.graphs[app.state.g], {s, r} = app.state;
  const letters = ["r", "u", "s"].find((letter) => proof.marks.some((marks) => marks.includes(letter)));
  if (!letters) return null;
  const all = proof.marks.flatMap((marks, stage) => [...marks].map((letter, i) => ({letter, s: stage + 1, r: i})))
    .filter(({letter}) => letter === letters);
  return all.find((at) => at.s > s || at.s === s && at.r > r) || all[0];
}
