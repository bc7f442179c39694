import {plainText} from "./data.js";
import {nodeTitle} from "./details.js";
import {expressionOf} from "./expressions.js";
import {element} from "./list.js";
/** @typedef {import("./box.js").Box} Box */

const kWait = 350;
const kMostLetters = 600;

export class Tip {
  /** @param {HTMLElement} home @param {import("./app.js").App} app */
  constructor(home, app) {
    this.home = home, this.app = app, this.timer = 0;
    app.canvas.hovers = (box, e) => this.#hover(box, e);
  }

  /** @param {Box | null} box @param {PointerEvent | null} e */
  #hover(box, e) {
    if (box === this.box) return;
    this.box = box, this.home.hidden = true;
    clearTimeout(this.timer);
    if (box && e) this.timer = setTimeout(() => this.#show(box, e), kWait);
  }
  #show(box, e) {
    const {home, app} = this, {width, height} = app.canvas.size, [title, ...lines] = tooltipLines(app, box);
    home.replaceChildren(element("b", "", title), ...lines.map((line) => element("div", "", line)));
    home.hidden = false;
    home.style.left = Math.max(4, Math.min(e.offsetX + 14, width - home.offsetWidth - 4)) + "px";
    const isLow = e.offsetY + 20 + home.offsetHeight > height;
    home.style.top = Math.max(4, isLow ? e.offsetY - home.offsetHeight - 12 : e.offsetY + 18) + "px";
  }
}

/** Returns the lines of a box's tooltip. @param {import("./app.js").App} app @param {Box} box */
function tooltipLines({graph}, box) {
  const {n, fold, inline} = box, out = [nodeTitle(graph, n)], arg = graph.argText(n);
  if (fold && fold.title) out.push([fold.title, ...fold.lines].join("  "));
  if (arg.length >= 40) out.push(arg);
  const shape = graph.isTensor ? graph.shapes.get(n) : undefined;
  if (shape !== undefined) out.push("shape (" + graph.strings[shape] + ")");
  box.list.forEach((s, slot) => {
    if (inline.isText(n, slot, s % graph.count)) out.push("source " + slot + ": " + expressionOf(graph, s, 0, inline));
  });
  if (fold && fold.count) out.push(fold.count + " nodes are folded; a double click unfolds them");
  return out.map((line) => plainText(line.length > kMostLetters ? line.slice(0, kMostLetters) + "\u2026" : line));
}
