import {showBundle} from "./bundle.js";
import {element, link} from "./list.js";
import {countText, timeText} from "./amounts.js";
import {plainText} from "./data.js";
import {axisTypeOf, expressionOf, isArithmetic, nameOf} from "./expressions.js";
import {isValue, valueText} from "./values.js";
import {modelNodeOf} from "./made.js";
import {calledName, itemsOfCall} from "./calls.js";
import {countsText, exampleText, proofNoteOf, pointText, verdictOf, verdictText} from "./proof.js";
import {nameOfGraph, shownSize, shownTarget} from "./overview.js";
import {changeText, kernelName, loopChanges, optsOf, shownOpts, withoutColors} from "./rewrites.js";
import {ruleInBothInputs, locationText, ruleSourceLink, textOfRule} from "./rules.js";
import {nameOfRule} from "./stages.js";

const kMostListed = 40;

/** Returns the title of a node: "#12 ADD index". */
export function nodeTitle(graph, n) {
  const dtype = graph.dtypeName(n), isCall = graph.opName(n) === "CALL";
  const arg = withoutColors(isCall ? calledName(graph, n) : graph.argText(n)).replace(/AxisType\.|Ops\./g, "");
  return plainText("#" + graph.number[n] + " " + graph.opName(n) + (dtype ? " " + dtype : "")
    + (arg && arg.length < 40 ? " " + arg : ""));
}

/** @param {HTMLElement} home @param {import("./app.js").App} app */
export function showDetails(home, app) {
  const {graph, state, chosen} = app, n = state.n, out = state.r >= 0 ? rewriteOverview(app) : [];
  if (n < 0 || n >= graph.count) {
    if (chosen) {
      out.push(element("h2", "", nodeTitle(graph, chosen.n) + " is not in this graph"));
      showReplacement(out, app, chosen.place, chosen.n);
    }
    home.replaceChildren(...out, ...(state.r >= 0 ? [] : overviewElements(app)));
    return;
  }
  const place = app.story.placeOf(state, n);
  out.push(element("h2", "", nodeTitle(graph, n)));
  if (chosen && chosen.n !== n && chosen.place < place) {
    out.push(element("p", "",
      `selected as ${nodeTitle(graph, chosen.n)} in ${plainText(app.placeName(chosen.place))}`));
    showReplacement(out, app, chosen.place, chosen.n);
  }
  const list = element("dl"), fact = (name, value) => {
    if (value) list.append(element("dt", "", name), element("dd", "", plainText(value)));
  };
  const text = (map) => (map.has(n) ? graph.strings[map.get(n)] : "");
  const arg = graph.argText(n), opts = optsOf(arg);
  if (kernelName(arg)) fact("kernel", kernelName(arg)), fact("opts", opts.join(", ") || "none");
  else fact("arg", withoutColors(arg));
  fact("dtype", graph.dtypeName(n));
  fact("expression", arithmeticOf(graph, n));
  fact("shape", text(graph.shapes) && "(" + text(graph.shapes) + ")");
  const bounds = graph.bounds.get(n);
  if (bounds) fact("bounds", graph.strings[bounds[0]] + " \u2026 " + graph.strings[bounds[1]]);
  fact("tag", graph.strings[graph.tag[n]]);
  const ranges = graph.rangeLists[graph.ranges.get(n) || 0];
  fact("made for", graph.madeOf[modelNodeOf(graph, app.story, place, n)]);
  fact("ranges", ranges.map((r) => nameOf(graph, r) + " " + axisTypeOf(graph, r)).join(", "));
  const {fold} = app.scene.drawing.home.get(n) || {};
  if (fold) {
    const ops = countsByOp(graph, fold.members.map((key) => key % graph.count));
    fact("folded", fold.title ? [fold.title, ...fold.lines].join(" ") + ": " + ops : ops);
  }
  out.push(list);
  showNodeDifference(out, app, n);
  showNodeList(out, app, "sources", Array.from(graph.sourcesOf(n)));
  showNodeList(out, app, "used by", app.usersOf(n));
  if (graph.inner.has(n)) showKernelLink(out, app, n);
  showCallItems(out, app, n);
  showNodeOrigin(out, app, place, n);
  showFinalReplacement(out, app, place);
  home.replaceChildren(...out);
}

