#!/usr/bin/env python3
"""What `tgc view` costs: sizes of pages and the time to write one, the layout in the program, and in a headless Chromium
(software rendering) opening, laying out, moving through a graph, a rewrite, a search. Processor time, which does not depend on what else the
machine does, but for opening: from asking for the page to its first complete drawing.

  bench_view.py BIN_FOLDER KERNELS#ID TENSOR_GRAPH MODEL   run by scripts/bench view
"""
import os, resource, subprocess, sys, tempfile
from chromium import Chromium

LAYOUT = """(() => { theApp.drawings.places = []; const begun = performance.now(), boxes = theApp.drawings.at(0).boxes.length; return [boxes, performance.now() - begun]; })()"""
SEARCH = "theApp.go({s: 0, q: 'op:MUL'}).then(() => 0)"
MOVE = """(async () => { await theApp.go({q: ''}); theApp.canvas.fit();
  for (let i = 0; i < 60; i++) { i < 30 ? theApp.canvas.zoom(1.12) : theApp.canvas.pan(60, 30); await new Promise(requestAnimationFrame); } })()"""
# rewrites of a whole graph, one after the other, each drawn
STEPS = """(async () => {
  const ofAll = (x) => x.rewrites.map((r, i) => [r, i]).filter(([r]) => r.run && r.run.input === x.from).map((y) => y[1]), stage = theApp.graph.stages.find((x) => ofAll(x).length > 40) || theApp.graph.stages.find((x) => ofAll(x).length);
  if (!stage) return;
  for (const r of ofAll(stage).slice(0, 40)) { await theApp.go({s: stage.index + 1, r}); await new Promise((f) => requestAnimationFrame(() => setTimeout(f, 0))); } })()"""


def p95(values): return sorted(values)[int(len(values) * 0.95)] if values else 0


def large(path, nodes):
  lines = ["c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(10000), (), 0)", "v0 = c0.index(UOp.const(dtypes.index, 0))"]
  for i in range(1, nodes): lines.append(f"v{i} = v{max(0, i - 1 - i % 7)}*v{i * 7 // 11}+UOp.const(dtypes.float, {i}.0)")
  lines.append(f"ast = c0.index(UOp.const(dtypes.index, 0), ptr=True).store(v{nodes - 1}).sink()")
  with open(path, "w") as f: f.write("\n".join(lines) + "\n")


def main():
  folder, kernel, tensor, model = sys.argv[1:]
  tgc = os.path.join(folder, "tgc")
  with tempfile.TemporaryDirectory() as temporary:
    def page(name, *args):
      path = os.path.join(temporary, name + ".html")
      best = 1e9
      for _ in range(10 if name == "kernel" else 1):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([tgc, "view", *args, "-o", path], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
      return path, best

    source = os.path.join(temporary, "large.uop")
    large(source, 12000)
    pages = {"kernel": page("kernel", "--no-asm", kernel), "model": page("model", "--no-asm", model),
             "graph": page("graph", "--no-asm", tensor), "large": page("large", "--no-asm", "--set", "NOOPT=1", source)}
    print("pages, written without assembly, and the processor time of that:")
    for name, (path, seconds) in pages.items(): print(f"  {name:8} {os.path.getsize(path) / 1e3:9.1f} kB {seconds * 1e3:9.1f} ms")
    print("layout in the program: " + subprocess.run([os.path.join(folder, "tgc_layout_bench"), tensor], check=True, capture_output=True, text=True).stdout.strip())
    print("in Chromium; ms of processor time of the page's tasks, but for open:")
    print(f"  {'page':8} {'boxes':>7} {'open':>8} {'longest':>8} {'layout':>8} {'search':>8} {'frame':>8} {'rewrite':>8} {'of it longest':>14}")
    for name, (path, _) in pages.items():
      with Chromium() as browser:
        opening = browser.tasks(lambda: browser.open("file://" + path))
        opened = browser.value("theApp.openedAt")
        boxes, layout = browser.value(LAYOUT)
        search = browser.tasks(lambda: browser.value(SEARCH))
        moves = [t for t in browser.tasks(lambda: browser.value(MOVE)) if t > 0.2]
        steps = [t for t in browser.tasks(lambda: browser.value(STEPS)) if t > 2]  # the others are the protocol's
        print(f"  {name:8} {boxes:7} {opened:8.0f} {opening[0]:8.1f} {layout:8.1f} {search[0]:8.1f} {p95(moves):8.1f} {p95(steps):8.1f} {max(steps, default=0):14.1f}")


main()
