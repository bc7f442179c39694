// Shows the contents of a repro bundle besides its graph (lib/view/bundle_facts.h).
import {countText} from "./amounts.js";
import {plainText} from "./data.js";
import {element, link} from "./list.js";
/** @typedef {import("./app.js").App} App */

const kSymptoms = {wrong: "a wrong result", crash: "the kernel crashes or times out",
  differs: "the text of a stage differs from tinygrad's", endless: "a rewrite that does not end",
  refused: "a stage or the renderer refuses the graph", compile: "the compiler refuses the source",
  cmd: "a script decides"};
const kListed = 12;  // number of values that are shown of an array

/** @param {HTMLElement[]} out @param {App} app */
export function showBundle(out, app) {
  const {bundle} = app.index.graphs[app.state.g];
  if (!bundle) return;
  const list = element("dl"), {blamed} = bundle, place = findBlamedRewrite(app, blamed);
  const pairs = (map, sign) => Object.entries(map).map(([name, value]) => name + sign + value).join(", ");
  const rule = blamed.rule && blamed.rule + (blamed.branch ? ` [${blamed.branch}]` : "");
  const facts = [
    ["symptom", bundle.symptom && bundle.symptom + ", " + (kSymptoms[bundle.symptom] || "")], ["said", bundle.said],
    ["ran on", bundle.device], ["oracle", bundle.oracle], ["command", bundle.script], ["verdict", blamed.verdict],
    ["rule", rule], ["stage", blamed.stage], ["fault", bundle.fault && "TGC_FAULT=" + bundle.fault],
    ["variables", pairs(bundle.variables, " = ")], ["tolerance", pairs(bundle.tolerance, " ")],
    ["made by", pairs(bundle.made_by, " ")]];
  for (const [name, value] of facts)
    if (value) list.append(element("dt", "", name), element("dd", "", plainText(value)));
  out.push(element("h3", "", "the repro bundle"), list);
  if (place) out.push(link("go to the first rewrite by that rule", () => app.go({...place, d: -1, n: -1})));
  for (const [title, arrays] of [["its inputs", bundle.inputs], ["what it expects", bundle.expected]])
    if (arrays.length) out.push(element("h3", "", title), arrayList(arrays));
}

function arrayList(arrays) {
  const list = element("dl");
  for (const {name, dtype, shape, count, values} of arrays) {
    const kind = dtype.replace(/^dtypes\./, "") + " (" + shape.join(", ") + ")";
    const more = count > kListed ? ", \u2026" : "";
    const item = element("dd", "", plainText(values.slice(0, kListed).join(", ") + more));
    const all = values.join(", ") + (count > values.length ? ", \u2026" : "");
    item.title = plainText(countText(count, "value") + ": " + all);
    list.append(element("dt", "", plainText(name)), element("dd", "place", plainText(kind)), element("dt"), item);
  }
  return list;
}

/** Finds the first rewrite by the rule, in the stage, that a bundle blames; null: there is none.
 * @param {App} app @param {any} blamed @returns {{s: number, r: number} | null} */
function findBlamedRewrite(app, {stage: name, rule}) {
  const {graph} = app, stage = rule && graph.stages.find((s) => s.name === name);
  const r = stage ? stage.rewrites.findIndex((x) => graph.rules[x.rule].name === rule) : -1;
  return r < 0 ? null : {s: stage.index + 1, r};
}