// Returns index arithmetic as an expression: that of the node, or that of an INDEX; "" for other nodes.
function arithmeticOf(graph, n) {
  if (isArithmetic(graph, n) && !nameOf(graph, n)) return expressionOf(graph, n);
  const [, index] = graph.opName(n) === "INDEX" ? graph.sourcesOf(n) : [];
  return index !== undefined && isArithmetic(graph, index) ? expressionOf(graph, index) : "";
}

function countsByOp(graph, nodes) {
  const counts = new Map(), boxes = nodes.filter((n) => !isValue(graph, n));
  for (const n of boxes) counts.set(graph.opName(n), (counts.get(graph.opName(n)) || 0) + 1);
  const most = [...counts].sort((a, b) => b[1] - a[1]);
  const told = most.slice(0, 8).map(([op, count]) => count + " " + op).join(", ");
  return countText(boxes.length, "node") + ": " + told + (most.length > 8 ? ", ..." : "");
}

function showNodeList(out, app, title, nodes) {
  if (!nodes.length) return;
  const list = element("ul");
  for (const s of nodes.slice(0, kMostListed)) {
    const item = element("li");
    if (isValue(app.graph, s))
      item.append(element("span", "place", plainText(valueText(app.graph, s) + "  " + app.graph.opName(s))));
    else item.append(link(nodeTitle(app.graph, s), () => app.go({n: s})));
    list.append(item);
  }
  if (nodes.length > kMostListed) list.append(element("li", "place", "and " + (nodes.length - kMostListed) + " more"));
  out.push(element("h3", "", title + (nodes.length > 3 ? " (" + nodes.length + ")" : "")), list);
}

const kKinds = {rule: "", part: "a part of the nodes made by ", sources: "its sources were replaced",
  stage: "made by the stage itself"};

function showKernelLink(out, app, n) {
  const ast = app.graph.inner.get(n), item = app.graph.kernels.indexOf(ast);
  const g = app.index.graphs.findIndex((x) => x.numbers.includes(item));
  showNodeList(out, app, "its kernel's graph", [ast]);
  if (g >= 0) out.push(link("open " + plainText(app.index.graphs[g].name) + " in its pipeline",
    () => app.openGraph(g)));
}

// Shows which items of the schedule run the kernel of a CALL, and a link to its graph.
function showCallItems(out, app, n) {
  const items = itemsOfCall(app.graph, n), g = app.graphOfItem(items[0], app.state.g);
  if (!items.length) return;
  const list = element("dl");
  list.append(element("dt", "", items.length > 1 ? "items" : "item"), element("dd", "", items.join(", ")));
  out.push(element("h3", "", "in the schedule"), list);
  if (g >= 0) out.push(link("open " + nameOfGraph(app.index.graphs[g], g), () => app.openGraph(g)));
}

function showDifferences(out, app) {
  const {diff} = app.scene, {graph} = app, list = element("ul");
  if (!diff) return;
  const boxes = (nodes) => [...nodes].filter((n) => !isValue(graph, n));
  const textOf = (n, c) => differencesOf(graph, n, c).map(([what, change]) => what + ": " + change).join(", ");
  const all = [...[...diff.changed].map(([n, c]) => ["\u2260 ", n, textOf(n, c)]).filter(([, , says]) => says),
    ...boxes(diff.went).map((n) => ["\u2212 ", n, ""]), ...boxes(diff.came).map((n) => ["+ ", n, ""])];
  for (const [sign, n, says] of all.slice(0, kMostListed)) {
    const item = element("li");
    item.append(element("span", "place", sign), link(nodeTitle(graph, n), () => app.go({n})));
    item.append(element("span", "place", "  " + plainText(says)));
    list.append(item);
  }
  if (all.length > kMostListed) list.append(element("li", "place", "and " + (all.length - kMostListed) + " more"));
  if (all.length) out.push(element("h3", "", "differences"), list);
}

