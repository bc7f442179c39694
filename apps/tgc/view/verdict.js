// The line below the header that says what is wrong: what a bisection or proof found, or where two inputs differ first.
import {buttonOf, dialog, showTable} from "./dialogs.js";
import {countText} from "./amounts.js";
import {byId, element, link} from "./list.js";
import {overviewEntries} from "./overview.js";
import {plainText} from "./data.js";
import {nodeTitle} from "./details.js";
import {countsText, exampleText, nextUnproven, proofNoteOf, pointText, verdictText} from "./proof.js";
import {changeText, shortened, shortenPair, withoutColors} from "./rewrites.js";
import {ruleInBothInputs, ruleSourceLink} from "./rules.js";
import {nameOfRule} from "./stages.js";
import {StageHistory} from "./history.js";
/** @typedef {import("./app.js").App} App */

const kLongestRule = 120;
const kLongestSide = 90;
const kMostValue = 50;

/** @param {App} app */
export function showVerdict(app) {
  const home = byId("verdict"), {accused, proof} = app.index.graphs[app.state.g];
  const said = app.showsGraphList ? null : accused ? bisectionVerdict(app, accused) : proof ? proofVerdict(app, proof)
    : app.graph.other ? comparisonVerdict(app) : null;
  home.hidden = !said;
  home.className = said ? said.kind : "";
  home.replaceChildren(...(said ? said.items : []));
}

const code = (text) => element("code", "", plainText(text));
const bold = (text) => element("b", "", plainText(text)), span = (text) => element("span", "", plainText(text));

function ruleItems(app, name, stage, place) {
  const items = [span("rule "), bold(name), span(" in stage "), bold(stage), span(": ")], rule = ruleAt(app, place);
  if (rule && rule.text) items[1].title = plainText(rule.text);
  const source = rule && ruleSourceLink(app, rule);
  if (source && source.textContent === name) items[1] = source;  // the name of a recorded rule is its file and line
  else if (source) items.splice(2, 0, span(" ("), source, span(")"));
  return items;
}
function ruleAt({graph}, place) {
  return place && place.r >= 0 ? graph.rules[graph.stages[place.s - 1].rewrites[place.r].rule] : null;
}
// Returns elements with the first line of a rule's text, shortened; none if the rule has no text.
function ruleText(rule) {
  const [text, ...more] = (rule && rule.text || "").split("\n");
  return text ? [span(".  The rule: "), code(shortened(text, kLongestRule) + (more.length ? " \u2026" : ""))] : [];
}

// Returns elements that say what a bisection found: the rule, values for which it is wrong, and the two sides of its
// rewrite.
function bisectionVerdict(app, {verdict, rule, branch, stage, witness, wrong_element: wrong, detail, failure}) {
  if (verdict === "same")
    return {kind: "right", items: [bold("tgc bisect: "), span("the kernel computes what its AST says; whether the " +
      "AST is right is a question for the schedule")]};
  const items = [bold("tgc bisect: ")], place = app.accusedPlace(app.state.g);
  if (rule) {
    items.push(...ruleItems(app, rule + (branch ? ` [${branch}]` : ""), stage, place));
    items.push(bold(witness && witness.before !== undefined ? pointText(witness)
      : pointText(wrong) || failure || "the kernel is right before it, and wrong after it"));
    if (wrong && witness && witness.before !== undefined)
      items.push(span(".  The kernel with this rewrite: "), bold(pointText(wrong)));
    const sides = app.accusedSides(app.state.g).map((text) => withoutColors(text || ""));
    if (sides.every((text) => text && text.length <= kLongestSide && !text.includes("\n")))
      items.push(span(".  It makes "), code(sides[0]), span(" into "), code(sides[1]));
    items.push(...ruleText(ruleAt(app, place)));
  } else {
    const says = [stage && " in the stage " + stage, detail, wrong ? "" : failure].filter(Boolean);
    items.push(bold(verdict), span(says.join(": ")));
    if (wrong) items.push(span(".  "), bold(pointText(wrong)), span(`.  In all: ${failure}`));
  }
  const {s, r} = app.state, isThere = place && place.s === s && place.r === r;
  if (place && !isThere) items.push(buttonOf("show it", () => app.go({...place, d: -1, n: -1})));
  return {kind: "wrong", items};
}

