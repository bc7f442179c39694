import {countText, timeText} from "../view/amounts.js";
import {plainText, unpackJson} from "../view/data.js";
import {buttonOf, dialog, installDialog, showTable, toast} from "../view/dialogs.js";
import {byId, element} from "../view/list.js";
import {followTheme, setTheme} from "../view/theme.js";
import {TimeCanvas} from "./canvas.js";
import {chartsOfRun, comparisonOfRun} from "./charts.js";
import {documentText} from "./documents.js";
import {colorOf, descriptionOf} from "./kinds.js";
import {lanesOf} from "./lanes.js";
import {CodeList, countersOf, detailsOf, firstHintOf, hasLines, kTabs, kernelsOf, rowsOf,
  sourceRowsOf} from "./panel.js";
import {addressOf, kInitialState, stateOf} from "./state.js";
import {Track} from "./track.js";
/** @typedef {import("./lanes.js").Group} Group */

/** When the selected instruction was executed, in one trace: of all waves together, and by wave.
 * @typedef {{begin: Float64Array, end: Float64Array, wave: Uint8Array,
 *   byWave: Map<number, {begin: number[], end: number[]}>}} Hits */

const kHottest = 60, kAddressMs = 200;
const kUnmapped = "No wave of SIMD 0 of compute unit 0 was followed, so no packet is mapped to an instruction. "
  + "The timeline shows what each packet says: the unit and the wave.";

