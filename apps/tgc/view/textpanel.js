// The panel of texts: one text or two side by side, with one tab for each text. The selected node is marked in the
// texts.
import {byId, element} from "./list.js";
import {countText} from "./amounts.js";
import {linesOfNodes, textsAt} from "./texts.js";
import {mergeOtherTexts} from "./bothtexts.js";
import {spansOf} from "./subexpressions.js";
import {TextView} from "./textview.js";
import {plainText} from "./data.js";

// By op: the mnemonics of its instructions, on any machine.
const kMnemonics = {ADD: /add|fma|fmla|mad|mac|lea/i, MUL: /mul|fma|fmla|mad|mac/i, MAX: /max|cmp/i,
  CMPLT: /cmp|comi|set/i, SQRT: /sqrt/i, RECIPROCAL: /div|rcp/i};

export class TextPanel {
  /** @param {import("./app.js").App} app */
  constructor(app) {
    this.app = app, this.cache = new Map();
    const view = (home, label, textOf) =>
      new TextView(byId(home), label, (line, at) => this.choose(line, at, textOf()));
    this.list = view("text", "lines of the text", () => this.text);
    this.second = view("text2", "lines of the second text", () => this.other);
    this.marks = {};
  }

  show() {
    const {graph, story, state} = this.app;
    const own = textsAt(graph, story, Math.min(state.s, story.last), this.cache);
    const texts = this.texts = state.o && graph.other ? mergeOtherTexts(this.app, own, this.cache) : own;
    this.text = texts.find((t) => t.kind === state.t) || texts[0];
    this.other = state.u ? texts.find((t) => t.kind === state.u) || null : null;
    this.#showTabs(byId("tabs"), "text", this.text, "t");
    this.#showTabs(byId("tabs2"), "text2", this.other, "u");
    this.mark();
  }
  #showTabs(home, panel, shown, key) {
    home.replaceChildren(...this.texts.map((t) => {
      const tab = element("button", "", t.title);
      tab.setAttribute("role", "tab"), tab.setAttribute("aria-controls", panel);
      tab.setAttribute("aria-selected", String(t === shown));
      tab.addEventListener("click", () => this.app.go({[key]: t.kind}));
      return tab;
    }));
  }

  /** Makes the texts that the panel shows at a place. @returns {boolean} whether any was not made before */
  prepare(place) {
    const {graph, story} = this.app, had = this.cache.size;
    textsAt(graph, story, place, this.cache);
    return this.cache.size > had;
  }

  mark() {
    byId("text").parentElement.classList.toggle("unwrapped", this.app.state.w);
    this.marks = this.#markLines(this.list, this.text);
    if (this.other) this.#markLines(this.second, this.other);
  }
  /** @param {TextView} view @param {import("./texts.js").Text} text */
  #markLines(view, text) {
    const {story, state, query, scene} = this.app;
    const marks = {own: new Set(), near: new Set(), came: new Set(), went: new Set(), found: new Set()};
    if (!text) return marks;
    const lit = this.app.relatedNodesAt(text.place);
    if (lit.size) Object.assign(marks, linesOfNodes(text, story, lit));
    if (text.marks) Object.assign(marks, text.marks);
    else if (text.kind === "pyrender" && text.place === state.s) {
      for (const kind of state.r < 0 ? ["came", "went"] : ["came"]) {  // the result has no removed node
        const {own, near} = linesOfNodes(text, story, (scene.news || scene)[kind]);
        // for a rewrite, mark only the lines of its own nodes
        marks[kind] = state.r < 0 ? new Set([...own, ...near]) : own;
      }
    }
    if (!query.empty) text.lines.forEach((line, i) => { if (query.line(line)) marks.found.add(i); });
    const lines = this.#linesToShow(text, lit, marks);
    const isChosen = this.chosen !== undefined && marks.own.has(this.chosen) && view === this.list;
    const selected = isChosen ? this.chosen : lines.length ? lines[0] : -1;
    view.show(text.lines);
    view.box.classList.toggle("table", text.kind === "linear");
    view.mark(marks, lit.size ? this.#markedParts(text, lit, marks) : new Map(), selected);
    view.reveal(selected, marks.own.size ? lines : []);
    return marks;
  }

  // Returns the marked lines to which the text scrolls, the first one first: lines of the nodes that still have the op
  // of the selected node, if there are any; in assembly, only those with an instruction of the op, if there are
  // any.
  #linesToShow(text, lit, marks) {
    const {graph, story, state} = this.app, op = state.n >= 0 ? graph.opName(state.n) : "";
    const same = new Set([...lit].filter((n) => graph.opName(n) === op));
    const ofSame = linesOfNodes(text, story, same), {own, near} = ofSame.own.size + ofSame.near.size ? ofSame : marks;
    const lines = [...own.size ? own : near].sort((a, b) => a - b), mnemonic = kMnemonics[op];
    const has = text.kind === "asm" && mnemonic ? lines.filter((i) => mnemonic.test(text.lines[i])) : [];
    return has.length ? has : lines;
  }

  // Returns the parts of lines that show the lit nodes without a line of their own.
  #markedParts(text, lit, {near}) {
    const out = new Map(), {graph} = this.app;
    for (const line of near) {
      const spans = spansOf(graph, text, line), found = [...lit].find((n) => spans.has(n));
      if (found !== undefined) out.set(line, spans.get(found));
    }
    return out;
  }

  /** Selects the node of a line, or of the smallest part of it around a position.
   * @param {number} i @param {number} at position in the line; -1: none
   *  @param {import("./texts.js").Text} text */
  choose(i, at = -1, text = this.text) {
    const {app} = this, nodes = text.nodesOf.get(i);
    this.chosen = i;
    const parts = at < 0 ? [] : [...spansOf(app.graph, text, i)].filter(([, [from, to]]) => from <= at && at < to);
    parts.sort(([, a], [, b]) => (a[1] - a[0]) - (b[1] - b[0]));
    const shown = nodes && nodes[nodes.length - 1];
    if (text.marks && app.scene.drawing.home.has(shown)) app.go({n: shown});
    else if (parts.length) app.selectAt(text.place, parts[0][0]);
    else if (nodes && nodes.length) app.selectAt(text.place, nodes[nodes.length - 1]);
    else app.notify("no node is shown in line " + (i + 1) + ": " + plainText(text.lines[i]).trim());
  }

  nextTab(by) {
    const at = this.texts.indexOf(this.text);
    this.app.go({t: this.texts[(at + by + this.texts.length) % this.texts.length].kind});
  }

  async copy() {
    const isCopied = await this.list.copy(), {title, lines} = this.text;
    this.app.notify(isCopied ? `${title} copied: ${countText(lines.length, "line")}` : "the browser refuses to copy");
  }
}
