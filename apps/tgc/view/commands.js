import {addressOf} from "./state.js";
import {nextDiffering} from "./verdict.js";
import {nodesOfKernels} from "./made.js";
import {pause} from "./data.js";
import {countText} from "./amounts.js";
import {dialog, installDialog} from "./dialogs.js";
import {installToolbar} from "./toolbar.js";
import {showColors, showGraphs, showHelp} from "./overviews.js";
import {focusOnBorder, installBorders} from "./borders.js";
import {followTheme, setTheme} from "./theme.js";
import {wordOfBlock} from "./folding.js";
import {dotOf, downloadFile, svgOf} from "./export.js";
/** @typedef {import("./app.js").App} App */

/** @typedef {{name: string, keys: string[], says: string, run: (app: App) => any, group?: string}} Command */

/** Returns the commands with the name of their group. @param {string} name @param {Command[]} list */
function group(name, list) { return list.map((c) => ({...c, group: name})); }

/** @type {Command[]} */
export const kCommands = [
  ...group("Move through the stages", [
    {name: "next", keys: ["ArrowDown", "j"], says: "next rewrite or stage", run: (app) => app.stageList.step(1)},
    {name: "previous", keys: ["ArrowUp", "k"], says: "previous rewrite or stage", run: (app) => app.stageList.step(-1)},
    {name: "next-stage", keys: ["ArrowRight", "l"], says: "next stage that changed something",
      run: (app) => goToChangedStage(app, 1)},
    {name: "previous-stage", keys: ["ArrowLeft", "h"], says: "previous stage that changed something",
      run: (app) => goToChangedStage(app, -1)},
    {name: "quiet-stages", keys: ["a"], says: "show or hide the stages that changed nothing",
      run: (app) => app.stageList.toggleQuiet()},
    {name: "first-stage", keys: ["Home"], says: "the first graph", run: (app) => app.stageList.goTo(0)},
    {name: "last-stage", keys: ["End"], says: "the last graph", run: (app) => app.stageList.goTo(app.story.last)}]),
  ...group("Select nodes", [
    {name: "next-node", keys: ["]"], says: "next node", run: (app) => selectNeighbour(app, 1)},
    {name: "previous-node", keys: ["["], says: "previous node", run: (app) => selectNeighbour(app, -1)},
    {name: "source", keys: ["s"], says: "first source of the node", run: (app) => selectSourceOrUser(app, "source")},
    {name: "user", keys: ["u"], says: "first user of the node", run: (app) => selectSourceOrUser(app, "user")},
    {name: "nothing", keys: ["Escape"], says: "clear selection, comparison and search; close the schedule",
      run: clearSelection}]),
  ...group("Compare", [
    {name: "graph", keys: ["v"], says: "the graph alone: no comparison, rewrite or schedule",
      run: (app) => app.go({m: false, d: -1, o: false, r: -1})},
    {name: "difference", keys: ["d"], says: "what the stage changed: both graphs in one", run: toggleStageDifference},
    {name: "compare-from", keys: ["D"], says: "compare all stages with this one, or stop", run: toggleFixedComparison},
    {name: "other", keys: ["o"], says: "compare with the other input", run: toggleOtherInput},
    {name: "next-difference", keys: ["."], says: "next difference", run: (app) => selectNextChanged(app, 1)},
    {name: "previous-difference", keys: [","], says: "previous difference", run: (app) => selectNextChanged(app, -1)},
    {name: "next-differing", keys: [">"], says: "next stage, or graph, that differs from the other input's",
      run: (app) => goToNextDiffering(app, 1)},
    {name: "previous-differing", keys: ["<"], says: "previous stage, or graph, that differs from the other input's",
      run: (app) => goToNextDiffering(app, -1)}]),
  ...group("Fold", [
    {name: "arithmetic", keys: ["i"], says: "show index arithmetic as boxes, or as text in the boxes that use it",
      run: (app) => app.go({a: !app.state.a})},
    {name: "fold", keys: ["f"],
      says: "fold the repeated block at this node, else the nodes that only it uses (of a range, its loop); "
        + "or unfold it", run: foldSelected},
    {name: "fold-alike", keys: ["y"], says: "the same for all blocks like this one", run: foldSimilarBlocks},
    {name: "fold-repeats", keys: ["Y"], says: "fold all repeated blocks: layers, residual blocks, lanes",
      run: foldRepeats},
    {name: "fold-model", keys: ["z"], says: "fold by the nodes of the model or the lines of the program, or unfold",
      run: foldByModelNodes},
    {name: "unfold", keys: ["F"], says: "unfold everything", run: unfoldAll}]),
  ...group("Texts", [
    {name: "next-text", keys: ["t"], says: "next text", run: (app) => app.textPanel.nextTab(1)},
    {name: "previous-text", keys: ["T"], says: "previous text", run: (app) => app.textPanel.nextTab(-1)},
    {name: "second-text", keys: ["w"], says: "two texts side by side, such as the source and its assembly",
      run: toggleSecondText},
    {name: "wrap", keys: ["W"], says: "wrap long lines, or not", run: (app) => app.go({w: !app.state.w})},
    {name: "copy-text", keys: ["C"], says: "copy the text", run: (app) => app.textPanel.copy()}]),
  ...group("Search", [
    {name: "search", keys: ["/"],
      says: "search: op:ADD dtype:half arg:x rule:fold stage:symbolic device:CPU #12 /regular expression/",
      run: () => focusOn("search")},
    {name: "next-found", keys: ["n"], says: "next match", run: (app) => app.nextFound(1)},
    {name: "previous-found", keys: ["N"], says: "previous match", run: (app) => app.nextFound(-1)}]),
  ...group("View", [
    {name: "zoom-in", keys: ["+", "="], says: "larger", run: (app) => app.canvas.zoom(1.25)},
    {name: "zoom-out", keys: ["-"], says: "smaller", run: (app) => app.canvas.zoom(0.8)},
    {name: "fit", keys: ["0"], says: "the whole graph", run: fitGraph},
    {name: "pan-left", keys: ["Shift+ArrowLeft"], says: "move the view left", run: (app) => app.canvas.pan(-90, 0)},
    {name: "pan-right", keys: ["Shift+ArrowRight"], says: "move the view right", run: (app) => app.canvas.pan(90, 0)},
    {name: "pan-up", keys: ["Shift+ArrowUp"], says: "move the view up", run: (app) => app.canvas.pan(0, -90)},
    {name: "pan-down", keys: ["Shift+ArrowDown"], says: "move the view down", run: (app) => app.canvas.pan(0, 90)},
    {name: "pane-stages", keys: ["1"], says: "show or hide the stages", run: (app) => togglePane(app, "s")},
    {name: "pane-texts", keys: ["2"], says: "show or hide the texts", run: (app) => togglePane(app, "t")},
    {name: "pane-details", keys: ["3"], says: "show or hide the details", run: (app) => togglePane(app, "d")},
    {name: "colors", keys: ["q"], says: "what the colors mean", run: showColors},
    {name: "regions", keys: ["r"], says: "show or hide the ranges as regions", run: toggleRegions},
    {name: "borders", keys: ["|"], says: "focus the next border between panes; arrow keys move it", run: focusOnBorder},
    {name: "theme", keys: ["x"], says: "light or dark",
      run: () => changeTheme(!document.documentElement.classList.contains("dark"))}]),
  ...group("Graphs and schedule", [
    {name: "times", keys: ["M"], says: "the schedule by measured or by estimated times",
      run: (app) => app.go({m: true, e: !app.state.e})},
    {name: "model", keys: ["m"], says: "the schedule: timeline, memory, kernels; without one, all graphs",
      run: (app) => app.go({m: !app.state.m || app.state.k, k: false})},
    {name: "schedule", keys: ["S"], says: "the schedule that the shown graph is of, or has", run: toggleSchedule},
    {name: "graphs", keys: ["g"], says: "all graphs of this page", run: showGraphs},
    {name: "next-graph", keys: ["}"], says: "next graph", run: (app) => openNextGraph(app, 1)},
    {name: "previous-graph", keys: ["{"], says: "previous graph", run: (app) => openNextGraph(app, -1)}]),
  ...group("Page", [
    {name: "back", keys: ["b", "Backspace"], says: "back", run: (app) => app.visits.go(-1)},
    {name: "forward", keys: ["B"], says: "forward", run: (app) => app.visits.go(1)},
    {name: "link", keys: ["c"], says: "copy a link to this view", run: copyLink},
    {name: "svg", keys: ["e"], says: "save this view as SVG",
      run: (app) => downloadFile(app.graph.name + ".svg", "image/svg+xml", svgOf(app))},
    {name: "dot", keys: ["E"], says: "save the graph as dot",
      run: (app) => downloadFile(app.graph.name + ".dot", "text/vnd.graphviz", dotOf(app))},
    {name: "help", keys: ["?"], says: "this list",
      run: (app) => showHelp(kCommands, (c) => runCommand(app, c))}]),
];

