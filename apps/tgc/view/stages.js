// The list of stages, with the rewrites of the selected stage.
import {RowList, element} from "./list.js";
import {counted} from "./amounts.js";
import {plain} from "./data.js";

/** @typedef {{kind: "place" | "quiet" | "run" | "rewrite", place: number, index: number, count: number,
 *   depth: number}} Row */

const kRowHeight = 25;

export class StageList {
  /** @param {HTMLElement} home @param {import("./app.js").App} app */
  constructor(home, app) {
    this.app = app;
    this.openQuiet = new Set();
    this.list = new RowList(home, {label: "stages and rewrites", role: "tree", rowRole: "treeitem", height: kRowHeight,
      fill: (row, item) => this.#fill(row, item), chosen: (item) => this.choose(item)});
  }

  show() {
    const {graph, state} = this.app, of = [state.s, ...this.openQuiet].join();
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
      const isQuiet = (stage) => !stage.changed && !stage.count && !this.app.differs(stage.index + 1);
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
      if (p + 1 === state.s) this.#rewrites(rows, p + 1);
    }
    return rows;
  }
  #isShown(row) {
    const {state} = this.app;
    if (row.place !== state.s) return false;
    return row.kind === "place" ? state.r < 0 : row.kind === "rewrite" && row.index === state.r;
  }

  #rewrites(rows, place) {
    const stage = this.app.graph.stages[place - 1];
    let next = 0;
    const runs = stage.runs;
    stage.rewrites.forEach((rewrite, index) => {
      while (next < runs.length && runs[next].begin < rewrite.at) {
        const run = runs[next++];
        if (run.rewrites && (run.depth || runs.length > 1 && run.name !== stage.name))
          rows.push({kind: "run", place, run, depth: run.depth});
      }
      rows.push({kind: "rewrite", place, index, depth: rewrite.run ? rewrite.run.depth : 0});
    });
  }

  /** @param {any} row */
  choose(row) {
    if (row.kind === "quiet") {
      this.openQuiet.has(row.place) ? this.openQuiet.delete(row.place) : this.openQuiet.add(row.place);
      this.show();
    } else if (row.kind === "place") return this.goTo(row.place);
    else if (row.kind === "rewrite") return this.app.go({s: row.place, r: row.index, d: -1, m: false});
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

  /** Chooses the next or previous row that shows a graph or a rewrite. @param {number} by */
  step(by) {
    let i = this.rows.findIndex((r) => this.#isShown(r));
    for (i += by; i >= 0 && i < this.rows.length; i += by)
      if (this.rows[i].kind === "place" || this.rows[i].kind === "rewrite") return this.choose(this.rows[i]);
  }

  #fill(row, item) {
    const {graph, app} = {graph: this.app.graph, app: this.app};
    const say = (kind, text) => row.append(element("span", kind, plain(text)));
    const level = item.kind === "rewrite" ? 2 + item.depth : item.kind === "run" ? 1 + item.depth : 1;
    row.setAttribute("aria-level", String(level));
    if (item.kind === "quiet") {
      row.classList.add("stage", "quiet");
      row.setAttribute("aria-expanded", String(this.openQuiet.has(item.place)));
      const one = graph.stages[item.place - 1];
      const sign = this.openQuiet.has(item.place) ? "\u25be " : "\u25b8 ";
      say("name", sign + (item.count === 1 ? one.name : item.count + " stages") + ", no change");
    } else if (item.kind === "place") {
      row.classList.add("stage");
      const stage = item.place ? graph.stages[item.place - 1] : null;
      if (stage && !stage.changed) row.classList.add("quiet");
      if (stage && stage.to < 0) row.classList.add("failed");
      say("name", app.placeName(item.place));
      if (stage && stage.to >= 0) say("count", counted(app.nodeCount(item.place), "node"));
      else if (!stage) say("count", counted(app.nodeCount(0), "node"));
      if (stage && stage.count) say("count", "\u00d7" + stage.count);
      const watched = stage && stage.ms ? ": " + stage.count + " rewrites, " + stage.ms + " ms, watched" : "";
      row.title = stage ? stage.name + watched : "the input graph";
      if (stage && stage.to < 0) say("count", "refused");
      if (app.foundAt.get(item.place)) say("count found", app.foundAt.get(item.place) + " found");
      if (app.differs(item.place)) say("count failed", "\u2260");
    } else if (item.kind === "run") {
      row.classList.add("run");
      row.style.paddingLeft = 22 + 14 * item.depth + "px";
      say("name", item.run.name + (item.run.bottomUp ? ", bottom-up" : ""));
      say("count", "\u00d7" + item.run.rewrites);
    } else {
      const rewrite = graph.stages[item.place - 1].rewrites[item.index], rule = graph.rules[rewrite.rule];
      row.classList.add("rewrite");
      row.style.paddingLeft = 22 + 14 * item.depth + "px";
      say("name", rule.name + (rule.branch ? " [" + rule.branch + "]" : ""));
      say("count", "#" + graph.number[rewrite.before]);
      row.title = rule.file + ":" + rule.line + (rule.source ? " (" + rule.source + ")" : "");
    }
  }
}