export class ProfileApp {
  /** @param {any} index */
  constructor(index) {
    this.index = index, this.state = {...kInitialState};
    /** @type {any} */ this.run = null;         // the shown run; null before the first is loaded
    /** @type {import("./panel.js").Row[]} */ this.rows = [];
    /** @type {Group[]} */ this.groups = [];
    /** @type {Map<number, Hits>} by trace */ this.hits = new Map();
    /** @type {Map<number, Promise<any>>} by run */ this.documents = new Map();
    this.zero = 0, this.openedAt = 0, this.wanted = 0;
    this.canvas = new TimeCanvas(byId("time"), byId("overview"), this);
    followTheme((dark) => this.theme(dark, false));
    byId("title").textContent = document.title = plainText(index.title.split("/").pop());
    byId("title").title = plainText(index.title) + ", written by tinygrad " + index.release;
    const runs = byId("runs");
    const add = (value, text) => runs.append(Object.assign(element("option", "", text), {value: String(value)}));
    index.runs.forEach((run, n) => add(n, plainText(run.name) + " on " + plainText(run.device)));
    if (index.host.track.rows.length) add(-1, "the host and all devices");
    runs.addEventListener("change", () => this.open({...kInitialState, r: Number(runs.value), t: this.state.t}));
    this.#makeTools(), this.#makeTabs(), installSplit(), installDialog();
    document.addEventListener("keydown", (e) => this.#handleKey(e));
    addEventListener("hashchange", () => {
      if (location.hash !== addressOf(this.state))
        this.open(stateOf(location.hash, this.index.runs.length, this.#slowestRun()));
    });
  }

  /** Returns the number of the slowest run: by its time, or by its longest trace if no time is known. */
  #slowestRun() {
    const cost = (run) => run.seconds || 1e-15 * run.traces.reduce((most, t) => Math.max(most, t.last - t.first), 0);
    return this.index.runs.reduce((best, run, n, runs) => (cost(run) > cost(runs[best]) ? n : best), 0);
  }

  /** Shows a state: a run, its view and its selection. */
  async open(state = stateOf(location.hash, this.index.runs.length, this.#slowestRun())) {
    if (state.r < 0 && !this.index.host.track.rows.length && this.index.runs.length) state.r = 0;
    if (!this.run || state.r !== this.state.r) await this.#loadRun(state.r);
    this.state = {...state};
    for (const group of this.groups) group.isOpen = group.starts !== state.c.includes(group.number);
    this.canvas.isHeld = true, this.isReady = false;
    this.#layOutLanes();
    if (state.v) this.canvas.show(state.v[0], state.v[1]);
    else this.canvas.fit();
    this.canvas.read();
    byId("runs").value = String(state.r);
    await this.select(state.i, state.e);
    this.tab(state.t);
    await Promise.all(this.groups.flatMap((group) => [...group.track.pending.values()]));
    this.canvas.isHeld = false;
    this.canvas.draw();
  }

  async #loadRun(r) {
    const arrived = () => this.canvas.redraw();
    if (r >= 0) {
      if (!this.documents.has(r)) this.documents.set(r, documentText("run" + r).then(unpackJson));
      this.run = {...this.index.runs[r], ...await this.documents.get(r)};
      this.rows = rowsOf(this.run.instructions, this.run.source, this.run);
      this.groups = this.run.traces.flatMap((trace, n) => trace.tracks.map((raw) => ({
        title: "SE " + trace.se + this.#trackSuffix(raw), trace: n, track: new Track(raw, arrived)})));
      this.canvas.texts = this.rows.map((row) => row.text);
    } else {
      this.run = {name: "the host and all devices", traces: [], instructions: [], counters: [], derived: {}, hints: []};
      this.rows = [];
      this.groups = this.index.host.track.rows.length ? [{title: "ranges", trace: -1,
        track: new Track(this.index.host.track, arrived)}] : [];
      this.canvas.texts = this.index.host.names.map(plainText);
    }
    // the first two groups with instructions are open at the start, or the first group if none has any
    const traced = this.groups.filter((g) => g.track.name !== "waves").slice(0, 2);
    const first = traced.length ? traced : this.groups.slice(0, 1);
    this.groups.forEach((group, n) => { group.number = n, group.starts = first.includes(group); });
    const ends = this.groups.filter((g) => g.track.levels[0].begin.length);
    const from = Math.min(...ends.map((g) => g.track.begin)), to = Math.max(...ends.map((g) => g.track.end));
    this.canvas.limits = ends.length ? {from, to} : {from: 0, to: 1};
    this.canvas.view.top = 0;
    this.zero = this.canvas.limits.from, this.hits = new Map();
    this.#showFacts(), this.#showLegend();
    for (const list of [this.code, this.source, this.hot]) if (list) list.home.remove();
    this.code = this.source = this.hot = null;
    byId("main").classList.toggle("with-source", hasLines(this.run.source));
  }

  #trackSuffix({name, rows}) {
    if (name === "waves") return " waves";
    return rows.some((row) => row.name.startsWith("SIMD")) ? " traced CU" : " traced SIMD";
  }

  #layOutLanes() { Object.assign(this.canvas, lanesOf(this.groups)), this.canvas.scroll(0); }

  #showFacts() {
    const {run} = this, sum = (key) => run.traces.reduce((n, t) => n + t[key], 0);
    const emulated = this.index.emulated ? "emulated: timeline in instructions, tables in modeled cycles" : "";
    const facts = run.traces.length ? [emulated, run.arch, run.seconds ? timeText(run.seconds) : "",
      countText(run.traces.length, "trace"), sum("packets").toLocaleString("en") + " packets",
      sum("waves").toLocaleString("en") + (sum("waves") === 1 ? " wave" : " waves")] : [];
    byId("facts").textContent = byId("facts").title = facts.filter(Boolean).join(" \u00b7 ");
  }

  #showLegend() {
    const seen = this.run.traces.length ? this.index.kinds.slice(0, 14) : this.index.kinds.slice(14);
    const isDark = document.documentElement.classList.contains("dark");
    byId("legend").replaceChildren(...seen.filter((kind) => kind !== "other").map((kind) => {
      const out = element("span", "", kind), dot = element("i");
      dot.style.background = colorOf(kind, isDark), out.title = descriptionOf(kind), out.prepend(dot);
      return out;
    }));
    if (this.run.traces.length > 1)
      byId("legend").append(element("span", "", this.run.traces.every((t) => t.clock || !t.waves)
        ? `All shader engines are on the clock of SE ${this.run.traces[0].se}.`
        : "Shader engines without a common packet count cycles from the beginning of their own trace."));
  }

  // ---- functions that the canvas calls
  unitText() { return this.state.r < 0 ? "time" : "cycles"; }
  timeText(time) { return this.state.r < 0 ? timeText(time * 1e-9, 6) : Math.round(time).toLocaleString("en"); }
  overviewTrack() {
    const group = this.groups.find((g) => g.track.name === "waves") || this.groups[0];
    return group ? group.track : null;
  }
  viewed() {
    this.state.v = [this.canvas.view.from, this.canvas.view.to];
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      try { history.replaceState(null, "", addressOf(this.state)); } catch { /* too many calls; the next sets it */ }
    }, kAddressMs);
  }
  drawn() {
    if (this.openedAt || this.groups.some((g) => g.track.pending.size) || !this.isReady) return;
    this.openedAt = performance.now();
    document.body.dataset.whole = "1";
  }
  toggle(group) {
    group.isOpen = !group.isOpen;
    this.state.c = this.groups.filter((g) => g.isOpen !== g.starts).map((g) => g.number);
    this.#layOutLanes(), this.viewed();
  }

  /** @param {import("./canvas.js").Hit | null} slice */
  async picked(slice) {
    if (!slice) return this.select(-1, null);
    const {lane, level, item} = slice, {style} = lane.group.track.rows[lane.row];
    if (level > 0 && style !== "count") {
      this.canvas.zoom(0.2, (slice.begin + slice.end) / 2);
      return this.say("zoomed in; click again to select one execution");
    }
    if (style === "place") return this.say(this.#tipOf(slice).join(", "));
    if (item < 0) return this.say("this packet is not mapped to an instruction");
    const wave = Number(lane.name.replace(/\D+/, ""));
    await this.select(item, style === "wave" ? [lane.group.trace, wave, slice.begin] : null);
    if (this.state.t !== "hot" && this.state.t !== "source") this.tab(this.rows.length ? "code" : this.state.t);
  }
  zoomTo({begin, end}) {
    const margin = Math.max(2, (end - begin) * 0.06);
    this.canvas.show(begin - margin, end + margin);
  }

  #tipOf({lane, begin, end, kind, item, level, amount}) {
    const {style, most} = lane.group.track.rows[lane.row], name = this.index.kinds[kind], length = end - begin;
    const time = this.state.r < 0 ? timeText(length * 1e-9, 4) : countText(length, "cycle");
    const at = "at " + this.timeText(begin - this.zero);
    if (style === "count" || style === "place" && level > 0)
      return [`about ${countText(Math.round(amount / 15 * most), "wave")} of at most ${most}`, at];
    if (style === "place") return [`wave ${item} of ${lane.name}`, time, at];
    if (level > 0)
      return [`mostly ${name}, ${Math.round(amount / 15 * 100)} % busy`, `${time} ${at}`, "zoom in for details"];
    const text = item >= 0 && this.canvas.texts[item] || name, row = this.rows[item];
    const source = row && row.line ? [`line ${row.line}: ${row.source.trim()}`] : [];
    if (style === "wave")
      return [text, ...source, `${name}: issued ${time} after the wave's previous instruction`, at];
    return [text, `${descriptionOf(name)}, ${time} ${at}`];
  }
  hover(slice, {x, y}) {
    const tip = byId("tip");
    tip.hidden = !slice;
    if (!slice) return;
    tip.replaceChildren(...this.#tipOf(slice).map((text) => element("div", "", text)));
    const {width, height} = this.canvas.size;
    tip.style.left = Math.max(4, Math.min(x + 14, width - tip.offsetWidth - 8)) + "px";
    tip.style.top = (y + tip.offsetHeight + 60 > height ? y - tip.offsetHeight + 22 : y + 48) + "px";
  }

  /** Selects an instruction, and reads when it was executed. @param {number} i @param {number[] | null} e */
  async select(i, e = null) {
    const number = ++this.wanted;
    if (i !== this.state.i || !this.isReady) {
      /** @type {Map<number, Hits>} */ const hits = new Map();
      for (const [n, trace] of i >= 0 ? this.run.traces.entries() : []) {
        const text = trace.hits === undefined ? undefined : (await documentText("hits" + trace.hits)).split(" ")[i];
        if (text) hits.set(n, executionsOf(await unpackJson(text)));
      }
      if (number !== this.wanted) return;
      this.hits = hits;
    }
    this.state.i = i, this.state.e = e;
    this.isReady = true;
    this.#showDetails(), this.#showList(), this.viewed(), this.canvas.redraw();
  }

  get executions() { return [...this.hits.values()].reduce((sum, {begin}) => sum + begin.length, 0); }
  /** Returns an execution by its number, counted through all traces; null: none. @param {number} number */
  #executionByNumber(number) {
    for (const [trace, {begin, wave, end}] of this.hits) {
      if (number < begin.length) return {e: [trace, wave[number], begin[number]], end: end[number]};
      number -= begin.length;
    }
    return null;
  }
  /** Returns the number of the selected execution; -1: none is selected. */
  #selectedExecution() {
    const {e} = this.state;
    let before = 0;
    for (const [trace, {begin, wave}] of e ? this.hits : []) {
      const n = trace === e[0] ? begin.findIndex((b, k) => b === e[2] && wave[k] === e[1]) : -1;
      if (n >= 0) return before + n;
      before += begin.length;
    }
    return -1;
  }

