import {Size} from "./box.js";
import {colorOfOp, mixColors} from "./colors.js";
import {plainText} from "./data.js";

const escaped = (text) => plainText(text).replace(/[&<>"']/g, (c) => "&#" + c.charCodeAt(0) + ";");

/** @param {import("./app.js").App} app @returns {string} */
export function svgOf(app) {
  const {canvas, graph, scene} = app, seen = canvas.seen(), boxes = canvas.boxesIn(seen);
  const keys = new Set(boxes.map((b) => b.key)), out = [];
  const width = seen.right - seen.left, height = seen.bottom - seen.top;
  const seenBox = [seen.left, seen.top, width, height].map((v) => v.toFixed(1)).join(" ");
  out.push(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="${seenBox}" font-family="sans-serif" font-size="12">`);
  out.push(`<rect x="${seen.left.toFixed(1)}" y="${seen.top.toFixed(1)}" width="100%" height="100%" fill="#ffffff"/>`);
  for (const line of scene.drawing.lines) {
    if (line.stub || !(keys.has(line.from.key) || keys.has(line.to.key))) continue;
    const to = canvas.entry(line);
    const points = [[line.from.x + Size.width / 2, line.from.y + line.from.height / 2],
      ...line.through.map((p) => [p.x, p.y]), [to.x, to.y]];
    let path = "M" + points[0].map((v) => v.toFixed(1)).join(" ");
    for (let i = 1; i < points.length; i++) {
      const [px, py] = points[i - 1], [x, y] = points[i], middle = (py + y) / 2;
      path += `C${[px, middle, x, middle, x, y].map((v) => v.toFixed(1)).join(" ")}`;
    }
    out.push(`<path d="${path}" fill="none" stroke="#9a9ca3" stroke-width="1.2"/>`);
  }
  for (const box of boxes) {
    const op = graph.opName(box.n), came = scene.came.has(box.key), went = scene.went.has(box.key);
    const top = box.y - box.height / 2;
    const stroke = came ? "#17733b" : went ? "#b3261e" : "#b9bbc0", sign = came ? "+ " : went ? "\u2212 " : "";
    const x = (box.x + 12).toFixed(1), right = (box.x + Size.width - 8).toFixed(1), first = (top + 16).toFixed(1);
    const fill = mixColors("#ffffff", colorOfOp(op), 0.25), dashes = went ? " stroke-dasharray=\"5 3\"" : "";
    const dtype = escaped(graph.dtypeName(box.n).slice(0, 16));
    out.push(`<rect x="${box.x.toFixed(1)}" y="${top.toFixed(1)}" width="${Size.width}" height="${box.height}" rx="5" `
      + `fill="${fill}" stroke="${stroke}"${dashes}/>`);
    out.push(`<text x="${x}" y="${first}" font-weight="600">${escaped(sign + box.title)}</text>`);
    out.push(`<text x="${right}" y="${first}" text-anchor="end" font-size="10" fill="#63666f">${dtype}</text>`);
    box.lines.forEach((text, i) => {
      const place = `x="${x}" y="${(top + 30 + i * Size.line).toFixed(1)}"`;
      out.push(`<text ${place} font-family="monospace" font-size="10.5">${escaped(text.slice(0, 26))}</text>`);
    });
  }
  return out.join("\n") + "\n</svg>\n";
}

/** @param {import("./app.js").App} app @returns {string} */
export function dotOf(app) {
  const {graph, scene} = app, quoted = (text) => "\"" + plainText(text).replace(/\\/g, "\\\\").replace(/"/g, "\\\"")
    + "\"";
  const out = ["digraph {", "  node [shape=box style=filled fontname=\"sans-serif\"]"];
  for (const box of scene.drawing.boxes) {
    const came = " color=darkgreen penwidth=2", went = " color=red style=\"filled,dashed\"";
    const mark = scene.came.has(box.key) ? came : scene.went.has(box.key) ? went : "";
    const label = quoted([box.title + " " + graph.dtypeName(box.n), ...box.lines].join(" | "));
    out.push(`  n${box.key} [label=${label} fillcolor=${quoted(colorOfOp(graph.opName(box.n)))}${mark}]`);
  }
  for (const line of scene.drawing.lines) out.push(`  n${line.from.key} -> n${line.to.key}`);
  return out.join("\n") + "\n}\n";
}

/** Offers a file for download. */
export function downloadFile(name, type, text) {
  const a = document.createElement("a");
  a.href = URL.createObjectURL(new Blob([text], {type}));
  a.download = name.replace(/[^\w.-]+/g, "_");
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 1000);
}
