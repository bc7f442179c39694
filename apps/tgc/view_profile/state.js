// The state of the page. The address contains it, so that every state has a link.

/** r: number of the run, -1: the host and devices, -2: none yet; v: the times at the left and right border, null: all;
 * i: the selected instruction or range of the host, -1: none; e: the selected execution (its trace, wave and begin);
 * t: the table; c: numbers of the groups that the user opened or closed
 * @typedef {{r: number, v: number[] | null, i: number, e: number[] | null, t: string, c: number[]}} State */

export const kInitialState = {r: -2, v: null, i: -1, e: null, t: "code", c: []};
const kTables = ["code", "source", "hot", "counters", "kernels", "charts",
  "against"];

/** @param {State} state */
export function addressOf(state) {
  const out = new URLSearchParams();
  if (state.r !== kInitialState.r) out.set("r", String(state.r));
  if (state.v) out.set("v", state.v.map((x) => Number(x.toFixed(2))).join("_"));
  if (state.i >= 0) out.set("i", String(state.i));
  if (state.e) out.set("e", state.e.join("_"));
  if (state.t !== kInitialState.t) out.set("t", state.t);
  if (state.c.length) out.set("c", state.c.join("."));
  return "#" + out.toString();
}

/** @param {string} address @param {number} runs @param {number} slowest the run that a page opens with
 * @returns {State} */
export function stateOf(address, runs, slowest) {
  const from = new URLSearchParams(address.replace(/^#/, ""));
  const numbers = (key, separator) => (from.get(key) || "").split(separator).filter(Boolean).map(Number)
    .filter(Number.isFinite);
  const whole = (key, least, most, otherwise) => {
    const n = Number(from.get(key) === null ? NaN : from.get(key));
    return Number.isInteger(n) && n >= least && n <= most ? n : otherwise;
  };
  const v = numbers("v", "_"), e = numbers("e", "_"), t = from.get("t") || kInitialState.t;
  return {r: whole("r", -1, runs - 1, runs ? slowest : -1), v: v.length === 2 && v[0] < v[1] ? v : null,
    i: whole("i", 0, 1e7, -1), e: e.length === 3 ? e : null, t: kTables.includes(t) ? t : kInitialState.t,
    c: numbers("c", ".")};
}