  /** Goes to the next execution of the selected instruction, or to the previous one. @param {number} by 1 or -1 */
  async step(by) {
    const all = this.executions, now = this.#selectedExecution();
    if (!all) return this.say("select an instruction with executions first");
    const {e: [trace, wave, begin], end} = this.#executionByNumber((Math.max(now, by > 0 ? -1 : 0) + by + all) % all);
    const group = this.groups.find((g) => g.trace === trace && g.track.name !== "waves");
    if (group && !group.isOpen) this.toggle(group);
    const lane = this.canvas.lanes.find((l) => l.group === group && l.name === "wave " + wave);
    if (lane) this.canvas.reveal(lane);
    const {from, to} = this.canvas.view, length = end - begin, middle = (begin + end) / 2;
    const span = length < 4 * this.canvas.perPixel ? Math.max(200, length * 12) : Math.max(to - from, length * 1.2);
    if (begin < from || end > to || span !== to - from) this.canvas.show(middle - span / 2, middle + span / 2);
    await this.select(this.state.i, [trace, wave, begin]);
  }

  async zoomToWave() {
    const {e} = this.state, run = this.run;
    if (!e) return this.say("select an execution first");
    const group = this.groups.find((g) => g.trace === e[0] && g.track.name === "waves");
    const row = group ? group.track.rows.findIndex((r) => r.name === "CU 0 SIMD 0") : -1;
    for (const chunk of row < 0 ? [] : await group.track.chunksAt(e[2])) {
      const [first, last] = chunk.rows.get(row) || [0, 0];
      for (let n = first; n < last; n++)
        if (chunk.item[n] === e[1] && chunk.begin[n] <= e[2] && chunk.end[n] > e[2] && run === this.run)
          return this.zoomTo({begin: chunk.begin[n], end: chunk.end[n]});
    }
    this.say("the trace has no beginning or end of this wave");
  }