function proofVerdict(app, proof) {
  const senses = {"bit-exact": ", bit by bit", "but-nan": ", but for NaN, infinities and -0",
    reals: ", over the reals"};
  const items = [bold("tgc prove: "), bold(verdictText(proof.verdict)),
    span(proof.verdict === "proven" ? senses[proof.floats] || "" : "")];
  const next = nextUnproven(app), {graph, state: {s, r}} = app, here = proofNoteOf(app, s, r);
  const at = here && here.counterexample ? {s, r} : next, note = at && proofNoteOf(app, at.s, at.r);
  if (note && note.counterexample) {
    const stage = graph.stages[at.s - 1], rule = graph.rules[stage.rewrites[at.r].rule];
    items.push(span(": "), ...ruleItems(app, nameOfRule(rule), stage.name, at));
    items.push(bold(exampleText(note.counterexample)), ...ruleText(rule));
  }
  items.push(span(".  Rewrites: " + (countsText(app) || "none")));
  if (proof.verdict === "proven") items.push(span(".  No proof covers the source: tgc bisect runs it"));
  if (proof.error) items.push(span(".  " + proof.error));
  const kind = {r: "refuted", s: "tested", u: "unknown"};
  if (next && (next.s !== s || next.r !== r))
    items.push(buttonOf("next " + kind[next.letter], () => app.go({s: next.s, r: next.r, d: -1, n: -1})));
  return {kind: {proven: "right", refuted: "wrong"}[proof.verdict] || "differs", items};
}

// Returns elements that say where two inputs differ first, and which colour marks which input.
function comparisonVerdict(app) {
  const {graph, state, story} = app, {other} = graph, names = [state.g, other.index];
  const [a, b] = (other.isFirst ? names.reverse() : names).map((g) => app.index.graphs[g].name);
  const sides = app.index.sides || ["A", "B"], pair = app.pairs.get(state.g);
  const label = (side, kind, letter, name) => {
    const out = element("span", kind, plainText(`${letter}: ${name} of ${sides[side].replace(/^.*\//, "")}`));
    out.title = plainText(sides[side]);
    return out;
  };
  let first = 0;
  while (first <= story.last && !app.differsAt(first)) first++;
  const items = [label(0, "a", "A", a), label(1, "b", "B", b)], inSource = app.differenceOf(state.g) === "source";
  if (first > story.last) items.unshift(bold(inSource ? "Only the sources differ  " : "A and B are equal  "));
  else {
    items.unshift(bold("The first difference is in "), element("b", "", plainText(app.placeName(first))), span("  "));
    const {said, r, rule} = differenceAt(app, first);
    if (r >= 0) items.push(link("rewrite " + (r + 1), () => app.go({s: first, r, d: -1, n: -1})), span(": "));
    if (said) items.push(span(said));
    const both = rule && ruleInBothInputs(app.graph, rule);
    const texts = both && shortenPair(both[0].rule.text, both[1].rule.text, kLongestRule);
    const ruleOf = ({rule: of, graph}, i) =>
      [span(` in ${"AB"[i]} `), code(texts[i]), span(" "), ruleSourceLink(app, of, graph)];
    if (both) items.push(span(".  The rule: "), ...both.flatMap(ruleOf));
    if (!first && app.graph.producer && !app.graph.isTensor)
      items.push(span(": the schedule made it; compare the recordings of tensor graphs, NAME.tensor.jsonl.gz"));
    if (state.s !== first || !state.o) items.push(buttonOf("show it", () => app.go({s: first, r: -1, d: -1, o: true})));
  }
  const all = overviewEntries(app), differing = all.filter((e) => e.differs);
  if (all.length > 1) {
    const differ = differing.length === 1 ? "differs" : "differ";
    items.push(span(`. ${differing.length} of ${countText(all.length, "graph")} ${differ}`));
    if (nextDiffering(app, 1)) items.push(buttonOf("next that differs", () => nextDiffering(app, 1)()));
  }
  items.push(buttonOf(state.p < 0 && pair ? pair.by : "your choice", () => choosePartner(app)));
  return {kind: first > story.last && !inSource ? "right" : "differs", items};
}

/** Returns a function that opens the next (1) or previous (-1) graph that differs from its pair; null: no other does.
 * @param {App} app @param {number} by */
