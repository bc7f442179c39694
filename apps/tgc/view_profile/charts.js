// Charts of a run: how many waves the SIMDs have over time, the active lanes of instructions, the requests to levels of
// the memory hierarchy, and the run before and after a change.
import {timeText} from "../view/amounts.js";
import {plainText} from "../view/data.js";
import {element} from "../view/list.js";
import {tableOf} from "./panel.js";
import {rateText, svgNode} from "./svg.js";

const kWidth = 480, kLeft = 34;
/** What limits the number of waves, in the order of the legend (OccupancyLimit of lib/profile). */
const kLimitTexts = {starting: "waves are being started", launch: "no waves are left to start",
  resources: "the kernel's resources limit", full: "SIMDs are full"};

/** @param {any} run @param {boolean} isEmulated @returns {HTMLElement} */
export function chartsOfRun(run, isEmulated) {
  const out = element("div", "facts"), add = (title, ...nodes) => out.append(element("h3", "", title), ...nodes);
  if (run.occupancy) add("Occupancy over time", ...occupancyChart(run.occupancy));
  else add("Occupancy over time", element("p", "quiet", isEmulated ? "The emulated GPU runs one wave after another."
    : "The traces have no wave with its begin and its end."));
  add("Active lanes", ...activeLanesCharts(run));
  if ((run.memory || []).length) add("Memory hierarchy", ...memoryTables(run.memory));
  else add("Memory hierarchy", element("p", "quiet", "The profile has no counters of memory and no mapped loads."));
  return out;
}

const kMostRows = 300;

/** Compares a run before and after a change: its time and cycles, its stalls by reason, and the cycles of instructions.
 * @param {any} run @param {(n: number) => void} select selects an instruction @returns {HTMLElement} */
export function comparisonOfRun(run, select) {
  const {name, old_seconds, new_seconds, old_cycles, new_cycles, old_reasons, new_reasons, rows} = run.against;
  const out = element("div", "facts"), number = (n) => n.toLocaleString("en", {maximumFractionDigits: 1});
  const signed = (n) => (n > 0 ? "+" : "") + number(n), cell = (n) => (n === null ? "-" : number(n));
  const times = old_seconds && new_seconds ? [["time", timeText(old_seconds), timeText(new_seconds),
    signed(100 * (new_seconds / old_seconds - 1)) + " %"]] : [];
  const reasons = run.reasons.map(([reason], i) => [reason, old_reasons[i], new_reasons[i]])
    .filter(([, before, after]) => before + after >= 0.1)
    .sort((a, b) => Math.abs(b[2] - b[1]) - Math.abs(a[2] - a[1]));
  out.append(element("h3", "", `Before (${plainText(name)}) and after, of a mean wave`),
    tableOf(["", "#before", "#after",
    "#change"], [...times, ["cycles", number(old_cycles), number(new_cycles), signed(new_cycles - old_cycles)],
    ...reasons.map(([reason, before, after]) => ["stalls: " + plainText(reason), number(before), number(after),
      signed(after - before)])]));
  const change = ([, , before, after]) => (after || 0) - (before || 0);
  const largest = new Set(rows.map((_, i) => i).sort((a, b) => Math.abs(change(rows[b])) - Math.abs(change(rows[a])))
    .slice(0, kMostRows));
  const shown = rows.filter((_, i) => largest.has(i)), most = Math.max(...shown.map((r) => Math.abs(change(r))), 1);
  const left = rows.length - shown.length;
  const omitted = left ? `; ${left} with small changes are left out` : "";
  out.append(element("h3", "", "Cycles of a wave at each instruction" + omitted));
  out.append(tableOf(["#before", "#after", "#change", "", "instruction"], shown.map((r) => {
    const [n, text, before, after] = r, bar = element("div", "change");
    const part = element("i", change(r) > 0 ? "more" : "less");
    part.style.width = 50 * Math.abs(change(r)) / most + "%";
    bar.append(part);
    let place = element("span", before === null ? "added" : after === null ? "removed" : "", plainText(text));
    if (n !== null) {
      place = element("button", "link " + place.className, plainText(text));
      place.addEventListener("click", () => select(n));
    }
    return [cell(before), cell(after), signed(change(r)), bar, place];
  })));
  return out;
}

