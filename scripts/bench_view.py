#!/usr/bin/env python3
"""What `tgc view` costs: sizes of pages and the time to write one, the layout in the program, and in a headless Chromium
(software rendering) opening, laying out, moving through a graph, a rewrite, a search.

  bench_view.py BIN_FOLDER KERNELS#ID TENSOR_GRAPH MODEL   run by scripts/bench view
"""
import os, subprocess, sys, tempfile, time
from chromium import Chromium

MEASURE = """(async () => {
  const out = {}, p95 = (list) => list.sort((a, b) => a - b)[Math.floor(list.length * 0.95)], now = () => performance.now();
  const tasks = []; new PerformanceObserver(l => l.getEntries().forEach(e => tasks.push(e.duration))).observe({type: 'longtask'});
  theApp.drawings.places = []; let begun = now(); out.boxes = theApp.drawings.at(0).boxes.length; out.layout = now() - begun;
  begun = now(); await theApp.go({q: 'op:MUL', s: 0}); out.search = now() - begun;
  await theApp.go({q: ''});
  const frames = []; theApp.canvas.fit(); let last = now(); theApp.canvas.frames = [];
  for (let i = 0; i < 60; i++) { i < 30 ? theApp.canvas.zoom(1.12) : theApp.canvas.pan(60, 30); await new Promise(requestAnimationFrame); frames.push(now() - last); last = now(); }
  out.frame = p95(frames), out.draw = p95([...theApp.canvas.frames]);
  const steps = [], s = theApp.graph.stages.findIndex(x => x.rewrites.filter(r => r.run && r.run.input === x.from).length > 12);
  if (s >= 0) { await theApp.go({s: s + 1}); await theApp.go({r: 0});
    for (let r = 1; r < 12; r++) { begun = now(); await theApp.go({r}); steps.push(now() - begun); } out.step = p95(steps); }
  await new Promise(r => setTimeout(r, 100)); out.task = Math.max(0, ...tasks);
  return out; })()"""


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
        begun = time.perf_counter()
        subprocess.run([tgc, "view", *args, "-o", path], check=True)
        best = min(best, time.perf_counter() - begun)
      return path, best

    source = os.path.join(temporary, "large.uop")
    large(source, 12000)
    pages = {"kernel": page("kernel", "--no-asm", kernel), "model": page("model", "--no-asm", model),
             "graph": page("graph", "--no-asm", tensor), "large": page("large", "--no-asm", "--set", "NOOPT=1", source)}
    print("pages, written without assembly:")
    for name, (path, seconds) in pages.items(): print(f"  {name:8} {os.path.getsize(path) / 1e3:9.1f} kB {seconds * 1e3:9.1f} ms")
    print("layout in the program: " + subprocess.run([os.path.join(folder, "tgc_layout_bench"), tensor], check=True, capture_output=True, text=True).stdout.strip())
    print("in Chromium (p95 of frames and rewrites), ms:")
    print(f"  {'page':8} {'boxes':>7} {'open':>8} {'layout':>8} {'search':>8} {'frame':>8} {'drawing':>8} {'rewrite':>8} {'longest task':>13}")
    for name, (path, _) in pages.items():
      with Chromium() as browser:
        browser.open("file://" + path)
        opened = browser.value("new Promise(r => requestAnimationFrame(() => r(performance.now())))")
        seen = browser.value(MEASURE)
        print(f"  {name:8} {seen['boxes']:7} {opened:8.0f} " + " ".join(f"{seen.get(k, float('nan')):8.1f}" for k in ("layout", "search", "frame", "draw", "step")) + f" {seen['task']:13.0f}")


main()
