import {element} from "./list.js";
import {plainText} from "./data.js";
import {longestIncreasing} from "./bothtexts.js";
import {commonPrefixLength} from "./rewrites.js";
/** @typedef {import("./app.js").App} App */
/** @typedef {import("./data.js").Rule} Rule */
/** @typedef {import("./data.js").RecordedGraph} RecordedGraph */

/** Returns file and line of a rule; "" if they are its name, as in recordings of other releases.
 * @param {Rule} rule */
export function locationText({name, file, line}) { return name === `${file}:${line}` ? "" : `${file}:${line}`; }

/** Returns the file and line of a rule in tinygrad, as a link to its source if possible; null: unknown.
 * @param {App} app @param {Rule} rule @param {RecordedGraph} graph the one that has the rule */
export function ruleSourceLink(app, rule, graph = app.graph) {
  const text = graph.producer ? rule.file + ":" + rule.line : rule.source;
  const place = /^([a-z][\w/]*\.py):(\d+)$/.exec(text), release = graph.producer || app.index.tinygrad;
  const version = /^(?:tinygrad )?(\d+\.\d+\.\d+)/.exec(release);
  if (!place || !version) return text ? element("span", "place", plainText(text)) : null;
  const out = /** @type {HTMLAnchorElement} */ (element("a", "place", text));
  out.href = `https://github.com/tinygrad/tinygrad/blob/v${version[1]}/tinygrad/${place[1]}#L${place[2]}`;
  out.target = "_blank", out.rel = "noreferrer", out.title = "the rule in tinygrad " + version[1];
  return out;
}

/** Returns, for each rule of a graph, the rule of the other input that has the same name and text, or else the one that
 * replaced most of the same nodes, or else the one of the same name; undefined: there is none. Names that are lines do
 * not suffice, because an edited file may have the rule on another line.
 * @param {RecordedGraph} graph one with `other` @returns {(Rule | undefined)[]} */
export function rulesOfOther(graph) {
  const {other} = graph, b = other.graph, votes = graph.rules.map(() => new Map());
  if (other.rules) return other.rules;
  for (const stage of graph.stages) {
    const theirs = new Map(), same = b.stages.find(({name}) => name === stage.name);
    for (const {before, rule} of same ? same.rewrites : []) theirs.set(other.to[before], rule);
    for (const {before, rule} of stage.rewrites) {
      const their = theirs.get(before);
      if (their !== undefined) votes[rule].set(their, (votes[rule].get(their) || 0) + 1);
    }
  }
  return other.rules = graph.rules.map(({name, text}, i) => {
    const named = b.rules.find((r) => r.name === name);
    if (named && named.text === text) return named;
    const [most] = [...votes[i]].sort((x, y) => y[1] - x[1]);
    return most ? b.rules[most[0]] : named;
  });
}

/** Returns a rule in both inputs, A's first, if both have its text and the texts differ; else null.
 * @param {RecordedGraph} graph @param {Rule} rule one of its rules
 * @returns {{rule: Rule, graph: RecordedGraph}[] | null} */
export function ruleInBothInputs(graph, rule) {
  if (!graph.other) return null;
  const {graph: b, isFirst} = graph.other, their = rulesOfOther(graph)[graph.rules.indexOf(rule)];
  if (!their || !their.text || !rule.text || their.text === rule.text) return null;
  const both = [{rule, graph}, {rule: their, graph: b}];
  return isFirst ? both.reverse() : both;
}

/** Returns the text of a rule; if it differs between two inputs, the lines of A (−) and of B (+) in one text.
 * @param {RecordedGraph} graph @param {Rule} rule @returns {HTMLElement | null} */
export function textOfRule(graph, rule) {
  const both = ruleInBothInputs(graph, rule);
  if (!both) return rule.text ? element("pre", "", plainText(rule.text)) : null;
  const out = element("pre", "diff"), lines = differingLines(both[0].rule.text, both[1].rule.text);
  lines.forEach(([sign, text], i) => {
    const line = element("span", {"-": "went", "+": "came"}[sign] || "", "");
    const [last, next] = [lines[i - 1], lines[i + 1]], isAlone = (a, b) => !a || a[0] !== b;
    const other = sign === "-" && next && next[0] === "+" && isAlone(last, "-") && isAlone(lines[i + 2], "+") ? next
      : sign === "+" && last && last[0] === "-" && isAlone(next, "+") && isAlone(lines[i - 2], "-") ? last : null;
    line.append((sign === "-" ? "\u2212" : sign) + " ",
      ...(other ? markDifferentPart(text, other[1]) : [plainText(text)]));
    out.append(line);
  });
  return out;
}

// Returns the lines of two texts, each with " " (in both), "-" (in the first one) or "+" (in the second one).
function differingLines(a, b) {
  const numbered = (text, seen = new Map()) => text.split("\n").map((line) => {
    seen.set(line, (seen.get(line) || 0) + 1);
    return seen.get(line) + " " + line;
  });
  const ours = numbered(a), at = new Map(ours.map((key, i) => [key, i])), lines = a.split("\n"), out = [];
  const pairs = longestIncreasing(numbered(b).map((key) => at.get(key) ?? -1));
  let i = 0;
  const putA = (end) => { for (; i < end; i++) out.push(["-", lines[i]]); };
  b.split("\n").forEach((line, k) => {
    if (pairs[k] < 0) return out.push(["+", line]);
    putA(pairs[k]), out.push([" ", line]), i++;
  });
  putA(lines.length);
  // a removed line stands before the line that replaces it
  for (let k = 1; k < out.length; k++)
    for (let j = k; j > 0 && out[j][0] === "-" && out[j - 1][0] === "+"; j--)
      [out[j - 1], out[j]] = [out[j], out[j - 1]];
  return out;
}

// Returns a line as nodes; the part that differs from the other line is marked.
function markDifferentPart(line, other) {
  const most = Math.min(line.length, other.length), start = commonPrefixLength(line, other);
  let end = 0;
  while (end < most - start && line[line.length - 1 - end] === other[other.length - 1 - end]) end++;
  return [plainText(line.slice(0, start)), element("mark", "", plainText(line.slice(start, line.length - end))),
    plainText(line.slice(line.length - end))];
}