  #showDetails() {
    const {i, e} = this.state, all = this.rows.reduce((sum, r) => sum + r.cycles, 0) || 1;
    const count = this.executions, now = this.#selectedExecution();
    let execution = "";
    if (now >= 0) {
      const {e: [, , begin], end} = this.#executionByNumber(now);
      execution = `wave ${e[1]} of SE ${this.run.traces[e[0]].se}: issued at ${this.timeText(end - this.zero)}, `
        + `${countText(end - begin, "cycle")} after its previous instruction`;
    }
    const box = byId("details");
    if (this.state.r < 0 && i >= 0) {
      const name = this.index.host.names[i], totals = this.index.totals.filter((t) => t.name === name);
      return box.replaceChildren(element("h2", "", plainText(name)), ...totals.map((t) => element("p", "",
        `${plainText(t.device)}: ${countText(t.count, "range")}, ${timeText(t.seconds)} in all`)));
    }
    box.replaceChildren(...detailsOf(i >= 0 && this.rows[i] || null, {isHost: this.state.r < 0, hits: count, all,
      modeled: this.run.modeled, execution, source: this.run.source, rows: this.rows, select: (n) => this.select(n),
      actions: [["\u25c2 Previous", () => this.step(-1), !count], ["Next \u25b8", () => this.step(1), !count],
        ["Zoom to its wave", () => this.zoomToWave(), !e]]}));
    if (i >= 0 && this.rows[i]) byId("said").textContent = this.rows[i].text + ", " + countText(count, "execution");
  }

  #makeTabs() {
    byId("tabs").append(...kTabs.map(([name, text]) => {
      const tab = buttonOf(text, () => this.tab(name));
      tab.id = "tab-" + name, tab.setAttribute("role", "tab");
      return tab;
    }));
  }
  /** Shows a table. @param {string} name */
  tab(name) {
    const isMapped = hasLines(this.run.source);
    if (name === "source" && !isMapped || name === "against" && !this.run.against) name = "code";
    this.state.t = name;
    for (const [n, text] of kTabs) {
      const tab = byId("tab-" + n);
      tab.setAttribute("aria-selected", String(n === name));
      if (n === "source") tab.hidden = !isMapped;
      if (n === "against") tab.hidden = !this.run.against;
      if (n === "counters") tab.textContent = this.run.hints.length ? `${text} (${this.run.hints.length})` : text;
    }
    const panel = byId("panel");
    panel.setAttribute("aria-labelledby", "tab-" + name);
    if (name === "counters") panel.replaceChildren(countersOf(this.run));
    else if (name === "against") panel.replaceChildren(comparisonOfRun(this.run, (n) => this.select(n)));
    else if (name === "charts") panel.replaceChildren(chartsOfRun(this.run, this.index.emulated));
    else if (name === "kernels") {
      panel.replaceChildren(kernelsOf(this.index, (r) => this.open({...kInitialState, r, t: "code"})));
    } else {
      panel.replaceChildren();
      const problems = [...new Set(this.run.traces.map((t) => t.error).filter(Boolean))];
      const isCdna = /^gfx9/.test(this.run.arch || "") && !this.rows.some((row) => row.hits);
      for (const text of problems) panel.append(element("p", "note", "Not mapped to instructions: " + plainText(text)));
      if (isCdna) panel.append(element("p", "note", kUnmapped));
      panel.append(...firstHintOf(this.run, () => this.tab("counters")));
      if (!this.rows.length) panel.append(element("p", "note", this.#whyNoCode()));
      else {
        const label = {code: "instructions", source: "source lines", hot: "hottest instructions"}[name];
        this[name] = new CodeList(panel, label, (row) => this.select(row.n === this.state.i ? -1 : row.n),
          {code: name !== "source", lines: isMapped, modeled: this.run.modeled});
      }
    }
    this.#showList(), this.viewed();
  }
  #whyNoCode() {
    if (this.state.r < 0) return "Choose a kernel with hardware events above to see its instructions.";
    if (!this.run.binary) return "The profile has no binary of this kernel.";
    return `LLVM cannot disassemble this kernel's code for ${this.run.arch || "an unknown processor"}.`;
  }
  #showList() {
    const {t, i} = this.state;
    if (!["code", "source", "hot"].includes(t) || !this[t] || !this.rows.length) return;
    if (t === "source") {
      const lines = sourceRowsOf(this.rows, this.run.source), line = i >= 0 && this.rows[i] ? this.rows[i].line : 0;
      return this[t].show(lines, line ? lines[line - 1].n : -2);
    }
    this[t].show(t === "code" ? this.rows : this.rows.filter((r) => r.hits).sort((a, b) => b.cycles - a.cycles)
      .slice(0, kHottest), i);
  }

  get commands() {
    const {canvas} = this, span = () => canvas.size.width / 4;
    return [
      [["f", "0"], "fit", "show the whole time", () => canvas.fit()],
      [["+", "=", "w"], "zoom in", "zoom in", () => canvas.zoom(0.7)],
      [["-", "s"], "zoom out", "zoom out", () => canvas.zoom(1 / 0.7)],
      [["ArrowLeft", "a"], "", "move left", () => canvas.pan(-span())],
      [["ArrowRight", "d"], "", "move right", () => canvas.pan(span())],
      [["ArrowUp"], "", "scroll up", () => canvas.scroll(-60)],
      [["ArrowDown"], "", "scroll down", () => canvas.scroll(60)],
      [["n"], "", "go to the next execution of the selected instruction", () => this.step(1)],
      [["p"], "", "go to the previous execution", () => this.step(-1)],
      [["z"], "", "zoom to the wave of the selected execution", () => this.zoomToWave()],
      [["e"], "", "open or close all groups", () => this.#toggleAll()],
      [["Escape"], "", "select nothing", () => this.select(-1)],
      [kTabs.map((_, n) => String(n + 1)), "", "show a table", (key) => this.tab(kTabs[Number(key) - 1][0])],
      [["x"], "theme", "light or dark", () => this.theme(!document.documentElement.classList.contains("dark"))],
      [["?"], "keys", "all keys", () => this.#showKeys()]];
  }
  #makeTools() {
    byId("tools").append(...this.commands.filter((c) => c[1]).map(([keys, name, says, run]) => {
      const button = buttonOf(String(name), () => /** @type {any} */ (run)(""));
      button.title = says + " (" + keys[0] + ")";
      return button;
    }));
  }
  #handleKey(e) {
    if (e.ctrlKey || e.altKey || e.metaKey || dialog().open || /^(INPUT|SELECT)$/.test(e.target.tagName)) return;
    const inList = e.target.closest && e.target.closest(".list") && this[this.state.t];
    if (inList && (e.key === "ArrowUp" || e.key === "ArrowDown")) {
      const {rows} = inList, now = rows.findIndex((r) => r.n === this.state.i);
      const next = rows[Math.max(0, Math.min(rows.length - 1, now + (e.key === "ArrowDown" ? 1 : -1)))];
      e.preventDefault();
      return next && this.select(next.n);
    }
    const command = this.commands.find(([keys]) => keys.includes(e.key));
    if (!command || e.key.startsWith("Arrow") && e.target.closest("#panel, #details")) return;
    e.preventDefault();
    /** @type {any} */ (command[3])(e.key);
  }
  #toggleAll() {
    const isOpen = this.groups.some((g) => !g.isOpen);
    for (const group of this.groups) group.isOpen = isOpen;
    this.state.c = this.groups.filter((g) => g.isOpen !== g.starts).map((g) => g.number);
    this.#layOutLanes(), this.viewed();
  }
  #showKeys() {
    showTable("Keys and mouse", [{name: "key"}, {name: "what"}], [
      ...this.commands.map(([keys, , says]) => ({cells: [keys.join("  "), says]})),
      ...[["wheel", "zoom; over the names: scroll"], ["Shift and wheel, drag", "move"], ["click", "select"],
        ["double click", "zoom to the slice or the wave"]].map((cells) => ({cells}))]);
  }
  theme(isDark, keep = true) {
    setTheme(isDark, keep);
    if (this.run) this.#showLegend(), this.canvas.redraw();
  }
  say(text) { toast(text); }
}

