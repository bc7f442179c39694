// The panel of texts, at the right, with one tab for each text. The selected node is marked in all texts.
import {RowList, element} from "./list.js";
import {linesOfNodes, textsAt} from "./texts.js";
import {plain} from "./data.js";

const kLineHeight = 18;

export class TextPanel {
  /** @param {HTMLElement} tabs @param {HTMLElement} home @param {import("./app.js").App} app */
  constructor(tabs, home, app) {
    this.tabs = tabs, this.app = app, this.cache = new Map();
    this.marks = {own: new Set(), near: new Set(), came: new Set(), went: new Set(), found: new Set()};
    this.list = new RowList(home, {label: "lines of the text", role: "listbox", rowRole: "option", height: kLineHeight,
      fill: (row, line, i) => this.#fill(row, line, i), chosen: (_, i) => this.choose(i)});
    this.list.box.addEventListener("keydown", (e) => {
      const by = e.key === "ArrowDown" ? 1 : e.key === "ArrowUp" ? -1 : 0;
      if (!by || e.shiftKey) return;
      e.preventDefault(), e.stopPropagation();
      this.choose(Math.max(0, Math.min(this.list.items.length - 1, this.list.selected + by)));
    });
  }

  show() {
    const {graph, story, state} = this.app;
    const texts = textsAt(graph, story, Math.min(state.s, story.last), this.cache);
    this.text = texts.find((t) => t.kind === state.t) || texts[0];
    this.texts = texts;
    this.tabs.replaceChildren(...texts.map((t) => {
      const tab = element("button", "", t.title);
      tab.setAttribute("role", "tab"), tab.setAttribute("aria-controls", "text");
      tab.setAttribute("aria-selected", String(t === this.text));
      tab.addEventListener("click", () => this.app.go({t: t.kind}));
      return tab;
    }));
    this.mark();
  }

  /** Makes the texts of a graph. Returns whether that took time. @returns {boolean} whether that took time */
  prepare(place) {
    const {graph, story} = this.app, had = this.cache.size;
    textsAt(graph, story, place, this.cache);
    return this.cache.size > had;
  }

  mark() {
    const {story, state, query} = this.app, text = this.text;
    this.marks = {own: new Set(), near: new Set(), came: new Set(), went: new Set(), found: new Set()};
    if (!text) return;
    const lit = this.app.litAt(text.place);
    if (lit.size) Object.assign(this.marks, linesOfNodes(text, story, lit));
    if (text.kind === "pyrender" && text.place === state.s) {
      for (const kind of ["came", "went"]) {
        const {own, near} = linesOfNodes(text, story, this.app.scene[kind]);
        // for a rewrite, mark only the lines of its own nodes
        this.marks[kind] = state.r < 0 ? new Set([...own, ...near]) : own;
      }
    }
    if (!query.empty) text.lines.forEach((line, i) => { if (query.line(line)) this.marks.found.add(i); });
    const sameText = this.list.items === text.lines;
    const first = Math.min(...this.marks.own, ...(this.marks.own.size ? [] : this.marks.near));
    const isChosen = this.chosen !== undefined && this.marks.own.has(this.chosen);
    const selected = isChosen ? this.chosen : Number.isFinite(first) ? first : -1;
    if (sameText) this.list.refresh(selected);
    else this.list.show(text.lines, selected), this.list.scrollTo(0);
    if (![...this.marks.own].some((l) => this.list.isSeen(l))) this.list.reveal(selected);
  }

  /** Selects the node of a line. @param {number} i */
  choose(i) {
    const {app, text} = this, nodes = text.nodesOf.get(i);
    this.chosen = i;
    this.list.refresh(i);
    if (nodes && nodes.length) app.selectAt(text.place, nodes[nodes.length - 1]);
    else app.say("line " + (i + 1) + " is of no node: " + plain(text.lines[i]).trim());
  }

  nextTab(by) {
    const at = this.texts.indexOf(this.text);
    this.app.go({t: this.texts[(at + by + this.texts.length) % this.texts.length].kind});
  }

  #fill(row, line, i) {
    const m = this.marks;
    for (const kind of ["came", "went", "near", "found"]) if (m[kind].has(i)) row.classList.add(kind);
    if (m.own.has(i)) row.classList.add("lit");
    row.append(element("span", "number", (m.came.has(i) ? "+ " : m.went.has(i) ? "\u2212 " : "") + (i + 1)),
      element("span", "code", plain(line)));
  }
}
