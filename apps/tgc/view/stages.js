import {RowList, element} from "./list.js";
import {countText} from "./amounts.js";
import {plainText} from "./data.js";
import {verdictOf, verdictText} from "./proof.js";
import {changeText, loopChanges} from "./rewrites.js";

/** A row of the list of stages. "quiet": successive stages without a change; "run": a graph rewrite in a stage;
 * "group": successive rewrites of one rule, or of several in turn; "filter": the search, if it selects rules of which
 * the rewrites are listed.
 * @typedef {{kind: "place" | "quiet" | "run" | "group" | "rewrite" | "filter", place: number, index: number,
 *   last: number, count: number, depth: number, within: string, run: import("./data.js").Run,
 *   rules: import("./data.js").Rule[]}} Row */

const kRowHeight = 25;
// Rewrites of several rules in turn form one group: maximum number of rules in a turn, minimum number of turns.
const kLongestPeriod = 4, kLeastRounds = 3;

/** Returns the period with which the rewrites from `from` on recur: 2 for A B A B A B; 1 also if they do not recur.
 * @template T @param {T[]} list @param {number} from @param {(a: T, b: T) => boolean} isSame */
function periodAt(list, from, isSame) {
  for (let period = 1; period <= kLongestPeriod; period++) {
    let end = from + period;
    while (end < list.length && isSame(list[end - period], list[end])) end++;
    if (end - from >= (period === 1 ? 2 : kLeastRounds * period)) return period;
  }
  return 1;
}

export class StageList {
  /** @param {HTMLElement} home @param {import("./app.js").App} app */
  constructor(home, app) {
    this.app = app;
    this.openQuiet = new Set(), this.openGroups = new Set();
    /** @type {Map<import("./data.js").Stage, string[]>} */ this.loops = new Map();
    this.list = new RowList(home, {label: "stages and rewrites", role: "tree", rowRole: "treeitem", height: kRowHeight,
      fill: (row, item) => this.#fill(row, item), chosen: (item, _, isShift) => this.choose(item, isShift)});
  }

  show() {
    const {graph, state} = this.app, filter = this.#filter() ? state.q : "";
    const of = [state.s, state.r, filter, ...this.openQuiet, ...this.openGroups].join();
    if (this.rowsOf !== of || this.rowsGraph !== graph)
      this.rows = this.#rows(), this.rowsOf = of, this.rowsGraph = graph;
    const selected = this.rows.findIndex((r) => this.#isShown(r));
    this.list.show(this.rows, selected, true);
  }
  #rows() {
    const {graph, state, story} = this.app, rows = [];
    rows.push({kind: "place", place: 0});
    const quietFrom = (p) => {
      let end = p;
      const isQuiet = (stage) => !stage.changed && !stage.count && !this.app.differsAt(stage.index + 1);
      while (end < story.last && isQuiet(graph.stages[end]) && end + 1 !== state.s) end++;
      return end;
    };
    for (let p = 0; p < graph.stages.length; p++) {
      const end = quietFrom(p);
      if (end > p + 1 || (end > p && end - p === 1)) {
        rows.push({kind: "quiet", place: p + 1, count: end - p});
        if (this.openQuiet.has(p + 1)) for (let k = p; k < end; k++) rows.push({kind: "place", place: k + 1});
        p = end - 1;
        continue;
      }
      rows.push({kind: "place", place: p + 1});
      if (p + 1 === state.s) this.#addRewriteRows(rows, p + 1);
    }
    return rows;
  }
  #isShown(row) {
    const {state} = this.app;
    if (row.place !== state.s) return false;
    return row.kind === "place" ? state.r < 0 : row.kind === "rewrite" && row.index === state.r;
  }
  // With a word rule:NAME in the search, only rewrites of these rules are listed.
  #filter() { return /(^|\s)rule:\S/.test(this.app.state.q); }

  #addRewriteRows(rows, place) {
    const {graph, state, query} = this.app, stage = graph.stages[place - 1], isFiltered = this.#filter();
    const says = stage.name + " " + stage.alias, started = new Set();
    const list = stage.rewrites.map((rewrite, index) => ({rewrite, index}))
      .filter(({rewrite}) => !isFiltered || query.rule(graph.rules[rewrite.rule].name, says));
    if (isFiltered) rows.push({kind: "filter", place, count: list.length});
    const isSame = (a, b) => a.rewrite.rule === b.rewrite.rule && a.rewrite.run === b.rewrite.run;
    for (let i = 0, end = 0; i < list.length; i = end) {
      const {rewrite: {run}, index} = list[i], period = periodAt(list, i, isSame);
      for (end = i + period; end < list.length && isSame(list[end - period], list[end]);) end++;
      end -= (end - i) % period;
      const isNamed = run && (run.depth > 0 || stage.runs.length > 1 && run.name !== stage.name);
      const isAlone = run && run.rewrites === 1;
      if (isNamed && !isAlone && !started.has(run)) rows.push({kind: "run", place, run, depth: run.depth});
      started.add(run);
      const depth = run ? run.depth : 0, within = isNamed && isAlone ? run.name : "";
      const isGroup = end > i + period;
      const group = {kind: "group", place, index, last: list[end - 1].index, count: (end - i) / period, depth,
        rules: list.slice(i, i + period).map(({rewrite}) => graph.rules[rewrite.rule])};
      if (isGroup) rows.push(group);
      if (isGroup && !this.#isOpen(group, state.r)) continue;
      for (let k = i; k < end; k++)
        rows.push({kind: "rewrite", place, index: list[k].index, depth: depth + (isGroup ? 1 : 0), within});
    }
  }
  // Returns whether the rewrites of a group have rows: the user opened it, or the shown rewrite is one of them.
  #isOpen({place, index, last}, shown) {
    return this.openGroups.has(place + ":" + index) || shown >= index && shown <= last;
  }