function showChangedRules(out, app) {
  const {graph} = app;
  const changed = graph.rules.filter((rule) => ruleInBothInputs(graph, rule));
  if (changed.length) out.push(element("h3", "", "rules whose text differs"));
  for (const rule of changed.slice(0, kMostListed)) {
    const s = graph.stages.findIndex(({rewrites}) => rewrites.some((r) => graph.rules[r.rule] === rule));
    const r = graph.stages[s].rewrites.findIndex((x) => graph.rules[x.rule] === rule);
    const item = element("div", "rule"), go = () => app.go({s: s + 1, r, d: -1, n: -1});
    const [a, b] = ruleInBothInputs(graph, rule).map((side) => ruleSourceLink(app, side.rule, side.graph));
    item.append(link(plainText(nameOfRule(rule)), go), "  A: ", a, "  B: ", b, textOfRule(graph, rule));
    out.push(item);
  }
}

// Returns what differs between a node and its earlier version, and how; values with equal texts have their dtypes.
function differencesOf(graph, n, {of, differences}) {
  return differences.map(({what, before, after}) => {
    const slot = /^source (\d+)$/.exec(what), at = slot ? Number(slot[1]) : -1;
    const ends = [of, n].map((m) => graph.sourcesOf(m)[at]);
    const dtypes = before === after && slot ? ends.map((m) => " " + graph.dtypeName(m)) : ["", ""];
    return [what, ...[before + dtypes[0], after + dtypes[1]].map(withoutColors)];
  }).filter(([, before, after]) => before !== after)
    .map(([what, before, after]) => [what, before + " \u2192 " + after]);
}

function showNodeDifference(out, app, n) {
  const {diff} = app.scene;
  if (!diff) return;
  const [now, change] = [...diff.changed].find(([k, c]) => k === n || c.of === n) || [-1, null];
  if (change) {
    const list = element("dl");
    for (const [what, says] of differencesOf(app.graph, now, change))
      list.append(element("dt", "", what), element("dd", "", plainText(says)));
    out.push(element("h3", "", "differences"), list);
    showNodeList(out, app, n === now ? "it was" : "it is", [n === now ? change.of : now]);
  } else if (diff.came.has(n)) out.push(element("h3", "", "it came"));
  else if (diff.went.has(n)) out.push(element("h3", "", "it went"));
}

function showNodeOrigin(out, app, place, n) {
  const {graph, story} = app, steps = story.history(place, n), list = element("ol");
  for (const step of steps) {
    const item = element("li"), stage = graph.stages[step.place - 1];
    item.append(element("span", "place", stage.name + "  "));
    if (step.rewrite >= 0) {
      const rule = graph.rules[stage.rewrites[step.rewrite].rule];
      if (kKinds[step.kind]) item.append(kKinds[step.kind]);
      item.append(link(plainText(nameOfRule(rule)), () => app.go({s: step.place, r: step.rewrite, d: -1})));
      item.append(element("span", "place", "  " + plainText(locationText(rule))),
        ...inBrackets(ruleSourceLink(app, rule)));
    } else item.append(kKinds[step.kind]);
    if (step.node >= 0 && step.node !== n)
      item.append(element("span", "place", "  of "),
        link(nodeTitle(graph, step.node), () => app.selectAt(step.place - 1, step.node, true)));
    list.append(item);
  }
  if (!steps.length) list.append(element("li", "place", "a node of the " + graph.firstName() + " as it came"));
  out.push(element("h3", "", "origin, the latest rewrite first"), list);
}

// Shows which rewrite or stage removed a node of the graph at `place`, by replacing the node or one of its users.
function showReplacement(out, app, place, n) {
  const {graph, story} = app, found = story.replacement(place, n), item = element("p", "replacement");
  if (!found) return;
  const {place: p, rewrite, isOwn, before, after} = found, stage = graph.stages[p - 1];
  const at = (where, m) => link(nodeTitle(graph, m), () => app.go({s: where, r: -1, d: -1, n: m}));
  if (rewrite < 0) item.append("removed by the stage " + plainText(stage.name) + ", without a rule");
  else {
    const of = graph.rules[stage.rewrites[rewrite].rule];
    const go = link("rewrite " + (rewrite + 1), () => app.go({s: p, r: rewrite, d: -1, n: -1}));
    item.append(...(isOwn ? ["replaced by "] : ["removed: its user ", at(p - 1, before), " became "]), at(p, after),
      " in ", go, plainText(` of ${stage.name}, rule ${nameOfRule(of)}`), ...inBrackets(ruleSourceLink(app, of)));
  }
  out.push(item);
}

