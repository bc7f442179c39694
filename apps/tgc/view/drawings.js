import {Replacements, unreplacedGraph} from "./replay.js";
import {boxesOf, drawingOf, placeBoxes, storeBounds} from "./layout.js";
import {wrapRows} from "./wrapping.js";
import {InlineNodes} from "./expressions.js";
import {diffOf, prepareSide} from "./match.js";
import {isValue} from "./values.js";
import {wholeSidesOf} from "./rewrites.js";
import {Blocks} from "./blocks.js";
import {wordOfBlock, parseFoldWords} from "./folding.js";
import {modelNodeOf} from "./made.js";
/** @typedef {import("./data.js").RecordedGraph} RecordedGraph */
/** @typedef {import("./layout.js").Drawing} Drawing */

/** The difference of two graphs, and their nodes that differ.
 * @typedef {{diff: import("./match.js").Diff, came: Set<number>, went: Set<number>}} News */
/** `diff`: the difference, if two graphs are compared. `news`: this difference, or that of the stage. `edited`: the
 * boxes whose text a rewrite changed. `isPart`: only the two sides of a rewrite are drawn.
 * @typedef {{drawing: Drawing, came: Set<number>, went: Set<number>, root: number, isPart?: boolean,
 *   edited?: Set<number>, diff?: import("./match.js").Diff, news?: News}} Scene */

export const kMostUnfolded = 200;  // a graph with more nodes is shown folded

const kMostKeptBoxes = 120;  // if a folded graph has more boxes, they do not keep their positions

export class Drawings {
  /** `hides`: index arithmetic is text in the boxes that use it.
   * @param {RecordedGraph} graph @param {import("./story.js").NodeHistories} story @param {boolean} hides */
  constructor(graph, story, hides = false) {
    this.graph = graph, this.story = story, this.hides = hides;
    /** @type {Drawing[]} */ this.places = [];
    this.scenes = new Map();
    /** @type {Map<number, Blocks>} */ this.blocks = new Map();
    /** @type {Map<string, number>} */ this.descendants = new Map();
    /** @type {Map<string, News>} */ this.news = new Map();
  }

  /** Which nodes are text in the boxes of their users. */
  get inline() { return new InlineNodes(this.graph, this.hides); }

  /** Returns the repeated blocks of the graph below a root. */
  blocksOf(root) {
    const {inline} = this;
    if (!this.blocks.has(root)) this.blocks.set(root, new Blocks(this.graph, root, (n) => inline.has(n)));
    return this.blocks.get(root);
  }

  /** Finds the repeated blocks of the graph below a root, in steps between which the caller can pause. */
  *prepareBlocks(root) {
    this.inline.has(root);
    yield;
    const blocks = this.blocksOf(root);
    yield;
    blocks.blocksByHead;
    yield;
    blocks.repeats();
    yield;
  }

