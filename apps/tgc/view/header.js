import {countText} from "./amounts.js";
import {colorOfRange} from "./colors.js";
import {buttonOf} from "./dialogs.js";
import {axisTypeOf, expressionOf, nameOf} from "./expressions.js";
import {nameOfGraph, shownTarget} from "./overview.js";
import {plainText} from "./data.js";
import {nodeTitle} from "./details.js";
import {changeText} from "./rewrites.js";
import {nameOfRule} from "./stages.js";
import {byId, element} from "./list.js";
/** @typedef {import("./app.js").App} App */

const kMostRanges = 12;

/** @param {App} app */
export function showHeader(app) {
  const {graph, state, scene} = app, boxes = scene.drawing.boxes.length;
  const {showsGraphList} = app, isModel = state.m && !showsGraphList, g = isModel ? app.scheduleGraph : state.g;
  const own = app.index.graphs[g], name = nameOfGraph(own, g);
  byId("graph-button").textContent = (showsGraphList ? "all graphs" : name) + " \u25be";
  byId("graph-button").title = `all graphs (g); this is ${plainText(own.name)}`;
  document.title = (showsGraphList ? plainText(app.index.title) : name) + " \u2013 tgc view";
  const where = [own.function ? graph.name : "", shownTarget(graph.target), app.placeName(state.s),
    countText(boxes, "box", "boxes")];
  byId("where").textContent = showsGraphList || isModel ? "" : plainText(where.filter(Boolean).join("  \u00b7  "));
  const caption = byId("caption");
  caption.replaceChildren(...captionOf(app));
  caption.title = caption.textContent;  // the style cuts the end of a caption that has no room
  app.announce(caption.textContent + (state.n >= 0 ? ". Selected " + nodeTitle(graph, state.n) : ""));
  const search = byId("search");
  if (document.activeElement !== search && search.value !== state.q) search.value = state.q;
  showFound(app);
}

/** Shows how much the search finds: "2 of 9 in this stage, 31 in all, 4 rewrites". @param {App} app */
export function showFound(app) {
  const {query, state, found, story} = app, rewrites = query.empty ? [] : app.foundRewrites();
  const of = (at, count) => (at < 0 ? "" : at + 1 + " of ") + count;
  const all = app.foundAt.size > story.last ? app.foundAnywhere.size : 0;  // 0 until all are counted in idle time
  const says = [];
  if (found.length || all || !rewrites.length) says.push(of(found.indexOf(state.n), found.length) + " in this stage");
  if (all) says.push(all + " in all");
  const at = rewrites.findIndex(({s, r}) => s === state.s && r === state.r);
  if (rewrites.length) says.push(of(found.length ? -1 : at, countText(rewrites.length, "rewrite")));
  byId("found").textContent = query.empty ? "" : query.error || says.join(", ");
  byId("found").title = says.length > 1 && all ? "nodes found in this stage, nodes found in all stages, rewrites" : "";
}

function captionOf(app) {
  const {state, scene} = app, {came, went} = scene.news || scene;
  if (state.r >= 0) return captionOfRewrite(app);
  if (state.o) return captionOfOther(app);
  const counts = `+${came.size}  \u2212${went.size}`;
  const [title, more] = state.d >= 0
    ? ["what changed", `  from ${app.placeName(state.d)} to ${app.placeName(state.s)}:  ${counts}`]
    : [app.placeName(state.s), came.size ? `   +${came.size} new` : state.s ? "" : "   " + introductionTo(app)];
  const kind = state.d >= 0 ? "" : state.s ? "place" : "says";
  return [element("b", "", title), element("span", kind, plainText(more)), ...comparisonChip(app)];
}

// Returns a list with a button that says what the graph is compared with, and that ends the comparison. Returns an
// empty list if the graph is not compared.
function comparisonChip(app) {
  const {pinned, state: {d}} = app;
  if (d < 0 && pinned < 0) return [];
  const stop = () => {
    app.pinned = -1;
    return d < 0 ? showHeader(app) : app.go({d: -1});
  };
  const chip = buttonOf(plainText(`compared with ${app.placeName(pinned < 0 ? d : pinned)} \u2715`), stop);
  chip.title = "stop the comparison";
  return [chip];
}

function introductionTo({graph}) {
  if (graph.producer) return "as " + plainText(graph.producer) + " recorded it; its stages are at the left";
  return (graph.isTensor ? "what tgc schedules" : "what tgc compiles") + ", stage by stage, as listed at the left";
}

function captionOfRewrite(app) {
  const {graph, state} = app, {rewrites} = graph.stages[state.s - 1], rule = graph.rules[rewrites[state.r].rule];
  return [element("b", "", plainText(nameOfRule(rule))),
    element("span", "place", plainText("  " + changeText(graph, rewrites[state.r]))),
    element("span", "together", `   ${state.r + 1} of ${rewrites.length}`)];
}

function captionOfOther(app) {
  const {graph, state, scene, index} = app, names = [state.g, graph.other.index].map((g) => index.graphs[g].name);
  const both = names[0] === names[1] ? "" : "   " + names.join(" and ");
  const differ = `  A \u2212${scene.went.size}   B +${scene.came.size}` + both;
  const isThere = app.drawings.otherRoot(state.s) >= 0;
  const alike = isThere ? "  is the same in both" : "  the other input lacks this stage";
  const says = app.differsAt(state.s) ? differ : alike;
  return [element("b", "", app.placeName(state.s)), element("span", "", plainText(says))];
}

/** Shows ranges of the graph, at most kMostRanges, each as a button that selects it. The row of buttons stays if only
 * some stages have ranges, so that the graph does not move. @param {App} app */
export function showLegend(app) {
  const {graph, scene} = app, ranges = new Set();
  for (const box of scene.drawing.boxes) for (const r of graph.rangeLists[graph.ranges.get(box.n) || 0]) ranges.add(r);
  byId("legend").hidden = graph.rangeLists.length < 2;
  byId("legend").replaceChildren(...[...ranges].slice(0, kMostRanges).map((r) => {
    const arg = graph.argText(r), [size] = graph.sourcesOf(r), type = axisTypeOf(graph, r);
    const times = size === undefined ? "" : " \u00d7" + expressionOf(graph, size);
    const button = buttonOf("", () => app.go({n: app.state.n === r ? -1 : r}));
    button.append(colorDot(colorOfRange(arg)), plainText([nameOf(graph, r), type].join(" ") + times));
    button.title = "outlines its boxes; a click selects it";
    const outline = (isOn) => () => {
      const {n} = app.state, selected = n >= 0 && graph.opName(n) === "RANGE" ? n : -1;
      app.canvas.outline(isOn ? r : selected);
    };
    for (const [event, isOn] of [["pointerenter", true], ["focus", true], ["pointerleave", false], ["blur", false]])
      button.addEventListener(/** @type {string} */ (event), outline(isOn));
    return button;
  }));
}

/** Returns a dot of a colour. @param {string} color */
export function colorDot(color) {
  const [svg, circle] = ["svg", "circle"].map((tag) => document.createElementNS("http://www.w3.org/2000/svg", tag));
  svg.setAttribute("viewBox", "0 0 10 10"), svg.setAttribute("aria-hidden", "true");
  for (const [k, v] of [["cx", "5"], ["cy", "5"], ["r", "5"], ["fill", color], ["stroke", "currentColor"],
    ["stroke-width", "0.4"]]) circle.setAttribute(k, v);
  svg.append(circle);
  return svg;
}