function showFinalReplacement(out, app, place) {
  const {graph, story} = app;
  if (place >= story.last) return;
  out.push(element("h3", "", "what became of it"));
  showReplacement(out, app, place, app.state.n);
  const lit = app.relatedNodesAt(story.last), list = element("ul");
  if (lit.size)
    for (const m of [...lit].slice(0, 12)) {
      const item = element("li");
      item.append(link(nodeTitle(graph, m), () => app.go({s: story.last, r: -1, d: -1, n: m})));
      list.append(item);
    }
  else list.append(element("li", "place", "no longer in the graph"));
  out.push(element("h3", "", "final replacement" + (lit.size > 12 ? " (" + lit.size + ")" : "")), list);
}

function showAccusation(out, app) {
  const {accused} = app.index.graphs[app.state.g];
  if (!accused) return;
  const list = element("dl"), place = app.accusedPlace(app.state.g);
  const branch = accused.branch ? ` [${accused.branch}]` : "";
  const [from, to] = app.accusedSides(app.state.g);
  const divides = !app.graph.producer && /\/\/|%/.test(`${from} ${to}`);
  const facts = [
    ["blamed", accused.verdict === "same" ? "no fault found" : accused.verdict],
    ["rule", accused.rule && accused.rule + branch], ["where", accused.location], ["stage", accused.stage],
    ["before", withoutColors(from)], ["after", withoutColors(to)],
    ["values", pointText(accused.witness)], ["element", pointText(accused.wrong_element)],
    ["", accused.witness && divides && "// and % round toward zero, as in C"],
    ["confirmed", accused.rule && String(accused.confirmed)], ["also", accused.detail], ["again", accused.again]];
  for (const [name, value] of facts)
    if (value) list.append(element("dt", "", name), element("dd", "", plainText(String(value))));
  out.push(element("h3", "", "tgc bisect"), list);
  if (place) out.push(link("go there", () => app.go({...place, d: -1, n: -1})));
}

const inBrackets = (item) => (item ? [element("span", "place", " ("), item, element("span", "place", ")")] : []);

function rewriteOverview(app) {
  const {graph, state} = app, stage = graph.stages[state.s - 1], r = stage.rewrites[state.r];
  const rule = graph.rules[r.rule], out = [element("h2", "", plainText(nameOfRule(rule)))], list = element("dl");
  const add = (name, ...items) => {
    if (!items.every(Boolean)) return;
    const home = element("dd");
    home.append(...items.map((item) => (typeof item === "string" ? plainText(item) : item)));
    list.append(element("dt", "", name), home);
  };
  const both = ruleInBothInputs(graph, rule);
  add("did", withoutColors(changeText(graph, r)));
  add(both ? "rule, A and B" : "rule", textOfRule(graph, rule)), add("ours", locationText(rule));
  if (both) add("in A, in B", ...both.flatMap((side) => [ruleSourceLink(app, side.rule, side.graph), "  "]));
  else add("tinygrad's", ruleSourceLink(app, rule));
  add("applied by", graph.producer && rule.source);
  const verdict = verdictOf(app, state.s, state.r, state.r), note = verdict && proofNoteOf(app, state.s, state.r);
  add("verdict", verdict && verdictText(verdict.name)), add("why", note && note.why);
  add("with", note && note.counterexample && exampleText(note.counterexample));
  for (const [name, nodes] of note ? [["\u2212 values", note.before], ["+ values", note.after]] : [])
    add(name, nodes && nodes.length ? element("pre", "", nodes.join("\n")) : "");
  add("stage", stage.name), add("within", r.run && r.run.name !== stage.name ? r.run.name : "");
  if (!graph.producer) add("made", countText(r.madeCount, "node"));  // recordings of tinygrad lack this number
  const alike = stage.rewrites.filter((x) => x.rule === r.rule).length;
  if (alike > 1) add("times", link(alike + " in this stage", () => filterByRule(app, rule)));
  out.push(list);
  showNodeList(out, app, "\u2212 before", [r.before]);
  showNodeList(out, app, "+ after", [r.after]);
  const came = app.scene.drawing.boxes.filter((b) => app.scene.came.has(b.key) && b.n !== r.after).map((b) => b.n);
  showNodeList(out, app, "+ below it", came);
  showAccusation(out, app);
  return out;
}

