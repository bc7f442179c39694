import {colorOfOp, colorOfRange} from "./colors.js";
import {buttonOf, dialog, showTable} from "./dialogs.js";
import {axisTypeOf} from "./expressions.js";
import {colorDot} from "./header.js";
import {plainText} from "./data.js";
import {element} from "./list.js";
import {overviewEntries, graphTable} from "./overview.js";
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
  const {heads, rows} = graphTable(app, overviewEntries(app), () => dialog().close()), {sides, title} = app.index;
  showTable("Graphs", heads, rows, sides ? "A and B are the two inputs: " + plainText(title) + "." : "");
}

const kMarks = [["--came", "green: added by the stage or the rewrite"],
  ["--went", "red and dashed: removed by it"],
  ["--accent", "selected, or what the selection was or became"], ["--found", "a ring: found by the search"],
  ["--line", "pale: unchanged, while changes are shown"],
  ["--wire", "sheets behind a box: several nodes are folded into it"]];

/** Lists the colours: of marks, of the shown ranges, and of the shown boxes. @param {App} app */
export function showColors(app) {
  const css = getComputedStyle(document.documentElement), {graph, scene} = app, boxes = new Map(), axes = new Map();
  const count = (map, key, what) => {
    if (!map.has(key)) map.set(key, {...what, count: 0});
    map.get(key).count++;
  };
  const ranges = new Set(scene.drawing.boxes.flatMap((box) => graph.rangeLists[graph.ranges.get(box.n) || 0]));
  for (const r of ranges) count(axes, axisTypeOf(graph, r), {color: colorOfRange(graph.argText(r))});
  for (const {n, title} of scene.drawing.boxes) {
    const op = graph.opName(n), color = colorOfOp(op);
    count(boxes, title + color, {op, color, title});
  }
  const marks = kMarks.map(([name, says]) => ({cells: [colorDot(css.getPropertyValue(name).trim()), says, ""],
    group: "Outlines and lines of text"}));
  const chips = [...axes].map(([type, {color, count: times}]) => ({
    cells: [colorDot(color), type + ": chips below the graph, and the outline of the chosen range's boxes", times + ""],
    group: "Ranges"}));
  const byColor = [...boxes.values()].sort((a, b) => a.color.localeCompare(b.color) || b.count - a.count);
  const ops = byColor.map(({op, color, title, count: times}) => {
    const find = buttonOf(title, () => { dialog().close(), app.go({q: "op:" + op}); });
    find.title = "find these";
    const says = title === op ? find : plainText(title) + ", folded; its output is " + op;
    return {cells: [colorDot(color), says, String(times)], group: "Boxes of this graph"};
  });
  showTable("Colors", [{name: "color"}, {name: "meaning"}, {name: "count", num: true}], [...marks, ...chips, ...ops]);
}
