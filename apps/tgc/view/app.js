// Shows one state. The address of the page contains the state.
import {RecordedGraph, pause, plainText} from "./data.js";
import {NodeHistories} from "./story.js";
import {Drawings, kMostUnfolded} from "./drawings.js";
import {GraphCanvas, keepsEnoughInView} from "./draw.js";
import {Tip} from "./tip.js";
import {Minimap} from "./minimap.js";
import {StageList} from "./stages.js";
import {TextPanel} from "./textpanel.js";
import {showDetails} from "./details.js";
import {showFound, showHeader, showLegend} from "./header.js";
import {showVerdict} from "./verdict.js";
import {firstDifference, pairsOf} from "./pairs.js";
import {parseQuery} from "./search.js";
import {addressOf, stateOf, Visits} from "./state.js";
import {toast} from "./dialogs.js";
import {byId} from "./list.js";
import {mergeInto} from "./merge.js";
import {showModel} from "./model.js";
import {overviewEntries, isConvicted, nameOfGraph, showOverview} from "./overview.js";
import {groupByLine} from "./lines.js";
import {modelNodeOf} from "./made.js";
import {isValue} from "./values.js";
import {sidesOf, wholeSidesOf} from "./rewrites.js";

const kMostOfSides = 200;

export class App {
  /** `index` lists the graphs of the page; `fetchGraph` returns a graph in the form that RecordedGraph.begin() takes.
   * @param {any} index @param {(g: number) => Promise<any>} fetchGraph */
  constructor(index, fetchGraph) {
    this.index = index, this.fetchGraph = fetchGraph;
    const scheduled = index.graphs.filter((g) => g.schedule);
    if (scheduled.length === 1 && !index.schedule) index.schedule = scheduled[0].schedule;
    this.opened = new Map();
    this.pairs = pairsOf(index.graphs);
    this.pinned = -1;  // the place (point between stages) that other places are compared with; -1: none
    this.state = stateOf(location.hash);
    this.query = parseQuery("");
    /** @type {Map<number, number>} */ this.foundAt = new Map();  // by place, the number of nodes that the search finds
    /** @type {Set<number>} */ this.foundAnywhere = new Set();
    this.canvas = new GraphCanvas(byId("graph"), (key, again) => this.#handleBoxClick(key, again));
    this.tip = new Tip(byId("tip"), this);
    this.minimap = new Minimap(byId("minimap"), this.canvas);
    this.stageList = new StageList(byId("stages"), this);
    this.textPanel = new TextPanel(this);
    this.visits = new Visits((address) => this.show(stateOf(address)));
    const search = byId("search");
    search.addEventListener("input", () => this.go({q: search.value}, false));
    search.addEventListener("keydown", (e) => {
      if (e.key === "Enter") this.nextFound(e.shiftKey ? -1 : 1), e.preventDefault();
      if (e.key === "Escape") search.value = "", byId("graph").focus(), this.go({q: ""}, false), e.preventDefault();
      e.stopPropagation();
    });
  }

  /** Changes the page to another state. `noted`: the browser's history records the change.
   * @param {Partial<import("./state.js").State>} changes @param {boolean} noted */
  go(changes, noted = true) {
    const next = {...this.state, v: null, ...changes};
    if (addressOf(next) === addressOf(this.state)) return Promise.resolve();
    this.visits.recordAddress(addressOf(next), noted);
    return this.show(next, !("n" in changes) && next.g === this.state.g);
  }

  /** Shows another graph of the page, at its blamed rewrite, its first difference or its start. `differs`: what
   * differenceOf() returns. @param {number} g @param {string} differs */
  openGraph(g, differs = this.differenceOf(g)) {
    this.pinned = -1;
    const text = differs === "source" ? {t: "source"} : {};
    return this.go({g, p: -1, s: -1, r: -1, n: -1, d: -1, f: [], m: false, k: false, ...text});
  }
  /** Returns what differs first between a graph and its pair: a stage or "source"; "": nothing. @param {number} g */
  differenceOf(g) {
    const {graphs} = this.index, pair = this.pairs.get(g);
    return pair ? firstDifference(graphs[g], graphs[pair.with]) : "";
  }

  /** Returns a graph of the page with its story and drawings, all cached. `whole`: reads its rewrites, too; without
   * them only the first graph of its stages can be shown. `partner`: the graph of the other input to compare it with;
   * -1: the one that is paired with it. @param {number} g @param {boolean} whole @param {number} partner */
  async open(g, whole = true, partner = -1) {
    const pair = this.#partnerGraph(g, partner);
    if (this.opened.has(g) && this.opened.get(g).pair !== pair) this.opened.delete(g);
    if (!this.opened.has(g)) {
      const graph = await RecordedGraph.begin(await this.fetchGraph(g));
      if (graph.isByLine) groupByLine(graph);
      if (pair >= 0) {
        await graph.readEvents();
        const other = await RecordedGraph.read(await this.fetchGraph(pair));
        graph.other = {...mergeInto(graph, other), index: pair, isFirst: this.index.graphs[g].side === 1};
      }
      const {schedule} = this.index.graphs[g], kernels = schedule ? schedule.kernels : [];
      graph.itemNames = kernels.map((_, i) => this.graphOfItem(i, g))
        .map((k) => (k < 0 ? "" : nameOfGraph(this.index.graphs[k], k)));
      const story = new NodeHistories(graph);
      if (!this.opened.has(g))
        this.opened.set(g, {graph, story, pair, cache: new Map(),
          drawings: [true, false].map((hides) => new Drawings(graph, story, hides))});
    }
    const opened = this.opened.get(g);
    if (whole) await opened.graph.readEvents();
    return opened;
  }

  /** The graph that has the schedule of the page, or that of the shown graph; -1: none. */
  get scheduleGraph() {
    const {graphs, schedule} = this.index, {g} = this.state, of = g < 0 ? -1 : graphs[g].schedule_of ?? -1;
    const own = graphs.findIndex((graph) => graph.schedule);
    if (schedule) return own >= 0 ? own : graphs.findIndex((graph) => graph.kind === "tensor");
    return of >= 0 ? of : g >= 0 && graphs[g].schedule ? g : -1;
  }
  get schedule() {
    const {graphs, schedule} = this.index, of = this.scheduleGraph;
    return schedule || of >= 0 && graphs[of].schedule || null;
  }
  /** The seconds of each item of the shown schedule, 0: not timed; null: no item was timed. */
  get measured() {
    const {graphs, measured} = this.index, {scheduleGraph, schedule} = this;
    if (measured || !schedule) return measured || null;
    const out = schedule.kernels.map((_, item) => (graphs[this.graphOfItem(item, scheduleGraph)] || {}).measured || 0);
    return out.some(Boolean) ? out : null;
  }
  /** Whether the page shows all graphs as a list: the state has `m`, and neither the page nor (with `k`) the graph has
   * a schedule, which would be shown instead. */
  get showsGraphList() { return this.state.m && !(this.index.schedule || this.state.k && this.schedule); }
  /** Returns the graph of an item of the schedule that graph `of` has; -1: none.
   * @param {number} item @param {number} of */
  graphOfItem(item, of) {
    const isOf = (g) => (this.index.graphs[of].schedule ? g.schedule_of === of : g.kind === "kernel");
    return this.index.graphs.findIndex((g) => g.numbers.includes(item) && isOf(g));
  }

  // Returns the other input's graph that is compared with this one; -1: none.
  #partnerGraph(g, partner) {
    const {graphs} = this.index;
    if (partner >= 0 && partner < graphs.length && graphs[partner].side !== graphs[g].side) return partner;
    return this.pairs.has(g) ? this.pairs.get(g).with : -1;
  }