/** @param {App} app */
export function installCommands(app) {
  // tests and debuggers use these names
  Object.assign(window, {theApp: app, kCommands, svgOf, dotOf, nodesOfKernels});
  followTheme((dark) => changeTheme(dark, false));
  addEventListener("keydown", (e) => {
    const target = /** @type {HTMLElement} */ (e.target), {open} = dialog();
    const isField = target.matches("input, select, textarea") && !dialog().contains(target);
    if (isField || open || e.ctrlKey || e.metaKey || e.altKey || document.querySelector(":popover-open")) return;
    const key = (e.shiftKey && e.key.startsWith("Arrow") ? "Shift+" : "") + e.key;
    const command = kCommands.find((c) => c.keys.includes(key));
    if (!command) return;
    e.preventDefault();
    runCommand(app, command);
  });
  installBorders(), installDialog();
  const named = new Map(kCommands.map((c) => [c.name, c]));
  installToolbar(app, (name) => runCommand(app, named.get(name)), named);
  document.getElementById("commands-button").addEventListener("click", () => runCommand(app, named.get("help")));
  document.getElementById("copy-text").addEventListener("click", () => runCommand(app, named.get("copy-text")));
  document.getElementById("graph-button").addEventListener("click", () => showGraphs(app));
}

// Runs commands one after the other: the effect of one depends on the state that the previous one made.
let obeyed = Promise.resolve();
/** @param {App} app @param {Command} command */
function runCommand(app, command) {
  obeyed = obeyed.then(() => command.run(app)).catch((error) => app.notify(String(error)));
  Object.assign(app, {lastCommand: command.name, obeyed});
}

