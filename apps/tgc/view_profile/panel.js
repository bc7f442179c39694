// The tables beside the timeline, and what is known of the selected instruction.
import {countText, timeText} from "../view/amounts.js";
import {plainText} from "../view/data.js";
import {RowList, element} from "../view/list.js";
import {rateText, svgNode} from "./svg.js";

/** An instruction of a run: its number, address and assembly; times over all followed waves; its source line (0:
 * none or unknown; about: an approximate one) and the nodes that print it; the reason of its stalls, the cycles that
 * others wait for it, and what it waits for, with cycles. Or a source line with sums; n: its instruction with the most
 * cycles.
 * @typedef {{n: number, address: number, text: string, hits: number, cycles: number, stall: number,
 *   idle: number, line: number, source: string, uop: string, about?: boolean, reason?: string, waited?: number,
 *   waits?: number[][]}} Row */

export const kTabs = [["code", "Code"], ["hot", "Hottest"], ["counters", "Counters and hints"], ["kernels", "Kernels"],
  ["source", "Source"], ["charts", "Charts"],
  ["against", "Before and after"]];
const kLine = 18;

/** Returns the instructions without the padding after them.
 * @param {any[]} raw @param {any} source of the run; undefined: unknown @param {any} run with its stalls
 * @returns {Row[]} */
export function rowsOf(raw, source, {reasons = [], stalls = []} = {}) {
  const stallOf = (n) => {
    const [reason, waited, ...pairs] = stalls[n] || [-1, 0];
    const waits = [];
    for (let k = 0; k < pairs.length; k += 2) waits.push([pairs[k], pairs[k + 1]]);
    waits.sort((a, b) => b[1] - a[1]);
    return {reason: reason >= 0 ? plainText(reasons[reason][0]) : "", waited, waits};
  };
  const end = raw.findLastIndex(([, text, hits]) => hits || text !== "s_code_end") + 1;
  return raw.slice(0, end).map(([address, text, hits = 0, cycles = 0, stall = 0, idle = 0], n) => (
    {n, address, text: plainText(text), hits, cycles, stall, idle, ...stallOf(n),
      ...lineOf(source, hasLines(source) ? source.line_of[n] : 0), about: hasLines(source) && !source.exact[n]}));
}
export const hasLines = (source) => Boolean(source && source.lines);
const lineOf = (source, line) => ({line, source: line ? plainText(source.lines[line - 1]) : "",
  uop: line ? plainText(source.nodes[line - 1]) : ""});

/** Returns the lines of the source with the sums of their instructions. @param {Row[]} rows @returns {Row[]} */
export function sourceRowsOf(rows, source) {
  const out = source.lines.map((_, i) => ({n: -1, address: 0, text: "", hits: 0, cycles: 0, stall: 0, idle: 0,
    ...lineOf(source, i + 1)}));
  for (const row of rows.filter((r) => r.line)) {
    const line = out[row.line - 1];
    if (line.n < 0 || row.cycles > rows[line.n].cycles) line.n = row.n;
    for (const key of ["hits", "cycles", "stall", "idle"]) line[key] += row[key];
  }
  return out;
}

/** Name and explanation of each column. */
const kColumns = new Map([["bar", "the share of the cycles; dark: idle, the part that costs time"],
  ["hits", "executions by the followed waves"], ["cycles", "since the wave's previous instruction"],
  ["stall", "cycles without the cycle of the issue"],
  ["idle", "cycles of the stall in which no other wave of the SIMD issued"],
  ["reason", "of most of the stall"], ["address", ""], ["instruction", ""],
  ["line", "number of the source line; ~: approximate"], ["source", "the source line that made the instruction"],
  ["UOp", "the nodes that print the source line, and those printed inside it; numbers of the linear list"]]);