function filterByRule(app, rule) {
  const {rules} = app.graph, isPart = rules.some((r) => r.name !== rule.name && r.name.includes(rule.name));
  const exact = "/^" + rule.name.replace(/[^\w-]/g, "\\$&") + "$/";
  return app.go({q: "rule:" + (isPart || /\s/.test(rule.name) ? exact : rule.name)});
}

// Summarises what the stage before the shown graph did to nodes, loops and opts, and how often it applied which rule.
function showStageOverview(out, app) {
  const {graph, state, story} = app, stage = graph.stages[state.s - 1], list = element("dl");
  const add = (name, items, kind = "chip") => {
    if (!items.length) return;
    const home = element("dd");
    home.append(...items.map((text) => element("span", kind, plainText(text))));
    list.append(element("dt", "", name), home);
  };
  const opts = (place) => optsOf(graph.argText(story.root(place)));
  add("nodes", [stage.nodes + (stage.changed ? ", " + app.nodeCount(state.s - 1) + " before" : "")], "");
  add("loops", loopChanges(graph, story.root(state.s - 1), story.root(state.s)));
  if (opts(state.s).join() !== opts(state.s - 1).join()) add("opts", opts(state.s));
  out.push(element("h3", "", "the stage " + plainText(stage.name)), list);
  const counts = new Map();
  for (const r of stage.rewrites) counts.set(r.rule, (counts.get(r.rule) || 0) + 1);
  if (!counts.size) return;
  const rules = element("ul");
  for (const [rule, count] of [...counts].sort((a, b) => b[1] - a[1]).slice(0, 30)) {
    const item = element("li");
    item.append(element("span", "place", String(count).padStart(4) + "  "),
      link(plainText(nameOfRule(graph.rules[rule])), () => filterByRule(app, graph.rules[rule])),
      element("span", "place",
        "  " + plainText(graph.rules[rule].text.split("\n")[0] || locationText(graph.rules[rule]))));
    rules.append(item);
  }
  out.push(element("h3", "", "rules of this stage, by how often they were applied"), rules);
}

/** Returns the details of the shown rewrite or, without one, of the graph and the stage before it. */
function overviewElements(app) {
  if (app.state.r >= 0) return rewriteOverview(app);
  const {graph, state} = app, own = app.index.graphs[state.g], list = element("dl");
  const out = [element("h2", "", nameOfGraph(own, state.g))];
  const fact = (name, value, kind = "") => {
    if (!value) return;
    const home = element("dd", kind, plainText(String(value)));
    if (kind) home.title = plainText(String(value));
    list.append(element("dt", "", name), home);
  };
  if (own.function) fact("record", graph.name);
  fact("target", shownTarget(graph.target));
  fact("made for", graph.madeFor, "start");
  const sizeOf = (size, what) => shownSize(size) + " " + what + (shownSize(size) === "1" ? "" : "s");
  const threads = own.threads ? " of " + sizeOf(own.threads, "thread") : "";
  if (own.groups) fact("launch", sizeOf(own.groups, "group") + threads);
  fact("opts", shownOpts(own.opts || "").join(", "));
  fact("in the schedule", own.numbers.length ? "item " + own.numbers.join(", ") : "");
  fact("recorded by", graph.producer);
  if (graph.other) fact("A and B", app.index.title);
  fact("stages", graph.stages.length);
  const discarded = graph.stages.reduce((sum, s) => sum + (s.discarded || 0), 0);
  const made = graph.stages.reduce((sum, s) => sum + s.count, -discarded);
  fact("rewrites", made + (discarded ? `, and ${discarded} of attempts that tinygrad discarded` : ""));
  if (own.proof) fact("proofs", countsText(app));
  const ms = graph.stages.reduce((sum, s) => sum + s.ms, 0);  // 0: unknown
  if (ms && graph.stages.some((s) => s.count)) fact("time", timeText(ms / 1e3) + ", watched");
  fact("refused", graph.error);
  const {measured} = app.index.graphs[state.g];
  if (measured) fact("measured", timeText(measured) + " on " + app.index.measured_on + ", the fastest of several runs");
  out.push(list);
  showBundle(out, app), showAccusation(out, app), showDifferences(out, app), showChangedRules(out, app);
  if (state.s > 0) showStageOverview(out, app);
  return out;
}