  /** Shows a state. `follows`: selects the counterpart, in the graph to show, of the node that the user chose.
   * @param {import("./state.js").State} state @param {boolean} follows */
  async show(state, follows = false) {
    const turn = this.turn = (this.turn || 0) + 1;
    const g = Math.min(state.g < 0 ? this.#firstGraph(state.k) : state.g, this.index.graphs.length - 1);
    const opened = await this.open(g, !this.#showsOnlyFirstGraph(state, g), state.p), before = this.graph;
    const drawings = opened.drawings[Number(state.a)];
    if (state.s < 0 && !state.f.length) state = {...state, f: await this.#firstFolds(opened, drawings)};
    const accused = state.s < 0 ? this.accusedPlace(g) : null;
    if (accused) return this.show({...state, ...accused});
    const far = Math.min(Math.max(0, state.s, state.d), opened.story.last);
    for (let p = drawings.isFolded(state) ? far + 1 : 0; p <= far; p++)
      while (drawings.prepare(p)) {
        await pause();
        if (turn !== this.turn) return;
      }
    for (const _ of opened.graph.other ? [] : drawings.prepareFolded(state)) {
      await pause();
      if (turn !== this.turn) return;
    }
    if (turn !== this.turn) return;
    if (state.g < 0 && state.s < 0 && this.hasOverview()) state = {...state, m: true};
    Object.assign(this, {graph: opened.graph, story: opened.story, drawings});
    this.textPanel.cache = opened.cache;
    const s = state.s < 0 ? (this.graph.stages.length ? this.#firstPlace() : 0) : Math.min(state.s, this.story.last);
    const rewrites = s ? this.graph.stages[s - 1].count : 0;
    const old = this.state;
    this.state = {...state, g, s, o: Boolean(this.graph.other) && (state.o || state.s < 0),
      r: state.r < rewrites ? state.r : -1,
      n: state.n < this.graph.count ? state.n : -1, d: Math.min(state.d, this.story.last)};
    if (this.state.q !== old.q || before !== this.graph) this.foundAt = new Map(), this.foundAnywhere = new Set();
    this.query = parseQuery(this.state.q);
    this.scene = this.drawings.scene(this.state);
    const selected = this.state.n;
    if (!follows || !this.chosen)
      this.chosen = selected < 0 ? null : {place: this.story.placeWithNode(this.state, selected), n: selected};
    const isOlder = this.chosen && this.chosen.place < this.story.placeOf(this.state, selected);
    if (this.chosen && (follows || isOlder)) this.#selectCounterpart(this.chosen);
    const {n} = this.state;
    this.relatives = n >= 0 ? this.story.relatives(this.story.placeOf(this.state, n), [n]) : null;
    this.#showGraph(before !== this.graph, old);
    this.stageList.show();
    this.textPanel.show();
    showDetails(byId("details"), this);
    showHeader(this), showLegend(this), showVerdict(this);
    if (this.showTools) this.showTools();
    if (this.whenShown) this.whenShown(this);
    // The time at which the first graph was drawn, for scripts/bench.d/view.py.
    if (!this.openedAt) requestAnimationFrame(() => setTimeout(() => { this.openedAt = performance.now(); }, 0));
    document.body.dataset.ready = "1";
    this.#prepareNext();
  }
  #selectCounterpart({place, n}) {
    const {state, story} = this;
    const here = story.placeOf(state, n) === place && state.r < 0 ? n
      : story.counterpart(place, n, state, this.scene.drawing);
    if (here < 0) this.notify("nothing of #" + this.graph.number[n] + " " + this.graph.opName(n) + " is in this graph");
    if (here === state.n) return;
    state.n = here;
    this.visits.recordAddress(addressOf(state), false);
  }
  // Returns true if the state shows only the recording's first graph, so that no rewrites need to be read.
  #showsOnlyFirstGraph({s, r, n, d, q, m, f, t, u}, g) {
    const graph = this.index.graphs[g], isBare = t === "pyrender" && !u && !q && !m && !f.length;
    return s <= 0 && r < 0 && n < 0 && d < 0 && isBare && !graph.bundle && !isConvicted(graph);
  }
  // In idle time: reads rewrites, prepares what the stages and the next rewrite show, and counts what a search finds.
  #prepareNext() {
    const {graph, drawings, story} = this, next = () => {
      if (drawings !== this.drawings) return;
      for (let p = 0; p <= story.last; p++) {
        const isDrawing = drawings.prepare(p) || drawings.prepareNews(p);
        if (isDrawing || this.textPanel.prepare(p) || this.#countFound(p)) return requestIdleCallback(next);
      }
      const {s, r} = this.state, isNext = s > 0 && r + 1 < this.graph.stages[s - 1].count;
      if (isNext) drawings.scene({...this.state, r: r + 1, d: -1, o: false});
    };
    requestIdleCallback(async () => {
      await graph.readEvents();
      document.body.dataset.whole = "1";
      requestIdleCallback(next);
    }, {timeout: 200});
  }
  #countFound(place) {
    const {graph, query, foundAt} = this;
    if (query.empty || foundAt.has(place)) return false;
    const isSame = place && !graph.stages[place - 1].changed && foundAt.has(place - 1);
    const found = isSame ? [] : graph.nodesOf(this.story.root(place)).filter((n) => query.node(graph, n));
    for (const n of found) this.foundAnywhere.add(n);
    foundAt.set(place, isSame ? foundAt.get(place - 1) : found.length);
    this.stageList.list.refresh();
    if (foundAt.size > this.story.last) showFound(this);
    return true;
  }
  /** Finds what is responsible for a wrong result: the first refuted rewrite, or the rewrite, stage (r: -1) or source
   * that a bisection names; null: none.
   * @returns {{s: number, r: number, t?: string} | null} */
  accusedPlace(g) {
    const {accused, proof} = this.index.graphs[g], {graph, story} = this.opened.get(g);
    const refuted = proof ? proof.marks.findIndex((marks) => marks.includes("r")) : -1;
    if (refuted >= 0) return {s: refuted + 1, r: proof.marks[refuted].indexOf("r")};
    if (!accused || accused.verdict === "same") return null;
    if (accused.verdict === "renderer") return {s: story.last, r: -1, t: "source"};
    const stage = graph.stages.find((s) => s.name === accused.stage), listed = accused.listed_location || accused.rule;
    if (!stage) return null;
    const isListed = ({name, source}) => name === listed || source === listed;
    const ofRule = stage.rewrites.map((_, i) => i).filter((i) => isListed(graph.rules[stage.rewrites[i].rule]));
    return {s: stage.index + 1, r: ofRule[(accused.rewrite || 0) - 1] ?? -1};
  }
  /** Returns the two sides of the rewrite at accusedPlace(), as the page writes expressions. Returns the sides that the
   * bisection wrote if there is no such rewrite, or if its expressions lack a name of the bisection's values. */
  accusedSides(g) {
    const {accused} = this.index.graphs[g], place = this.accusedPlace(g), {graph} = this.opened.get(g);
    const {before, after, ...values} = accused.witness || {}, written = (text) => text && text.includes("\n") ? text
      : (text || "").replace(/\+-(?=\d+(?:$|[-+)<]))/g, "-").replace(/^\(([^()]*(?:\([^()]*\)[^()]*)*)\)$/, "$1");
    if (place && place.r >= 0) {
      const rewrite = graph.stages[place.s - 1].rewrites[place.r], whole = wholeSidesOf(graph, rewrite);
      const sides = whole.join("").length <= kMostOfSides ? whole : sidesOf(graph, rewrite);
      const words = sides.join(" ").split(/\W+/);
      if (Object.keys(values).every((name) => words.includes(name))) return sides;
    }
    return [written(accused.before), written(accused.after)];
  }
  #firstPlace() {
    for (let p = 0; this.graph.other && p <= this.story.last; p++) if (this.differsAt(p)) return p;
    return 0;
  }
  // Returns the first graph of the overview that is wrong, or else differs, or else is a tensor graph, or else the
  // first. `hasSchedule`: prefers the page's first graph with a schedule.
  #firstGraph(hasSchedule) {
    const entries = overviewEntries(this), {graphs} = this.index, scheduled = graphs.findIndex((g) => g.schedule);
    if (hasSchedule && scheduled >= 0) return scheduled;
    const found = entries.find(({g}) => isConvicted(graphs[g])) || entries.find((e) => e.differs);
    return (found || entries.find(({g}) => graphs[g].kind === "tensor") || entries[0]).g;
  }
  /** Whether the page opens with its list of graphs: there are several, and none is wrong or differs. */
  hasOverview() {
    const entries = overviewEntries(this);
    return entries.length > 1 && !entries.some((e) => e.differs) && !this.index.graphs.some(isConvicted);
  }
  /** Whether the other input has a different graph at this point between stages. */
  differsAt(place) {
    const other = this.graph.other ? this.drawings.otherRoot(place) : -1;
    return other >= 0 && other !== this.story.root(place);
  }

  // Returns the folds with which a graph is shown first.
  async #firstFolds({graph, story}, drawings) {
    const root = story.root(0);
    if (graph.madeOf.length && !(graph.isByLine && graph.nodesOf(root).length <= kMostUnfolded)) return ["m"];
    if (!graph.isTensor) return graph.stages.some((s) => s.nodes > kMostUnfolded) ? ["l"] : [];
    if (graph.nodesOf(root).length <= kMostUnfolded) return [];
    for (const _ of drawings.prepareBlocks(root)) await pause();
    return drawings.blocksOf(root).repeats().length ? ["a"] : [];
  }

  #showGraph(isNew, old) {
    const {state, scene} = this;
    const marks = {came: scene.came, went: scene.went, edited: scene.edited || new Set(), lit: new Set(),
      found: new Set(), selected: -1, dims: state.r >= 0 || state.d >= 0 || state.o};
    if (state.n >= 0) {
      const home = scene.drawing.home.get(state.n);
      if (home) marks.selected = home.key;
      for (const place of state.r < 0 ? [state.s] : [state.s - 1, state.s])
        for (const n of this.relatedNodesAt(place)) for (const box of scene.drawing.home.all(n)) marks.lit.add(box.key);
    }
    if (state.r >= 0) {  // mark the result of the rewrite, even if that node existed before
      const n = this.graph.stages[state.s - 1].rewrites[state.r].after, after = scene.drawing.home.get(n);
      if (after && !this.drawings.inline.has(n) && !scene.came.has(after.key)) marks.lit.add(after.key);
    }
    /** The found nodes of the shown graph. @type {number[]} */ this.found = [];
    const found = new Set();
    for (const box of this.query.empty ? [] : scene.drawing.boxes)
      for (const n of this.#nodesOfBox(box)) if (this.query.node(this.graph, n)) marks.found.add(box.key), found.add(n);
    this.found.push(...found);
    marks.dims &&= marks.came.size + marks.went.size + marks.edited.size > 0;
    const share = this.canvas.shareSeen();
    this.canvas.show(this.graph, scene.drawing, marks);
    this.canvas.anchor = scene.drawing.home.get(scene.root) || null;
    const {isTensor, isByLine, producer} = this.graph;
    this.canvas.beginsAtTop = isByLine || isTensor && producer !== "";  // a program is read from its start
    this.canvas.outline(state.n >= 0 && this.graph.opName(state.n) === "RANGE" ? state.n : -1);
    const isUnseen = isNew || this.isUnseen;
    this.isUnseen = isUnseen && state.m;
    this.canvas.hidesOuterSpace &&= !state.v;
    if (state.v) [this.canvas.view.x, this.canvas.view.y, this.canvas.view.scale] = state.v;
    else if (isUnseen && !state.m) {
      const showStart = () => {
        this.canvas.begin(false, marks.dims || isConvicted(this.index.graphs[state.g]));
        if (marks.dims) this.#revealChange();
        else if (marks.selected >= 0) this.canvas.reveal(scene.drawing.byKey.get(marks.selected));
      };
      this.canvas.whenSized = showStart;  // the model view and a second row of ranges resize the canvas
      setTimeout(() => { if (this.canvas.size.width) this.canvas.whenSized = null; }, 200);
      showStart();
    } else if (scene.isPart && scene.drawing !== this.shown) this.canvas.begin(true), this.#revealChange();
    else if (marks.dims && ["r", "s", "d", "o"].some((key) => state[key] !== old[key])) this.#revealChange();
    else if (marks.selected >= 0 && (state.n !== old.n || isNew))
      this.canvas.reveal(scene.drawing.byKey.get(marks.selected));
    else if (!state.v && scene.drawing !== this.shown) this.#keepInView(share);
    this.shown = scene.drawing;
    byId("model").hidden = !state.m;
    const panes = {model: state.m, "no-stages": state.m || state.h.includes("s"), "no-texts": state.h.includes("t"),
      "no-details": state.h.includes("d"), two: state.u !== ""};
    for (const [name, isOn] of Object.entries(panes)) byId("main").classList.toggle(name, isOn);
    const shown = [this.state.e, this.showsGraphList || this.scheduleGraph].join();
    if (state.m && byId("model").dataset.shown !== shown)
      (this.showsGraphList ? showOverview : showModel)(byId("model"), this), byId("model").dataset.shown = shown;
  }
  #revealChange() {
    const {drawing, came, went, edited = new Set()} = this.scene, {s, r} = this.state;
    const {before = -1, after = -1} = r < 0 ? {} : this.graph.stages[s - 1].rewrites[r];
    const sides = [before, after].map((n) => drawing.home.get(n)).filter(Boolean);
    const isMarked = (b) => came.has(b.key) || went.has(b.key) || edited.has(b.key) || sides.includes(b);
    const all = drawing.boxes.filter(isMarked);
    this.canvas.revealAll(all, sides);
  }
  // If a change left too little of the graph in view (keepsEnoughInView), shows the graph's first new box, or its
  // output.
  #keepInView(before) {
    const {canvas, scene: {drawing, came}} = this, share = canvas.shareSeen(), {anchor} = canvas;
    if (keepsEnoughInView(share, before)) return;
    canvas.anchor = drawing.boxes.find((box) => came.has(box.key)) || anchor;
    canvas.begin(true);
    canvas.anchor = anchor;
  }

  placeName(place) { return place ? this.graph.stages[place - 1].name : this.graph.firstName(); }
  nodeCount(place) { return place ? this.graph.stages[place - 1].nodes : this.index.graphs[this.state.g].nodes; }

  /** Returns the nodes of the graph at `place` that are the selected node, its origins, or the nodes that it became.
   * @returns {Set<number>} */
  relatedNodesAt(place) { return (this.relatives && this.relatives[Math.min(place, this.story.last)]) || new Set(); }

  // Returns the nodes that a box shows: its own or the folded ones, and nodes that are text in it.
  #nodesOfBox(box) {
    const {inline} = this.drawings, out = box.fold ? box.fold.members.map((key) => key % this.graph.count) : [box.n];
    if (!this.state.a) for (const n of [...out]) inline.forEach(n, (s) => { out.push(s); });
    return out;
  }
  /** Returns the users of a node in the shown graph, whether they have boxes or not. @param {number} n */
  usersOf(n) {
    const nodes = new Set(this.scene.drawing.boxes.flatMap((box) => this.#nodesOfBox(box)));
    return [...nodes].filter((m) => !isValue(this.graph, m) && this.graph.sourcesOf(m).includes(n));
  }

  /** Selects the node of the shown graph that `node` of the graph at `place` was or has become. If there is no such
   * node, or if `goThere` is set and another graph is shown, shows the graph at `place` and selects `node` there.
   * @param {boolean} [goThere] */
  selectAt(place, node, goThere = false) {
    const there = this.story.relatives(place, [node])[this.state.s];
    if (goThere && !(there && there.size && place === this.state.s)) return this.go({s: place, r: -1, d: -1, n: node});
    const here = this.story.counterpart(place, node, this.state, this.scene.drawing);
    if (here >= 0) return this.go({n: here});
    this.notify("the node is not in this graph");
    return this.go({s: place, r: -1, d: -1, n: node});
  }

  /** Handles a click on a box. `again`: it is a double click. @param {number} key @param {boolean} again */
  #handleBoxClick(key, again) {
    const box = key >= 0 ? this.scene.drawing.byKey.get(key) : null;
    if (box && again) return this.fold(box);
    this.go({n: box ? box.n : -1});
  }

  /** Unfolds a folded box. Otherwise folds the model's node that was unfolded here, or else the repeated block that
   * begins with the box, or else the nodes that only the box uses.
   * @param {import("./box.js").Box} box */
  fold(box) {
    const {f} = this.state, without = (word) => f.filter((w) => w !== word);
    if (box.fold) {
      const {word} = box.fold;
      return this.go({f: f.includes(word) ? without(word) : [...f, word]});  // "a" with its word unfolds it
    }
    const opened = "m" + modelNodeOf(this.graph, this.story, this.state.s, box.n);
    if (f.includes(opened)) return this.go({f: without(opened)});
    const word = this.foldWordOf(box.key);
    return this.go({f: f.includes(word) ? without(word) : [...f, word]});
  }
  /** Returns the word of the address that folds the block that begins with a node. @param {number} key */
  foldWordOf(key) {
    const block = this.drawings.blocksOf(this.scene.root).chainBlockAt(key);
    return block && block.floor >= 0 ? key + "-" + block.floor : String(key);
  }

  foundRewrites() {
    const out = [];
    if (this.query.empty) return out;
    for (const stage of this.graph.stages) {
      const wanted = this.graph.rules.map((r) => this.query.rule(r.name, stage.name + " " + stage.alias));
      if (!wanted.includes(true)) continue;
      stage.rewrites.forEach((r, i) => { if (wanted[r.rule]) out.push({s: stage.index + 1, r: i}); });
    }
    return out;
  }
  nextFound(by) {
    if (this.found.length) {
      const at = this.found.indexOf(this.state.n);
      return this.go({m: false, n: this.found[(at + by + this.found.length) % this.found.length]});
    }
    const list = this.foundRewrites();
    if (!list.length) return this.notify("nothing found");
    const at = list.findIndex((x) => x.s === this.state.s && x.r === this.state.r);
    return this.go({...list[(at + by + list.length) % list.length], d: -1, m: false});
  }

  /** Shows a text for some seconds, and announces it. */
  notify(text) { toast(plainText(text)); }
  /** Announces a text to screen readers only. */
  announce(text) { byId("said").textContent = text; }
}