const kTimes = ["bar", "hits", "cycles", "stall", "idle"];
const kOfCode = [...kTimes, "reason", "address", "instruction"], kOfLines = ["line", "source", "UOp"];
const kLong = new Set(["reason", "instruction", "source", "UOp"]);  // cells of these columns may be cut
const kNumbers = new Set(["hits", "cycles", "stall", "idle"]);

/** A list of instructions, in the order of the code or the hottest first, or of source lines. */
export class CodeList {
  /** @param {HTMLElement} home @param {string} label @param {(row: Row) => void} chosen
   * @param {{code: boolean, lines: boolean, modeled: boolean}} shown which columns; modeled: of an emulated run */
  constructor(home, label, chosen, {code, lines, modeled}) {
    this.home = element("div", "code");
    this.head = element("div", "head");
    this.columns = [...(code ? kOfCode : kTimes), ...(lines ? kOfLines : [])];
    this.home.classList.toggle("with-source", code && lines);
    for (const name of this.columns) {
      const title = kColumns.get(name) || "";
      const cell = element("span", name, name === "bar" ? "" : modeled && name === "cycles" ? "modeled" : name);
      cell.title = modeled && kTimes.includes(name) && name !== "hits" ? title + "; by the model" : title;
      this.head.append(cell);
    }
    this.box = element("div", "rows");
    this.home.append(this.head, this.box), home.append(this.home);
    this.most = 1, this.all = 1;
    /** @type {RowList<Row>} */
    this.list = new RowList(this.box, {label, role: "listbox", rowRole: "option", height: kLine,
      fill: (row, item) => this.#fill(row, item), chosen});
  }
  /** @param {Row[]} rows @param {number} selected the number of an instruction */
  show(rows, selected) {
    this.rows = rows;
    this.most = rows.reduce((most, r) => Math.max(most, r.cycles), 1);
    const digits = (most) => Math.max(7, most.toLocaleString("en").length) + "ch";
    this.home.style.setProperty("--digits", digits(this.most));
    this.home.style.setProperty("--hits", digits(rows.reduce((most, r) => Math.max(most, r.hits), 1)));
    this.all = rows.reduce((sum, r) => sum + r.cycles, 0) || 1;
    this.list.show(rows, rows.findIndex((r) => r.n === selected), true);
  }
  #fill(row, item) {
    const bar = element("span", "bar"), part = element("i"), idle = element("i", "idle");
    part.style.width = 100 * item.cycles / this.most + "%", idle.style.width = 100 * item.idle / this.most + "%";
    bar.append(part, idle);
    bar.title = (100 * item.cycles / this.all).toFixed(1) + " % of the cycles";
    row.append(...this.columns.map((name) => (name === "bar" ? bar : cellOf(name, item))));
    if (!item.hits) row.classList.add("unused");
  }
}

/** @param {string} name of a column @param {Row} item */
function cellOf(name, item) {
  const out = filledCell(name, item);
  if (kLong.has(name)) out.title = out.textContent || "";
  return out;
}

function filledCell(name, item) {
  if (kNumbers.has(name)) return element("span", name, item.hits ? item[name].toLocaleString("en") : "");
  if (name === "reason") return element("span", name, item.reason || "");
  if (name === "address") return element("span", name, "0x" + item.address.toString(16));
  if (name === "instruction") return element("span", name + " " + rowClass(item.text), item.text || "?");
  if (name === "line") return element("span", name, item.line ? (item.about ? "~" : "") + item.line : "");
  // beside an instruction, the source line is shown without its indentation
  return element("span", name, name === "UOp" ? item.uop : item.n >= 0 && item.text ? item.source.trim() : item.source);
}

function rowClass(text) { return text.startsWith("s_wait") ? "waits" : ""; }

/** A table. @param {string[]} heads those of numbers begin with "#" @param {(string | Node)[][]} rows */
export function tableOf(heads, rows) {
  const table = element("table"), head = element("thead"), body = element("tbody"), line = element("tr");
  const isNumber = heads.map((h) => h.startsWith("#"));
  heads.forEach((h, i) => {
    const cell = element("th", isNumber[i] ? "num" : "", h.replace("#", ""));
    /** @type {HTMLTableCellElement} */ (cell).scope = "col", line.append(cell);
  });
  for (const cells of rows) {
    const tr = element("tr");
    cells.forEach((cell, i) => {
      const td = element("td", isNumber[i] ? "num" : "");
      td.append(cell), tr.append(td);
    });
    body.append(tr);
  }
  head.append(line), table.append(head, body);
  return table;
}

/** The first hint of a run, and what is damaged, above its code. @param {() => void} more shows all hints */
export function firstHintOf(run, more) {
  const out = (run.damage || []).map((text) => element("p", "note", "Damaged: " + plainText(text)));
  if (!run.hints.length) return out;
  const hint = element("p", "hint", plainText(run.hints[0]) + " ");
  if (run.hints.length > 1) {
    const link = element("button", "link", `${run.hints.length - 1} more`);
    link.addEventListener("click", more), hint.append(link);
  }
  return [...out, hint];
}

/** Hints with their evidence, stalls by reason, and the counters of a run. */
export function countersOf(run) {
  const out = element("div", "facts");
  const add = (title, ...nodes) => out.append(element("h3", "", title), ...nodes);
  const title = run.modeled ? "Hints, with times by a model of one wave" : "Hints";
  add(title, ...(run.hints.length ? run.hints.map((text) => element("p", "hint", plainText(text)))
    : [element("p", "quiet", "No counter and no stall is above the threshold of a hint.")]));
  const stalls = (run.reasons || []).filter(([, cycles]) => cycles);
  if (stalls.length) {
    const all = stalls.reduce((sum, [, cycles]) => sum + cycles, 0);
    stalls.sort((a, b) => b[1] - a[1]);
    const rows = stalls.map(([name, cycles, idle]) => [plainText(name), cycles.toLocaleString("en"),
      (100 * cycles / all).toFixed(1), idle.toLocaleString("en")]);
    add("Stalls by reason" + (run.modeled ? ", by a model of one wave" : ""),
      tableOf(["reason", "#cycles", "#% of stalls", "#idle"], rows));
  }
  if (run.derived.length || Object.keys(run.derived).length)
    add("Computed from counters", tableOf(["value", "#percent"], Object.entries(run.derived)
      .map(([name, value]) => [name, Number(value).toFixed(1)])));
  if (!run.counters.length) {
    add("Counters", element("p", "quiet", "The profile has no counters of this run."));
    return out;
  }
  add("Counters", tableOf(["counter", "block", "#sum", "#largest", "#units"],
    run.counters.map((c) => [plainText(c.name),
    plainText(c.block), c.sum.toLocaleString("en"), c.most.toLocaleString("en"), String(c.values)])));
  return out;
}

/** Kernels and copies by total time, with the roofline of their device, and the ranges of the host. */
export function kernelsOf(index, open) {
  const out = element("div", "facts"), isHost = (t) => t.device === "USER" || t.device === "TINY";
  const totals = index.totals.filter((t) => !isHost(t)).sort((a, b) => b.seconds - a.seconds);
  const all = totals.reduce((sum, t) => sum + t.seconds, 0) || 1;
  const rateOf = (value, t, unit) => (value === null ? "-" : rateText(value * t.count / t.seconds) + unit);
  out.append(element("h3", "", "Kernels and copies by total time"));
  if (!totals.length) return out.append(element("p", "quiet", "The profile has no times of kernels.")), out;
  out.append(tableOf(["kernel or copy", "device", "#total", "#%", "#count", "#mean", "#FLOPS", "#bytes/s",
    "bound by (of peak)"],
    totals.map((t) => {
      const run = index.runs.findIndex((r) => r.kernel === t.name && r.device === t.device);
      let name = /** @type {Node} */ (element("span", "", plainText(t.name)));
      if (run >= 0) {
        name = element("button", "link", plainText(t.name));
        name.addEventListener("click", () => open(run));
      }
      return [name, plainText(t.device), timeText(t.seconds), (100 * t.seconds / all).toFixed(1), String(t.count),
        timeText(t.seconds / t.count), rateOf(t.flops, t, "FLOPS"), rateOf(t.bytes, t, "B/s"),
        t.copy ? "copy" : t.bound.replace(" of peak", "") || "-"];
    })));
  const known = totals.filter((t) => t.peak && (t.flops !== null || t.bytes !== null));
  if (known.length) out.append(element("h3", "", "Roofline"), rooflineOf(known));
  else out.append(element("p", "quiet", "No roofline: it needs a kernel with mapped instructions or known "
    + "buffers, on a device whose peak is known."));
  const host = index.totals.filter(isHost);
  if (host.length) {
    out.append(element("h3", "", "Host: tinygrad and the program's tensor calls"));
    out.append(tableOf(["what", "on", "#total", "#count"], host.sort((a, b) => b.seconds - a.seconds).slice(0, 40)
      .map((t) => [plainText(t.name), plainText(t.device), timeText(t.seconds), String(t.count)])));
  }
  return out;
}

/** Draws kernels of the first one's GPU below its peaks: operations a second over operations a byte, logarithmic. */
function rooflineOf(totals) {
  const out = element("div"), {peak} = totals[0], same = totals.filter((t) => t.peak.card === peak.card);
  const points = same.filter((t) => t.flops && t.bytes).map((t) => (
    {name: t.name, x: t.flops / t.bytes, y: t.flops * t.count / t.seconds}));
  out.append(element("p", "quiet", `Peaks of ${peak.card}: ${rateText(peak.flops)}FLOPS, ${rateText(peak.bytes)}B/s. `
    + (same.some((t) => t.at_most) ? "FLOPS are at most: counted from the followed waves, every lane as active."
      : "FLOPS are those that the kernels need.")));
  if (!points.length)
    return out.append(element("p", "quiet", "No kernel has both its operations and its bytes in the profile.")), out;
  const [w, h, left, bottom] = [420, 200, 76, 36], ridge = peak.flops / peak.bytes;
  const xs = [...points.map((p) => p.x), ridge].map(Math.log10);
  const x0 = Math.min(...xs) - 0.7, x1 = Math.max(...xs) + 0.7;
  const y1 = Math.log10(peak.flops) + 0.3, y0 = Math.min(...points.map((p) => Math.log10(p.y)), y1 - 2) - 0.4;
  const at = (x, y) => [left + (Math.log10(x) - x0) / (x1 - x0) * (w - left - 8),
    h - bottom - (Math.log10(y) - y0) / (y1 - y0) * (h - bottom - 6)];
  const box = svgNode("svg", {viewBox: `0 0 ${w} ${h}`, class: "roofline", role: "img", "aria-label": "roofline"});
  const roof = [at(10 ** x0, 10 ** x0 * peak.bytes), at(ridge, peak.flops), at(10 ** x1, peak.flops)];
  box.append(svgNode("polyline", {points: roof.map((p) => p.join(",")).join(" "), class: "roof"}));
  for (let e = Math.ceil(y0); e <= y1; e += Math.max(1, Math.round((y1 - y0) / 4))) {
    const [, y] = at(10 ** x0, 10 ** e);
    box.append(svgNode("text", {x: left - 4, y: y + 4, class: "y"}, rateText(10 ** e) + "FLOPS"));
    box.append(svgNode("path", {d: `M${left} ${y}H${w - 8}`, class: "grid"}));
  }
  for (let e = Math.ceil(x0); e <= x1; e++) {
    const [x] = at(10 ** e, 10 ** y0);
    box.append(svgNode("text", {x, y: h - bottom + 14, class: "x"}, Number((10 ** e).toPrecision(1))));
    box.append(svgNode("path", {d: `M${x} 6V${h - bottom}`, class: "grid"}));
  }
  box.append(svgNode("text", {x: (left + w) / 2, y: h - 6, class: "x"}, "FLOP for each byte"));
  for (const p of points) {
    const [x, y] = at(p.x, p.y), dot = svgNode("circle", {cx: x, cy: y, r: 4});
    dot.append(svgNode("title", {}, `${p.name}: ${p.x.toPrecision(3)} FLOP for each byte, ${rateText(p.y)}FLOPS`));
    const isRight = x > w * 0.6, name = {x: isRight ? x - 7 : x + 7, y: y + 4, class: isRight ? "name before" : "name"};
    box.append(dot, svgNode("text", name, plainText(p.name)));
  }
  out.append(box);
  return out;
}

const kOnHost = "Click a range to see its total time. A double click zooms to it. ? lists the keys.";
const kOnRun = "Click an instruction to mark its executions, or an execution to select its instruction. "
  + "A double click on a wave zooms to it. ? lists the keys.";

/** The source line and the nodes of an instruction, or why they are unknown. @param {Row} row @param {any} source */
function sourceFacts(row, source) {
  if (!hasLines(source))
    return [["source line", source ? "unknown: " + plainText(source.problem)
      : "unknown: tgc view PROFILE RECORDING takes it from a recording of the kernel"]];
  if (!row.line) return [["source line", "none: the compiler added this instruction"]];
  const about = row.about ? ` (approximate: ${plainText(source.differs)})` : "";
  return [["source line", `${row.line}: ${row.source.trim()}${about}`],
    ["UOp", row.uop || "unknown: tgc renders another source than the recorded one"]];
}

/** What is known of the selected instruction and execution. @param {Row | null} row @param {any} facts */
export function detailsOf(row, {isHost, modeled, hits, all, execution, actions, source, rows, select}) {
  const out = [];
  if (!row) {
    out.push(element("p", "quiet", isHost ? kOnHost : kOnRun));
    return out;
  }
  const share = (n) => (100 * n / all).toFixed(1) + " %", number = (n) => n.toLocaleString("en");
  out.push(element("h2", "", row.text || "0x" + row.address.toString(16)));
  const buttons = element("div", "buttons");
  for (const [text, action, isOff] of actions) {
    const button = /** @type {HTMLButtonElement} */ (element("button", "", text));
    button.type = "button", button.disabled = isOff, button.addEventListener("click", action), buttons.append(button);
  }
  const facts = [["address", "0x" + row.address.toString(16)]];
  if (row.hits) {
    const by = modeled ? "modeled " : "";
    const shown = hits && hits !== row.hits ? `, ${number(hits)} of them in the timeline` : "";
    facts.push(["hits", number(row.hits) + shown],
      [by + "cycles", `${number(row.cycles)}, ${share(row.cycles)} of all; `
        + `${(row.cycles / row.hits).toFixed(1)} a hit`],
      [by + "stall", `${number(row.stall)}; idle ${number(row.idle)}, ${share(row.idle)} of all cycles`
        + (row.reason ? `; mostly ${row.reason}` : "")]);
    if (row.waited) facts.push(["waited for", `${number(row.waited)} cycles, ${share(row.waited)} of all`]);
  } else facts.push(["hits", "no followed wave executed this instruction"]);
  if (execution) facts.push(["execution", execution]);
  facts.push(...sourceFacts(row, source));
  const list = element("dl");
  for (const [name, text] of facts) list.append(element("dt", "", name), element("dd", "", text));
  // the instructions that this instruction waits for, as links
  for (const [n, cycles] of row.waits || []) {
    const other = rows[n], place = element("dd");
    const link = element("button", "link", other ? other.text || "?" : "?");
    link.addEventListener("click", () => select(n));
    const line = other && other.line ? `, line ${other.line} ${other.source.trim()}` : "";
    place.append(link, ` ${share(cycles)} of all cycles${line}`);
    list.append(element("dt", "", "waits for"), place);
  }
  out.push(buttons, list);
  return out;
}