const focusOn = (id) => document.getElementById(id).focus();

function clearSelection(app) {
  app.pinned = -1;
  return app.go({n: -1, d: -1, o: false, m: false, q: ""});
}
function toggleRegions(app) {
  app.canvas.regions = !app.canvas.regions;
  app.canvas.redraw();
  app.notify(app.canvas.regions ? "ranges are shown as colored regions" : "the regions of ranges are hidden");
}
// Shows the whole graph. Folds its repeated blocks if it would be too small to read.
async function fitGraph(app) {
  app.canvas.fit();
  const {f} = app.state, isFolded = f.includes("a") || f.includes("l") && app.drawings.isLarge(app.state.s);
  if (app.canvas.isReadable() || isFolded || app.state.r >= 0 || app.graph.isByLine && f.includes("m")) return;
  if (!app.drawings.blocksOf(app.scene.root).repeats().length) return;
  await app.go({f: [...f, "a"]});
  app.canvas.fit();
}
function toggleSchedule(app) {
  if (!app.schedule) return app.notify("this page has no schedule of this graph");
  return app.go({m: !app.state.m || app.showsGraphList, k: true});
}
function goToChangedStage(app, by) {
  const {graph, state, story} = app;
  for (let s = state.s + by; s >= 0 && s <= story.last; s += by)
    if (!s || graph.stages[s - 1].changed || graph.stages[s - 1].count) return app.stageList.goTo(s);
}
function openNextGraph(app, by) {
  const count = app.index.graphs.length;
  return app.openGraph((app.state.g + by + count) % count);
}
function togglePane(app, letter) {
  const {h} = app.state;
  return app.go({h: h.includes(letter) ? h.replace(letter, "") : h + letter});
}
function toggleSecondText(app) {
  const {texts, text} = app.textPanel, has = (kind) => texts.some((t) => t.kind === kind);
  if (app.state.u) return app.go({u: ""});
  if (texts.length < 2) return app.notify("there is only one text");
  if (has("source") && has("asm")) return app.go({t: "source", u: "asm", h: app.state.h.replace("t", "")});
  return app.go({u: texts.find((t) => t !== text).kind, h: app.state.h.replace("t", "")});
}
function selectNeighbour(app, by) {
  const boxes = app.scene.drawing.boxes, at = boxes.findIndex((b) => b.n === app.state.n);
  if (!boxes.length) return;
  const first = by > 0 ? 0 : boxes.length - 1, next = at < 0 ? first : (at + by + boxes.length) % boxes.length;
  return app.go({n: boxes[next].n});
}
function selectSourceOrUser(app, what) {
  const {drawing} = app.scene, box = drawing.home.get(app.state.n);
  if (!box) return selectNeighbour(app, -1);
  if (what === "source" && box.sources.length) return app.go({n: drawing.byKey.get(box.sources[0]).n});
  const user = drawing.boxes.find((b) => b.sources.includes(box.key));
  if (what === "user" && user) return app.go({n: user.n});
  app.notify("it has no " + what);
}
function toggleOtherInput(app) {
  if (!app.graph.other) return app.notify("there is no other input: tgc view A B");
  return app.go({o: !app.state.o, r: -1, d: -1});
}
function toggleStageDifference(app) {
  const {state} = app;
  if (state.d >= 0) return app.go({d: -1});
  for (let s = state.s; s > 0; s--) if (app.graph.stages[s - 1].changed) return app.go({s, d: s - 1, r: -1});
}
function toggleFixedComparison(app) {
  if (app.pinned < 0) return app.stageList.compareWith(app.state.s);
  app.pinned = -1;
  return app.state.d < 0 ? app.show(app.state) : app.go({d: -1});
}
function goToNextDiffering(app, by) {
  for (let s = app.state.s + by; s >= 0 && s <= app.story.last; s += by)
    if (app.differsAt(s)) return app.go({s, r: -1, d: -1, o: true, n: -1});
  if (!app.graph.other) return app.notify("there is no other input: tgc view A B");
  const open = nextDiffering(app, by);
  return open ? open() : app.notify("no further stage differs, and no other graph");
}
function selectNextChanged(app, by) {
  const {came, went, drawing, diff} = app.scene, old = new Set(diff ? [...diff.changed.values()].map((c) => c.of) : []);
  const list = drawing.boxes.filter((b) => came.has(b.key) || went.has(b.key) && !old.has(b.key));
  if (!list.length) return app.notify("nothing changed here");
  const at = list.findIndex((b) => b.n === app.state.n);
  return app.go({n: list[(at + by + list.length) % list.length].n});
}
function foldSelected(app) {
  const box = app.scene.drawing.home.get(app.state.n);
  if (!box) return app.notify("select a node first");
  if (app.graph.opName(box.n) !== "RANGE") return app.fold(box);
  const isEnd = (b) => ["END", "REDUCE", "BUFFERIZE"].includes(app.graph.opName(b.n));
  const ends = app.scene.drawing.boxes.filter((b) => b.sources.includes(box.key) && isEnd(b));
  return app.go({f: [...new Set([...app.state.f, ...ends.map((b) => String(b.key))])]});
}
async function unfoldAll(app) {
  const before = app.scene.drawing.boxes.length;
  if (!app.state.f.length) return app.notify("nothing is folded");
  await app.go({f: []});
  if (app.scene.drawing.boxes.length > 2 * before) app.canvas.begin();
}
async function foldSimilarBlocks(app) {
  const box = app.scene.drawing.home.get(app.state.n), {f} = app.state;
  const blocks = box ? app.drawings.blocksOf(app.scene.root).blocksLike(box.key) : [];
  if (!blocks.length) return app.notify(box ? "no node is used only by this node" : "select a node first");
  const all = Math.min(...blocks.map((b) => b.head)) + "*", words = new Set(blocks.map(wordOfBlock));
  const rest = f.filter((word) => word !== all && !words.has(word));
  await app.go({f: f.includes(all) ? rest : [...rest, all]});
  app.notify(countText(blocks.length, "block") + (f.includes(all) ? " unfolded" : " folded"));
}
async function foldRepeats(app) {
  const {f} = app.state, all = app.drawings.blocksOf(app.scene.root);
  const isFolded = f.includes("a") || f.includes("l") && app.drawings.isLarge(app.state.s);
  if (isFolded) return app.go({f: f.filter((word) => word.startsWith("m"))});
  await pause();
  const blocks = all.repeats(), kinds = new Set(blocks.map((b) => b.kind)).size;
  if (!blocks.length) return app.notify("there is no repeated block");
  await app.go({f: ["a"], n: -1});
  app.canvas.begin();
  app.notify(countText(blocks.length, "block") + " of " + countText(kinds, "kind") + " folded");
}
async function foldByModelNodes(app) {
  const {f} = app.state;
  if (!app.graph.madeOf.length) return app.notify("this graph has no nodes of a model, and no lines of a program");
  const isFolded = f.some((word) => word.startsWith("m"));
  await app.go({f: isFolded ? f.filter((word) => !word.startsWith("m")) : [...f, "m"], n: -1});
  app.canvas.begin();
  const what = app.graph.isByLine ? "the program's lines" : `the model's ${app.graph.madeOf.length} nodes`;
  if (!isFolded) app.notify("folded by " + what);
}
async function copyLink(app) {
  const v = app.canvas.view;
  if (app.visits.isOwn) return app.notify("a page in a notebook has no address; tgc view -o makes a page that has one");
  const view = [v.x.toFixed(1), v.y.toFixed(1), v.scale.toFixed(3)].map(Number);
  app.visits.recordAddress(addressOf({...app.state, v: view}), false);
  try {
    await navigator.clipboard.writeText(location.href);
    app.notify("link copied");
  } catch {
    app.notify("copy the link from the address bar");
  }
}

export function changeTheme(dark, keep = true) {
  setTheme(dark, keep);
  if (window.theApp) window.theApp.canvas.redraw();
}
