// The dialogs of commands, graphs and colours.
import {colorOfOp} from "./colors.js";
import {buttonOf, dialog, showTable} from "./dialogs.js";
import {dot} from "./header.js";
import {plain} from "./data.js";
import {element} from "./list.js";
/** @typedef {import("./app.js").App} App */
/** @typedef {import("./commands.js").Command} Command */

/** Lists all commands with their keys, by group. @param {Command[]} commands @param {(c: Command) => void} obey */
export function showHelp(commands, obey) {
  showTable("Commands and keys", [{name: "key"}, {name: "effect"}], commands.map((c) => {
    const keys = element("span");
    c.keys.forEach((k, i) => keys.append(i ? " " : "", element("kbd", "", k)));
    return {cells: [keys, buttonOf(c.says, () => { dialog().close(), obey(c); })], group: c.group};
  }));
}

/** Lists the graphs of the page. @param {App} app */
export function showGraphs(app) {
  const {graphs} = app.index, hasSides = graphs.some((g) => g.side > 0), hasMadeFor = graphs.some((g) => g.made_for);
  const only = (isThere, head) => (isThere ? [head] : []);
  const heads = [{name: "graph"}, ...only(hasSides, {name: "input"}), {name: "target"},
    ...only(hasMadeFor, {name: "made for"}), {name: "nodes", num: true}, {name: "rewrites", num: true},
    {name: "time to compile", num: true}, {name: "runs", num: true}];
  const note = hasSides ? "A and B are the two inputs: " + plain(app.index.title) + "." : "";
  showTable("Graphs", heads, graphs.map((g, i) => {
    const name = plain(g.name || "graph " + i), open = buttonOf(name, () => { dialog().close(), app.openGraph(i); });
    const times = g.numbers.length, isKnown = g.ms || g.rewrites, side = g.side ? "B" : "A";
    const target = plain(g.target || "tensor graph"), madeFor = plain(g.made_for || "");
    return {
      cells: [open, ...only(hasSides, side), target, ...only(hasMadeFor, madeFor), String(g.nodes),
        isKnown ? String(g.rewrites) : "", g.ms ? g.ms.toFixed(2) + " ms" : "", times ? String(times) : ""],
      values: [name, ...only(hasSides, side), target, ...only(hasMadeFor, madeFor), g.nodes, g.rewrites, g.ms, times]};
  }), note);
}

const kMarks = [["--came", "added by the stage or the rewrite"], ["--went", "removed by it"],
  ["--accent", "selected, or what the selection was or became"], ["--found", "found by the search"]];

/** Lists the colours: of marks, and of the ops of the shown graph. @param {App} app */
export function showColors(app) {
  const css = getComputedStyle(document.documentElement), counts = new Map();
  for (const box of app.scene.drawing.boxes) {
    const op = app.graph.opName(box.n);
    counts.set(op, (counts.get(op) || 0) + 1);
  }
  const marks = kMarks.map(([name, says]) => ({cells: [dot(css.getPropertyValue(name).trim()), says, ""],
    group: "Outlines and lines of text"}));
  const byColor = [...counts].sort((a, b) => colorOfOp(a[0]).localeCompare(colorOfOp(b[0])) || b[1] - a[1]);
  const ops = byColor.map(([op, count]) => {
    const find = buttonOf(op, () => { dialog().close(), app.go({q: "op:" + op}); });
    find.title = "find these";
    return {cells: [dot(colorOfOp(op)), find, String(count)], group: "Ops of this graph"};
  });
  showTable("Colors", [{name: "color"}, {name: "meaning"}, {name: "boxes", num: true}], [...marks, ...ops]);
}
