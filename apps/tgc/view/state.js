// The state of the page. The address contains it, so that every state has a link.

/** g: number of the graph; s: place (point between stages); r: rewrite of the stage before it, -1: none; n: selected
 * node; d: place to compare with, -1: none; p: graph of the other input to compare with, -1: its pair; o: compare with
 * the other input; t: text; u: second text, "": none; q: search; m: model view, or the list of graphs; k: with m, the
 * schedule of the shown graph instead of the list; e: estimated times even if there are
 * measured ones; a: index arithmetic has boxes; w: long lines are not wrapped; h: hidden panes, as letters (s stages, t
 * texts, d details); f: folds (folding.js); v: the view's position and scale
 * @typedef {{g: number, s: number, r: number, n: number, d: number, p: number, t: string, q: string, m: boolean,
 *   k: boolean, o: boolean, e: boolean, a: boolean, w: boolean, u: string, h: string, f: string[],
 *   v: number[] | null}} State */

export const kInitialState = {g: -1, s: -1, r: -1, n: -1, d: -1, p: -1, t: "pyrender", q: "", m: false, e: false,
  a: false,
  k: false, o: false, w: false, u: "", h: "", f: [], v: null};
const kFlags = ["m", "k", "o", "e", "a", "w"];

/** @param {State} state */
export function addressOf(state) {
  const out = new URLSearchParams();
  for (const key of ["g", "s", "r", "n", "d", "p"]) if (state[key] >= 0) out.set(key, String(state[key]));
  if (state.t !== kInitialState.t) out.set("t", state.t);
  if (state.q) out.set("q", state.q);
  for (const key of kFlags) if (state[key]) out.set(key, "1");
  if (state.u) out.set("u", state.u);
  if (state.h) out.set("h", state.h);
  if (state.f.length) out.set("f", state.f.join("."));
  if (state.v) out.set("v", state.v.join("_"));
  return "#" + out.toString();
}

/** @param {string} address @returns {State} */
export function stateOf(address) {
  const from = new URLSearchParams(address.replace(/^#/, "")), out = {...kInitialState};
  const number = (text) => (/^\d{1,9}$/.test(text || "") ? Number(text) : -1);
  for (const key of ["s", "r", "n", "d", "p"]) out[key] = number(from.get(key));
  out.g = number(from.get("g"));
  out.t = from.get("t") || out.t, out.q = from.get("q") || "", out.u = from.get("u") || "";
  out.h = [...new Set(from.get("h") || "")].filter((pane) => "std".includes(pane)).join("");
  for (const key of kFlags) out[key] = from.get(key) === "1";
  out.m ||= out.k;
  out.f = (from.get("f") || "").split(".").filter((word) => /^(\d{1,9}(-\d{1,9}|\*)?|m\d{0,9}|a|l)$/.test(word));
  const view = (from.get("v") || "").split("_").map(Number);
  out.v = view.length === 3 && view.every(Number.isFinite) && view[2] > 0 ? view : null;
  return out;
}

/** The states that were shown before, for the commands "back" and "forward". A frame without an origin, such as that of
 * a notebook, must not write the browser's history; there the page keeps the addresses itself. */
export class Visits {
  /** @param {(address: string) => void} show shows the state of an address */
  constructor(show) {
    this.show = show, this.kept = [location.hash], this.at = 0;
    this.isOwn = location.protocol === "about:";
    this.last = location.hash;
    for (const event of ["popstate", "hashchange"]) addEventListener(event, () => this.#showBrowserAddress());
  }
  /** Notes the address of the shown state; `isStep`: "back" returns to the state before it.
   * @param {string} address @param {boolean} isStep */
  recordAddress(address, isStep) {
    if (!this.isOwn) {
      history[isStep ? "pushState" : "replaceState"](null, "", address);
      this.last = location.hash;
      return;
    }
    if (isStep) this.kept.splice(++this.at);
    this.kept[this.at] = address;
  }
  // Shows the state of the browser's address, once for each change: a changed fragment causes both events, and by the
  // second one the page may already have replaced the address.
  #showBrowserAddress() {
    if (location.hash !== this.last) this.show(this.last = location.hash);
  }
  /** Goes back (-1) or forward (1). @param {number} by */
  go(by) {
    if (!this.isOwn) return history.go(by);
    if (this.kept[this.at + by] !== undefined) this.show(this.kept[this.at += by]);
  }
}