  /** @param {any} row @param {boolean} [isShift] */
  choose(row, isShift = false) {
    if (isShift && row.kind === "place") this.compareWith(row.place);
    else if (row.kind === "quiet") {
      this.openQuiet.has(row.place) ? this.openQuiet.delete(row.place) : this.openQuiet.add(row.place);
      this.show();
    } else if (row.kind === "group") return this.#toggle(row);
    else if (row.kind === "filter") return this.app.go({q: ""});
    else if (row.kind === "place") return this.goTo(row.place);
    else if (row.kind === "rewrite") return this.app.go({s: row.place, r: row.index, d: -1, m: false});
  }
  #toggle({place, index, last}) {
    const key = place + ":" + index, {r} = this.app.state;
    const has = this.rows.some((row) => row.kind === "rewrite" && row.index === index);
    if (has) this.openGroups.delete(key);
    else this.openGroups.add(key);
    if (has && r >= index && r <= last) return this.app.go({r: -1});
    return this.show();
  }

  /** Shows all stages that changed nothing, or hides them. */
  toggleQuiet() {
    const all = this.rows.filter((r) => r.kind === "quiet").map((r) => r.place);
    this.openQuiet = all.every((place) => this.openQuiet.has(place)) ? new Set() : new Set(all);
    this.show();
  }

  /** Shows the graph at a point between stages, compared with that at the pinned point, if the user has pinned one. */
  goTo(s) {
    const {app} = this;
    return app.go({s, r: -1, d: app.pinned === s ? -1 : app.pinned, m: false});
  }

  /** Compares the shown graph, and those that the user chooses next, with the graph at a point between stages. */
  compareWith(place) {
    const {app} = this;
    app.pinned = place;
    app.notify("all stages are compared with " + app.placeName(place));
    return place === app.state.s ? app.show(app.state) : this.goTo(app.state.s);
  }

  /** Chooses the next or previous row that shows a graph or a rewrite; of a closed group, its first or last rewrite.
   * @param {number} by */
  step(by) {
    let i = this.rows.findIndex((r) => this.#isShown(r));
    const isClosed = (row, next) => row.kind === "group" && !(next && next.index === row.index);
    for (i += by; i >= 0 && i < this.rows.length; i += by) {
      const row = this.rows[i];
      if (row.kind === "place" || row.kind === "rewrite") return this.choose(row);
      if (!isClosed(row, this.rows[i + 1])) continue;
      return this.app.go({s: row.place, r: by > 0 ? row.index : row.last, d: -1, m: false});
    }
  }

  #loops(stage) {
    const {graph} = this.app;
    if (!this.loops.has(stage))
      this.loops.set(stage, loopChanges(graph, stage.from, stage.to));
    return this.loops.get(stage);
  }

  #fill(row, item) {
    const {graph, app} = {graph: this.app.graph, app: this.app};
    const say = (kind, text) => row.append(element("span", kind, plainText(text)));
    const badge = (verdict) => {
      if (!verdict) return;
      const mark = element("span", "count proof " + verdict.name, verdict.sign);
      mark.title = verdictText(verdict.name);
      mark.setAttribute("aria-label", mark.title);
      row.append(mark);
    };
    const base = {rewrite: 2, group: 2, run: 1}[item.kind], level = base ? base + item.depth : 1;
    row.setAttribute("aria-level", String(level));
    if (item.kind === "quiet") {
      row.classList.add("stage", "quiet");
      row.setAttribute("aria-expanded", String(this.openQuiet.has(item.place)));
      const one = graph.stages[item.place - 1];
      const sign = this.openQuiet.has(item.place) ? "\u25be " : "\u25b8 ";
      say("name", sign + (item.count === 1 ? one.name : item.count + " stages")), say("count more", "no change");
    } else if (item.kind === "place") {
      row.classList.add("stage");
      const stage = item.place ? graph.stages[item.place - 1] : null;
      if (stage && !stage.changed) row.classList.add("quiet");
      if (stage && stage.to < 0) row.classList.add("failed");
      say("name", app.placeName(item.place));
      const loops = stage ? this.#loops(stage) : [], nodes = countText(app.nodeCount(item.place), "node");
      if (!loops.length && (!stage || stage.to >= 0)) say("count nodes", nodes);
      const made = stage ? stage.count - (stage.discarded || 0) : 0;
      if (made) say("count", "\u00d7" + made);
      if (loops.length) say("count loops", loops[0] + (loops.length > 1 ? " \u2026" : ""));
      const watched = stage && stage.ms ? ": " + made + " rewrites, " + stage.ms + " ms, watched" : "";
      row.title = stage ? stage.name + watched + "\n" + [nodes, ...loops].join("\n") : "the input graph";
      row.title += "\nwith Shift: compare with this";
      if (stage && stage.to < 0) say("count", "refused");
      badge(verdictOf(app, item.place));
      if (app.foundAt.get(item.place)) say("count found", app.foundAt.get(item.place) + " found");
      if (app.differsAt(item.place)) say("count failed", "\u2260");
    } else if (item.kind === "filter") {
      row.classList.add("run");
      row.style.paddingLeft = "22px";
      row.title = "list all rewrites";
      say("name", "\u2715 only " + this.app.state.q);
      say("count", item.count + " of " + graph.stages[item.place - 1].count);
    } else if (item.kind === "run") {
      row.classList.add("run");
      row.style.paddingLeft = 22 + 14 * item.depth + "px";
      say("name", item.run.name + (item.run.bottomUp ? ", bottom-up" : ""));
      say("count", "\u00d7" + item.run.rewrites);
    } else {
      const rewrite = graph.stages[item.place - 1].rewrites[item.index], rule = graph.rules[rewrite.rule];
      const change = item.kind === "group" ? "" : changeText(graph, rewrite), name = nameOfRule(rule);
      row.classList.add("rewrite");
      row.style.paddingLeft = 22 + 14 * item.depth + "px";
      if (item.kind === "group") {
        const isOpen = this.rows.some((r) => r.kind === "rewrite" && r.index === item.index);
        row.setAttribute("aria-expanded", String(isOpen));
        say("name", (isOpen ? "\u25be " : "\u25b8 ") + item.rules.map(nameOfRule).join(", "));
        say("count", "\u00d7" + item.count);
        badge(verdictOf(app, item.place, item.index, item.last));
      } else {
        // recordings of tinygrad name rules by their files and lines
        const short = rule.name === "substitute" && item.within || name.replace(/^[\w/]*\/(?=\w+\.py:)/, "");
        say("rule", short), say("what", change), badge(verdictOf(app, item.place, item.index, item.index));
        row.title = plainText([name, change, item.within && "within " + item.within].filter(Boolean).join("\n") + "\n");
      }
      row.title += plainText(rule.file + ":" + rule.line + (rule.source ? " (" + rule.source + ")" : ""));
    }
  }
}

/** Returns the name of a rule with the branch that applied: "divmod-general [cancel]".
 * @param {import("./data.js").Rule} rule */
export function nameOfRule(rule) { return rule.name + (rule.branch ? " [" + rule.branch + "]" : ""); }