/** Waves of a SIMD over time, as columns in the colour of what limits them, below the number that fits. */
function occupancyChart({begin, end, waves, limits, mean, largest, simds, device_simds, fitting, most, limiter}) {
  const height = 130, top = 16, bottom = 20, room = height - top - bottom;
  const peak = Math.max(fitting, largest, ...waves, 1), step = (kWidth - kLeft) / waves.length;
  const yOf = (n) => top + room * (1 - n / peak);
  const box = svgNode("svg", {viewBox: `0 0 ${kWidth} ${height}`, class: "chart", role: "img",
    "aria-label": `occupancy over time: ${mean.toFixed(1)} waves of a SIMD on average`});
  waves.forEach((n, i) => {
    const bar = svgNode("rect", {x: kLeft + i * step, y: yOf(n), width: step + 0.3,
      height: Math.max(0, room + top - yOf(n)), class: "limit-" + limits[i]});
    const at = Math.round((end - begin) * i / waves.length).toLocaleString("en");
    bar.append(svgNode("title", {}, `${n.toFixed(2)} waves of a SIMD at cycle ${at}: ${kLimitTexts[limits[i]]}`));
    box.append(bar);
  });
  const fits = fitting < most ? `${fitting} of ${most} fit: ${plainText(limiter)}` : `${fitting} fit`;
  if (fitting) {
    box.append(svgNode("path", {d: `M${kLeft} ${yOf(fitting)}H${kWidth}`, class: "roof"}),
      svgNode("text", {x: kWidth - 2, y: yOf(fitting) - 4, class: "end"}, fits));
  }
  for (const n of [0, peak])
    box.append(svgNode("text", {x: kLeft - 5, y: yOf(n) + 4, class: "end"}, Number(n.toFixed(1))));
  box.append(svgNode("text", {x: kLeft, y: height - 5}, "cycle 0: the first wave begins"),
    svgNode("text", {x: kWidth - 2, y: height - 5, class: "end"}, (end - begin).toLocaleString("en")));
  const keys = element("p", "keys");
  for (const [limit, text] of Object.entries(kLimitTexts)) {
    const share = limits.filter((l) => l === limit).length / limits.length;
    if (!share) continue;
    const key = element("span", "", `${text} ${Math.round(100 * share)} %`), dot = element("i", "limit-" + limit);
    key.prepend(dot), keys.append(key);
  }
  const of = device_simds ? ` of ${device_simds}` : "";
  return [element("p", "", `A SIMD has ${mean.toFixed(1)} waves on average and ${largest} at most. ${simds}${of} SIMDs `
    + "have waves; only these count."), box, keys];
}

/** The mean active lanes of each vector instruction, in the order of the code. */
function activeLanesCharts({lanes, wave_lanes, mean_lanes, active_lanes, instructions}) {
  if (!lanes) return [element("p", "quiet", "No instruction was followed.")];
  const vectors = active_lanes.map((n, i) => [n, instructions[i][1]]).filter(([n, text]) => n
    && /^(v|global|ds|buffer|flat|scratch)_/.test(text));
  if (!vectors.length)
    return [element("p", "", `At most ${lanes} of ${wave_lanes} lanes are active: so many have a thread. The trace `
      + "does not say which of them EXEC switches off.")];
  const height = 70, top = 6, room = height - top - 4, step = (kWidth - kLeft) / vectors.length;
  const box = svgNode("svg", {viewBox: `0 0 ${kWidth} ${height}`, class: "chart", role: "img",
    "aria-label": `active lanes: ${mean_lanes.toFixed(1)} of ${wave_lanes} on average`});
  vectors.forEach(([n, text], i) => {
    const high = room * n / wave_lanes,
      bar = svgNode("rect", {x: kLeft + i * step, y: top + room - high, width: step + 0.3,
      height: high, class: n < lanes ? "limit-resources" : "hits"});
    bar.append(svgNode("title", {}, `${n.toFixed(1)} lanes: ${plainText(text)}`));
    box.append(bar);
  });
  for (const n of [0, wave_lanes])
    box.append(svgNode("text", {x: kLeft - 5, y: top + room * (1 - n / wave_lanes) + 4, class: "end"}, n));
  const fewer = vectors.filter(([n]) => n < lanes).length;
  return [element("p", "", `Vector instructions run in ${mean_lanes.toFixed(1)} of ${wave_lanes} lanes on average; `
    + `${lanes} have a thread. `
    + (fewer ? `${fewer} of ${vectors.length} instructions, drawn red, run in fewer: lanes diverge.`
      : "No instruction runs in fewer: no lanes diverge.")), box];
}

/** The levels from the waves to the device's memory: a bar of the bytes, on one logarithmic scale, and the hits. */
function memoryTables(levels) {
  const row = 44, height = levels.length * row, most = Math.max(...levels.map((l) => l.bytes || 0), 2);
  const box = svgNode("svg", {viewBox: `0 0 ${kWidth} ${height}`, class: "chart", role: "img",
    "aria-label": "memory hierarchy: " + levels.map((l) => `${l.name} ${l.requests} ${l.unit}`).join(", ")});
  levels.forEach((level, i) => {
    const y = i * row, width = level.bytes ? (kWidth - 4) * Math.log2(1 + level.bytes) / Math.log2(1 + most) : 0;
    const asked = `${plainText(level.name)}: ${Math.round(level.requests).toLocaleString("en")} ${level.unit}`;
    box.append(svgNode("text", {x: 0, y: y + 12, class: "name"}, asked));
    if (width) box.append(svgNode("rect", {x: 0, y: y + 17, width, height: 8, class: "bytes"}));
    if (width && level.hit_rate !== null)
      box.append(svgNode("rect", {x: 0, y: y + 17, width: width * level.hit_rate, height: 8, class: "hits"}));
    const bytes = level.bytes ? `${level.at_most ? "at most " : ""}${rateText(level.bytes)}B` : "";
    const hits = level.hit_rate === null ? "" : `${(100 * level.hit_rate).toFixed(1)} % `
      + (level.unit === "cycles" ? "no conflict" : "hits");
    box.append(svgNode("text", {x: 0, y: width ? y + 36 : y + 24},
      [bytes, hits, "by " + plainText(level.by)].filter(Boolean).join("; ")));
  });
  return [element("p", "quiet", "Bars are bytes, on a logarithmic scale; the dark part are hits. Bytes of loads count "
    + "all lanes, those of caches whole lines."), box];
}