/** Lets the border between the timeline and the tables be dragged, or moved by the arrow keys. */
function installSplit() {
  const split = byId("split"), width = (pixels) => byId("main").style.setProperty("--side",
    Math.max(300, Math.min(innerWidth - 300, pixels)) + "px");
  split.addEventListener("pointerdown", (e) => split.setPointerCapture(e.pointerId));
  split.addEventListener("pointermove", (e) => {
    if (split.hasPointerCapture(e.pointerId)) width(innerWidth - e.clientX);
  });
  split.addEventListener("keydown", (e) => {
    if (e.key !== "ArrowLeft" && e.key !== "ArrowRight") return;
    width(byId("side").offsetWidth + (e.key === "ArrowLeft" ? 40 : -40));
    e.stopPropagation();
  });
}

/** @param {{begin: number[], length: number[], wave: number[]}} raw @returns {Hits} */
function executionsOf({begin, length, wave}) {
  const from = Float64Array.from(begin);
  for (let n = 1; n < from.length; n++) from[n] += from[n - 1];
  const end = from.map((b, n) => b + length[n]), byWave = new Map();
  wave.forEach((w, n) => {
    if (!byWave.has(w)) byWave.set(w, {begin: [], end: []});
    byWave.get(w).begin.push(from[n]), byWave.get(w).end.push(end[n]);
  });
  return {begin: from, end, wave: Uint8Array.from(wave), byWave};
}
