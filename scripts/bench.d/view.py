#!/usr/bin/env python3
"""Measures `tgc view` and compares each figure with a limit.

  bench.d/view.py BIN_FOLDER KERNELS#ID TENSOR_GRAPH MODEL   run by scripts/bench view

Measures the size of pages, the time to write them and to lay out a graph in the program; and, in a headless Chromium
with software rendering, the time to open a page, lay it out, move through a graph, step to a rewrite, and search.
Writing, opening and layout are wall time; the other times are processor time of the page's tasks.
"""
import os, re, subprocess, sys, tempfile, time
from chromium import Chromium
from limits import LimitChecks, p95

LAYOUT = """(() => { theApp.drawings.places = []; const begun = performance.now(), boxes = theApp.drawings.at(0).boxes.length; return [boxes, performance.now() - begun]; })()"""
SEARCH = "theApp.go({s: 0, q: 'op:MUL'}).then(() => 0)"
MOVE = """(async () => { await theApp.go({q: ''}); theApp.canvas.fit();
  for (let i = 0; i < 60; i++) { i < 30 ? theApp.canvas.zoom(1.12) : theApp.canvas.pan(60, 30); await new Promise(requestAnimationFrame); } })()"""
# STAGE opens a stage with rewrites of the whole graph; STEPS then opens up to 40 of them one by one
STAGE = """(async () => {
  const ofAll = (x) => x.rewrites.map((r, i) => [r, i]).filter(([r]) => r.run && r.run.input === x.from).map((y) => y[1]);
  const stage = theApp.graph.stages.find((x) => ofAll(x).length > 40) || theApp.graph.stages.find((x) => ofAll(x).length);
  if (!stage) return;
  window.steps = ofAll(stage).slice(0, 40);
  await theApp.go({s: stage.index + 1});
  await new Promise((f) => setTimeout(f, 400)); })()"""
STEPS = """(async () => {
  for (const r of window.steps || []) { await theApp.go({r}); await new Promise((f) => setTimeout(f, 100)); } })()"""


def write_large_graph(path, nodes):
  lines = ["c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(10000), (), 0)", "v0 = c0.index(UOp.const(dtypes.index, 0))"]
  for i in range(1, nodes): lines.append(f"v{i} = v{max(0, i - 1 - i % 7)}*v{i * 7 // 11}+UOp.const(dtypes.float, {i}.0)")
  lines.append(f"ast = c0.index(UOp.const(dtypes.index, 0), ptr=True).store(v{nodes - 1}).sink()")
  with open(path, "w") as f: f.write("\n".join(lines) + "\n")


def time_writing(tgc, path, args, times):
  best = 1e9
  for _ in range(times):
    begun = time.perf_counter()
    subprocess.run([tgc, "view", *args, "-o", path], check=True)
    best = min(best, time.perf_counter() - begun)
  return best * 1e3


def size_of_graph(path):
  """Returns the size of the page with only its first graph, and its number of graphs."""
  page = open(path).read()
  others = re.findall(r'<script type="application/octet-stream" id="graphs?[1-9][\d-]*">[^<]*</script>\n', page)
  kernels = sum(int(last) - int(first) for first, last in re.findall(r' id="graphs([1-9]\d*)-(\d+)">', page))
  alone = len(re.findall(r' id="graph[1-9]\d*">', page))
  return len(page) - sum(map(len, others)), kernels + alone + 1


def main():
  folder, kernel, tensor, model = sys.argv[1:]
  tgc, limits = os.path.join(folder, "tgc"), LimitChecks()
  with tempfile.TemporaryDirectory() as temporary:
    source = os.path.join(temporary, "large.uop")
    write_large_graph(source, 12000)
    inputs = {"kernel": [kernel], "model": [model], "graph": [tensor], "large": ["--set", "NOOPT=1", source]}
    pages = {name: os.path.join(temporary, name + ".html") for name in inputs}
    took = {name: time_writing(tgc, pages[name], ["--no-asm", *args], 10 if name == "kernel" else 1) for name, args in inputs.items()}
    alone, graphs = size_of_graph(pages["graph"])
    print("pages, written without assembly:")
    limits.check("a kernel, " + kernel.split("#")[-1], os.path.getsize(pages["kernel"]) / 1e3, 400, "kB")
    limits.check("a tensor graph alone, " + tensor.split("#")[-1], alone / 1e3, 700, "kB")
    limits.check(f"the same with its {graphs - 1} kernels and all of their rewrites", os.path.getsize(pages["graph"]) / 1e3, 6000, "kB")
    limits.check("a kernel's page is written in", took["kernel"], 60, "ms")
    native = subprocess.run([os.path.join(folder, "tgc_layout_bench"), tensor], check=True, capture_output=True, text=True).stdout.strip()
    print("layout in the program: " + native)
    limits.check("the layout of the tensor graph", float(re.search(r"([\d.]+) ms", native)[1]), 100, "ms")
    print("in Chromium:")
    for name, path in pages.items():
      with Chromium() as browser:
        opening = browser.tasks(lambda: browser.open("file://" + path))
        opened = browser.value("theApp.openedAt")
        boxes, layout = browser.value(LAYOUT)
        searches = browser.tasks(lambda: browser.value(SEARCH))
        moves = [t for t in browser.tasks(lambda: browser.value(MOVE)) if t > 0.2]
        stage = browser.tasks(lambda: browser.value(STAGE))
        steps = [t for t in browser.tasks(lambda: browser.value(STEPS)) if t > 2]  # shorter tasks belong to the protocol
      print(f" {name}, {boxes} boxes")
      limits.check("opened, cold, to the first complete drawing", opened, 1000, "ms")
      limits.check("laid out in the page", layout, 500, "ms")
      limits.check("panning and zooming, a frame (p95)", p95(moves), 33, "ms")
      limits.check("a rewrite step (p95)", p95(steps), 50, "ms")
      limits.check("a search", searches[0], 50, "ms")
      limits.check("the longest of these tasks", max(opening[0], searches[0], stage[0], max(moves, default=0), max(steps, default=0)), 100, "ms")
  print(f"{limits.within} of {limits.total} within their limits")


main()