export function nextDiffering(app, by) {
  const {pairs, state: {g}, index} = app, pair = pairs.get(g), shown = index.graphs[g].side && pair ? pair.with : g;
  const differing = overviewEntries(app).filter((e) => e.differs && e.g !== shown).map((e) => e.g).sort((a, b) =>
    a - b);
  const beyond = differing.filter((other) => (other - shown) * by > 0), list = beyond.length ? beyond : differing;
  return list.length ? () => app.openGraph(list[by > 0 ? 0 : list.length - 1]) : null;
}

// Returns what differs first: a rewrite (firstRewrite) or else, if the page shows the difference, a node: "MUL index:
// source 1 is 16 in A, 12 in B". `r`: the rewrite, -1: none; `rule`: its rule.
function differenceAt(app, place) {
  const {graph} = app, {other} = graph, at = place ? other.names.indexOf(graph.stages[place - 1].name) : 0;
  const none = {said: "", r: -1, rule: null};
  if (!graph.saidFirst) graph.saidFirst = place && at > 0 ? firstRewrite(graph, place - 1, at - 1) || none : none;
  if (!graph.saidFirst.said && app.scene.diff && app.state.s === place && app.state.o)
    graph.saidFirst = {...none, said: firstNode(app, place, at)};
  return graph.saidFirst;
}
// Returns the first rewrite that differs, with a text such as "add-zero made x+0 -> x in A, add-zero made x+0 -> x+1 in
// B"; null if all are equal, or if the rewrites of one input are the first ones of the other.
function firstRewrite(graph, ours, theirs) {
  const {to, graph: b, isFirst} = graph.other, list = graph.stages[ours].rewrites, others = b.stages[theirs].rewrites;
  const isSame = (x, y) => x && y && x.before === to[y.before] && x.after === to[y.after];
  const r = list.findIndex((x, k) => !isSame(x, others[k]));
  if (r < 0 || !others[r]) return null;
  const said = [[graph, list[r]], [b, others[r]]]
    .map(([g, rewrite]) => `${nameOfRule(g.rules[rewrite.rule])} made ${changeText(g, rewrite)}`);
  const [inA, inB] = isFirst ? said.reverse() : said;
  return {said: `${inA} in A, ${inB} in B`, r, rule: graph.rules[list[r].rule]};
}
function firstNode(app, place, at) {
  const {graph, story, scene} = app, {other} = graph, [changed] = scene.diff.changed;
  if (!changed) return "";
  const [n, {of, differences: [{what, before, after}]}] = changed, [own, theirs] = other.isFirst ? [n, of] : [of, n];
  const made = (rule) => (rule ? ", made by " + rule : ""), {graph: b} = other;
  const byUs = made(place ? ruleNameOfNode(graph, story.historyAt(place), own, what) : "");
  const byThem = made(at > 0 ? ruleNameOfNode(b, new StageHistory(b, b.stages[at - 1]), other.to.indexOf(theirs), what)
    : "");
  const [byA, byB] = other.isFirst ? [byThem, byUs] : [byUs, byThem];
  const short = (text) => (text.length > kMostValue ? text.slice(0, kMostValue - 1) + "\u2026" : text || "none");
  return `${nodeTitle(graph, own)}: ${what} is ${short(before)} in A${byA}, ${short(after)} in B${byB}`;
}
// Returns the name of the rule that made a node, or the source of it that is called `what`; "": unknown.
function ruleNameOfNode(graph, history, n, what) {
  const slot = /^source (\d+)$/.exec(what), made = slot ? graph.sourcesOf(n)[Number(slot[1])] : n;
  const {at, kind} = history.maker(made, Infinity);
  const rewrite = kind === "rule" || kind === "part" ? history.stage.rewrites.find((r) => r.at === at) : null;
  return rewrite ? nameOfRule(graph.rules[rewrite.rule]) : "";
}

function choosePartner(app) {
  const {graphs} = app.index, {side} = graphs[app.state.g], pair = app.pairs.get(app.state.g);
  const others = graphs.map((_, g) => g).filter((g) => graphs[g].side !== side);
  const heads = [{name: "graph"}, {name: "target"}, {name: "made for"}, {name: "nodes", num: true}];
  showTable("Compare " + plainText(graphs[app.state.g].name) + " with", heads, others.map((g) => {
    const choose = () => {
      dialog().close(), app.go({p: pair && pair.with === g ? -1 : g, s: -1, r: -1, n: -1, d: -1});
    };
    const {name, target, made_for: purpose, nodes} = graphs[g];
    return {cells: [buttonOf(plainText(name || "graph " + g), choose), plainText(target), plainText(purpose),
      String(nodes)]};
  }));
}