  /** @param {import("./state.js").State} state @returns {Scene} */
  scene(state) {
    return this.scenes.get(keyOf(state)) || this.#cacheScene(state, this.#newScene(state));
  }
  #cacheScene(state, scene) {
    if (this.scenes.size > 40) this.scenes.delete(this.scenes.keys().next().value);
    this.scenes.set(keyOf(state), scene);
    return scene;
  }

  /** If a state isFolded(), prepares its scene of the first graph, in steps between which the caller can pause.
   * @param {import("./state.js").State} state */
  *prepareFolded(state) {
    const first = {...state, s: 0};
    if (this.isFolded(state) && !this.scenes.has(keyOf(first))) this.#cacheScene(first,
      yield* this.#foldedScene(first));
  }

  #newScene(state) {
    if (state.r >= 0) return this.#sceneOfRewrite(state);
    if (state.o) return this.#sceneOfOtherInput(state);
    return state.d >= 0 ? this.#sceneOfDifference(state) : this.#sceneOfPlace(state);
  }

  /** Returns the drawing of the whole graph at a point between stages. @returns {Drawing} */
  at(place) {
    for (let p = 0; p <= place; p++) while (this.prepare(p));
    return this.places[place];
  }

  /** Does one step of drawing a graph; the graph before it must be drawn already. Returns whether the step took time.
   * @returns {boolean} */
  prepare(p) {
    if (this.places[p]) return false;
    if (p && !this.graph.stages[p - 1].changed) {
      this.places[p] = this.places[p - 1];
      return false;
    }
    const step = this.step && this.step.p === p ? this.step : null;
    if (!step) this.step = {p, origins: p ? this.story.originsAt(p) : null, boxes: null};
    else if (!step.boxes) {
      const shown = unreplacedGraph(this.graph, this.story.root(p)), was = (n) => step.origins.get(n);
      const before = p ? this.#keptPositions(this.places[p - 1], shown, was, false) : null;
      step.boxes = boxesOf(this.inline, [shown], before);
    } else this.places[p] = placeBoxes(step.boxes), this.step = null;
    return true;
  }

  // Returns the positions to keep from `drawing`. A new node gets the position of the node that it replaces, if free.
  #keptPositions(drawing, {order, sources}, origin, rows) {
    const moved = new Map(), taken = new Set();
    for (const key of order) {
      if (drawing.byKey.has(key)) continue;
      const from = origin(key);
      if (from === undefined || taken.has(from) || sources.has(from) || !drawing.byKey.has(from)) continue;
      taken.add(from), moved.set(key, drawing.byKey.get(from));
    }
    return {place: (key) => drawing.byKey.get(key) || moved.get(key), taken, rows, base: drawing};
  }

  /** Whether a state shows the first graph alone, and so much of it folded that no drawing of the whole graph is
   * needed. */
  isFolded({s, r, d, o, f}) {
    const isOf = (word) => word === "a" || word === "m" || word === "l" && this.isLarge(0);
    return s <= 0 && r < 0 && d < 0 && !o && f.some(isOf);
  }

  /** Whether the graph at a place has so many nodes that it is shown folded unless the user unfolds it.
   * @param {number} place */
  isLarge(place) {
    const {graph} = this;
    return (place ? graph.stages[place - 1].nodes : graph.nodesOf(graph.ast).length) > kMostUnfolded;
  }

  #sceneOfPlace(state) {
    const root = this.story.root(state.s), came = new Set(), {inline} = this;
    if (this.isFolded(state)) {
      const steps = this.#foldedScene(state);
      for (let step = steps.next(); ; step = steps.next()) if (step.done) return step.value;
    }
    const drawing = this.at(state.s);
    /** @type {News | undefined} */ let news;
    if (state.s) {
      news = this.#differencesOf(this.story.root(state.s - 1), root);
      const isNew = (n) => news.came.has(n);
      for (const box of drawing.boxes) {
        let changes = isNew(box.n);
        if (!changes && this.hides) inline.forEach(box.n, (s) => { changes ||= isNew(s); });
        if (changes) came.add(box.key);
      }
    }
    if (!state.f.length || state.f.join() === "l" && !this.isLarge(state.s))
      return {drawing, came, went: new Set(), root, news};
    const shown = unreplacedGraph(this.graph, root), foldRequest = this.#foldRequest(state, state.s, shown,
      (key) => key);
    const begun = boxesOf(inline, [shown], this.#keptPositions(drawing, shown, () => undefined, false), foldRequest);
    // if most nodes are folded, or there are many, lay the graph out again instead of keeping positions
    const isFresh = 2 * begun.boxes.length < drawing.boxes.length || begun.boxes.length > kMostKeptBoxes;
    return {drawing: isFresh ? layOutAnew(begun) : placeBoxes(begun), came, went: new Set(), root, news};
  }

  // Draws a graph that isFolded(), in steps. @returns {Generator<undefined, Scene>}
  *#foldedScene(state) {
    const root = this.story.root(state.s), {repeats, large} = parseFoldWords(state.f);
    if (repeats || large) yield* this.prepareBlocks(root);
    const shown = unreplacedGraph(this.graph, root), foldRequest = this.#foldRequest(state, state.s, shown,
      (key) => key);
    yield;
    const begun = boxesOf(this.inline, [shown], null, foldRequest);
    yield;
    const drawing = layOutAnew(begun);
    yield;
    return {drawing, came: new Set(), went: new Set(), root};
  }

  /** Returns what to fold in a graph. A word of the address names nodes of the graph in which the user folded them; the
   * nodes that these have become are folded here. `origin` returns the node of the graph at `place` for a key.
   * @param {import("./state.js").State} state @param {number} place
   * @param {import("./replay.js").Shown} shown @param {(key: number) => number} origin
   * @returns {import("./folding.js").FoldRequest | null} */
  #foldRequest(state, place, shown, origin) {
    if (!state.f.length) return null;
    const g = this.graph, {heads, alike, all, repeats, large, flipped} = parseFoldWords(state.f);
    const out = {heads: new Map(), model: null};
    const here = (n) => (n < 0 || shown.sources.has(n) ? n : this.#descendant(n, place)), words = new Set(state.f);
    const known = new Set(), blocks = () => this.blocksOf(this.story.root(place));
    const foldAll = (list, count) => {
      for (const block of list) {
        const word = wordOfBlock(block);
        known.add(word);
        if (words.has(word) || !shown.sources.has(block.head)) continue;
        const lines = [block.label || "one of " + (count || block.count) + " alike"];
        out.heads.set(block.head, {floor: block.floor, word, lines});
      }
    };
    if (repeats || large && this.isLarge(place)) foldAll(blocks().repeats(), 0);
    for (const n of alike) {
      const list = blocks().blocksLike(here(n));
      foldAll(list, list.length);
    }
    for (const {head, floor, word} of heads) {
      if (known.has(word)) continue;
      const key = here(head), count = floor < 0 ? 0 : blocks().blocksLike(key).length;
      const lines = count > 1 ? ["one of " + count + " alike"] : [];
      if (shown.sources.has(key)) out.heads.set(key, {floor: here(floor), word, lines});
    }
    if (g.madeOf.length && (all || flipped.size)) {
      const of = (key) => {
        const label = modelNodeOf(g, this.story, place, origin(key));
        return label >= 0 && all !== flipped.has(label) ? label : -1;
      };
      const says = (key) => (g.shapes.has(key % g.count) ? "(" + g.strings[g.shapes.get(key % g.count)] + ")" : "");
      out.model = {of, labels: g.madeOf, says};
    }
    return out;
  }
  // Returns the node of graph `place` that node `n` of another graph has become; -1 if there is none.
  #descendant(n, place) {
    const key = n + "," + place;
    if (!this.descendants.has(key)) {
      let from = 0;
      while (from < this.story.last && !this.story.usersAt(from).has(n) && this.story.root(from) !== n) from++;
      const there = this.story.relatives(from, [n])[place];
      this.descendants.set(key, there && there.size ? Math.max(...there) : -1);
    }
    return this.descendants.get(key);
  }

  /** Does one step of finding the new nodes of a stage. Returns whether the step took time. */
  prepareNews(p) {
    if (!p || !this.graph.stages[p - 1].changed) return false;
    const from = this.story.root(p - 1), to = this.story.root(p);
    if (this.news.has(from + "," + to)) return false;
    if (!prepareSide(this.graph, from) && !prepareSide(this.graph, to)) this.#differencesOf(from, to);
    return true;
  }

  /** Returns how two graphs differ, and their new and removed nodes; a changed node is both. @returns {News} */
  #differencesOf(from, to) {
    const key = from + "," + to;
    if (!this.news.has(key)) {
      const diff = diffOf(this.graph, from, to), {changed} = diff;
      const own = (...lists) => new Set(lists.flatMap((list) => [...list].filter((n) => !isValue(this.graph, n))));
      const old = [...changed.values()].map((c) => c.of).filter((n) => !changed.has(n));
      this.news.set(key, {diff, came: own(diff.came, changed.keys()), went: own(diff.went, old)});
    }
    return this.news.get(key);
  }

  #sceneOfRewrite(state) {
    const g = this.graph, stage = g.stages[state.s - 1], rewrite = stage.rewrites[state.r], run = rewrite.run;
    const after = new Replacements(g, run, stage.events, rewrite.at);
    const was = this.#graphBefore(state, run, stage, rewrite), is = after.replacedGraph(run.input);
    this.latest = {stage, at: rewrite.at, run, shown: is};
    const base = run.input === stage.from ? this.at(state.s - 1) : this.#drawingOfPart(state.s - 1, run.input);
    const origin = (key) => {
      let n = key % g.count;
      for (let i = 0; i < 1000 && !base.byKey.has(n) && after.from.has(n); i++) n = after.from.get(n);
      return n;
    };
    const inline = this.inline.afterRewrite(was, is,
      wholeSidesOf(g, rewrite).map((text, i) => (i ? "+ " : "\u2212 ") + text));
    const isBox = (k) => !inline.has(k % g.count) || k === was.root || k === is.root;
    const boxes = (a, b) => new Set(a.order.filter((k) => !b.sources.has(k) && isBox(k)));
    const came = boxes(is, was), went = boxes(was, is), foldRequest = this.#foldRequest(state, state.s - 1, is, origin);
    const edited = new Set([...inline.edited, ...nodesWithNewValues(g, was, is)]);
    const drawing = this.#drawBothGraphs(inline, was, is, base, origin, came, went, foldRequest);
    // a graph that lacks the result, such as that of a rule that rewrites a graph of its own: show only the two sides
    if (!drawing.home.has(rewrite.after) && !edited.size) return this.#sceneOfSides(state, rewrite);
    return {drawing, came, went, root: is.root, edited};
  }
  #sceneOfSides(state, {before, after}) {
    const scene = this.#sceneOfTwoGraphs({...state, f: []}, before, after, this.#drawingOfPart(state.s - 1, before));
    return {...scene, came: new Set([...scene.came, after]), went: new Set([...scene.went, before]), isPart: true};
  }
  // Returns the graph before a rewrite, which is usually the one drawn last.
  #graphBefore(state, run, stage, rewrite) {
    const l = this.latest, last = run.events[run.events.indexOf(rewrite.at) - 1];
    if (l && l.run === run && l.stage === stage && l.at === last) return l.shown;
    return new Replacements(this.graph, run, stage.events, rewrite.at - 1).replacedGraph(run.input);
  }

  // Draws two graphs as one, such as those before and after a rewrite. A new node takes the position of the node that
  // it replaces. `hasGhosts`: the replaced node is drawn beside the new one, and no other box moves.
  #drawBothGraphs(inline, was, is, base, origin, came, went, foldRequest, hasGhosts = true) {
    const places = this.#keptPositions(base, is, origin, !inline.open.size), ghosts = new Map(), own = new Map();
    const displaced = new Set();
    for (const key of went) {
      const box = base.byKey.get(key) || base.byKey.get(origin(key));
      const isTaken = box && (is.sources.has(box.key) || places.taken.has(box.key));
      if (isTaken && hasGhosts) ghosts.set(key, box);
      else if (isTaken) displaced.add(key);
      else if (box) own.set(key, box);
    }
    const placeOf = (key) => (displaced.has(key) ? undefined : places.place(key) || own.get(key));
    const before = {...places, place: placeOf, ghosts, displaced};
    const drawing = drawingOf(inline, [was, is], before, foldRequest);
    const hiding = new Set();  // words of folds to open, because they contain a change
    for (const key of foldRequest ? [...went, ...came] : []) {
      const box = drawing.byKey.has(key) ? null : drawing.home.get(key % this.graph.count);
      if (box && box.fold) hiding.add(box.fold.word);
    }
    return hiding.size ? drawingOf(inline, [was, is], before, foldsWithoutWords(foldRequest, hiding)) : drawing;
  }

  #drawingOfPart(place, root) {
    const shown = unreplacedGraph(this.graph, root);
    return drawingOf(this.inline, [shown], this.#keptPositions(this.at(place), shown, () => undefined, false));
  }

  #sceneOfDifference(state) {
    const low = Math.min(state.d, state.s);
    return this.#sceneOfTwoGraphs(state, this.story.root(state.d), this.story.root(state.s), this.at(low));
  }

  /** Returns the root of the other input's graph at a point between stages; -1: there is no such graph. */
  otherRoot(place) {
    const {other} = this.graph;
    const at = other ? other.names.indexOf(place ? this.graph.stages[place - 1].name : this.graph.begins) : -1;
    return at < 0 ? -1 : other.roots[at];
  }

  // Draws the differences from input A to input B: nodes only in A are marked as removed, nodes only in B as added. If
  // the other input lacks the graph, draws the shown one alone.
  #sceneOfOtherInput(state) {
    const theirs = this.otherRoot(state.s), ours = this.story.root(state.s);
    if (theirs < 0) return this.#sceneOfPlace({...state, o: false});
    const [a, b] = this.graph.other.isFirst ? [theirs, ours] : [ours, theirs];
    return this.#sceneOfTwoGraphs(state, a, b, this.at(state.s));
  }

  // Draws two graphs as one, with their differences. Two nodes that match without a difference (diffOf) are drawn once,
  // as in the second graph.
  #sceneOfTwoGraphs(state, from, to, base) {
    const g = this.graph, was = unreplacedGraph(g, from), is = unreplacedGraph(g, to), back = new Map();
    const news = this.#differencesOf(from, to), {diff, came, went} = news;
    for (const [old, now] of diff.like) back.set(now, old);
    const inline = this.inline.openDifferences([was, is], (n) => came.has(n) || went.has(n)), kept = new Set(is.order);
    const drawn = {...was, order: was.order.filter((n) => went.has(n) || kept.has(n) || inline.has(n))};
    const home = (n) => (back.has(n) ? back.get(n) : diff.like.get(n));
    const foldRequest = this.#foldRequest(state, state.s, is, (key) => key);
    return {drawing: this.#drawBothGraphs(inline, drawn, is, base, home, came, went, foldRequest, false), came, went,
      root: to,
      diff, news};
  }
}

// Returns the nodes of a graph that have other values among their sources than before a rewrite.
function nodesWithNewValues(g, was, is) {
  const isNew = (key) => {
    const old = was.sources.has(key) ? was.sources.get(key) : null, list = is.sources.get(key);
    return old && old !== list && list.some((s, i) => s !== old[i] && isValue(g, s % g.count));
  };
  return is.order.filter(isNew);
}

function layOutAnew(begun) { return storeBounds(wrapRows(placeBoxes({...begun, before: null}))); }

const keyOf = ({s, r, d, o, f}) => [s, r, d, o, ...f].join();

/** Returns the folds without those that have these words, because they would hide a change.
 * @param {import("./folding.js").FoldRequest} foldRequest @param {Set<string>} words */
function foldsWithoutWords(foldRequest, words) {
  const {model} = foldRequest, of = (key) => (words.has("m" + model.of(key)) ? -1 : model.of(key));
  return {heads: new Map([...foldRequest.heads].filter(([, how]) => !words.has(how.word))),
    model: model && {...model, of}};
}
