#!/usr/bin/env python3
"""Times tinygrad 0.12.0's VIZ and `tgc view` on the same graphs in the same headless Chromium: milliseconds from the request of
the page to the first complete drawing of the graph.

  bench.d/viz.py [--seconds=N] TGC SOURCE...    run by scripts/bench view, with the Python that has tinygrad

SOURCE is GOLDEN#ID, a file of pyrender text, or large:N, an expression that grows with N. --seconds limits
VIZ for one graph (default 150).
"""
import argparse, gzip, json, os, socket, subprocess, sys, tempfile, time
from chromium import Chromium, PageError

# VIZ shows rewrites; a rewrite without rules shows the graph unchanged
RECORD = """import sys; sys.path.insert(0, {python!r}); sys.setrecursionlimit(20000)
from tgc.export.graph_text import read_graph
from tinygrad.uop.ops import PatternMatcher, graph_rewrite
graph_rewrite(read_graph(open({ast!r}).read()), PatternMatcher([]), name="the graph")"""
# VIZ listens on all interfaces; restrict it to the local one
SERVE = """import runpy, socketserver, sys
bind = socketserver.TCPServer.server_bind
def local(self): self.server_address = ("127.0.0.1", self.server_address[1]); bind(self)
socketserver.TCPServer.server_bind = local
sys.argv = ["serve.py", "--kernels", {kernels!r}, "--profile", {kernels!r} + ".none"]
runpy.run_module("tinygrad.viz.serve", run_name="__main__")"""
DRAWN = "document.querySelectorAll('#nodes > g').length > 3 && getComputedStyle(document.querySelector('#progress-message')).display === 'none'"


def large(nodes):
  lines = ["c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(10000), (), 0)", "v0 = c0.index(UOp.const(dtypes.index, 0))"]
  for i in range(1, nodes): lines.append(f"v{i} = v{max(0, i - 1 - i % 7)}*v{i * 7 // 11}+UOp.const(dtypes.float, {i}.0)")
  return "\n".join([*lines, f"ast = c0.index(UOp.const(dtypes.index, 0), ptr=True).store(v{nodes - 1}).sink()"]) + "\n"


def ast_of(source):
  path, _, wanted = source.partition("#")
  if source.startswith("large:"): return large(int(source[6:])), source
  if not wanted: return open(path).read(), os.path.basename(path)
  with gzip.open(path, "rt") as f:
    for line in f:
      record = json.loads(line)
      if record.get("id") == wanted: return record["ast"], wanted
  sys.exit(f"bench.d/viz: {path} has no record '{wanted}'")


def free_port():
  with socket.socket() as s:
    s.bind(("127.0.0.1", 0))
    return s.getsockname()[1]


def time_viz(ast, folder, seconds):
  """Returns (milliseconds to the first complete drawing, number of nodes); (None, 0): it took longer than `seconds`."""
  source, port = os.path.join(folder, "ast.uop"), free_port()
  with open(source, "w") as f: f.write(ast)
  python = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../python")
  env = {**os.environ, "TMPDIR": folder, "TRACK_MATCH_STATS": "2", "PRINT_MATCH_STATS": "0", "VIZ": "0", "SPEC": "0"}
  subprocess.run([sys.executable, "-c", RECORD.format(python=python, ast=source)], env=env, check=True, stdout=subprocess.DEVNULL)
  kernels, = [os.path.join(folder, name) for name in os.listdir(folder) if name.startswith("rewrites.pkl")]
  server = subprocess.Popen([sys.executable, "-c", SERVE.format(kernels=kernels)], env={**env, "TRACK_MATCH_STATS": "0", "PORT": str(port)}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
  try:
    for line in server.stdout:
      if b"ready" in line: break
    else: sys.exit("bench.d/viz: VIZ did not start")
    with Chromium() as browser:
      begun = time.perf_counter()
      browser.call("Page.navigate", url=f"http://127.0.0.1:{port}/")
      browser.until("typeof ctxs !== 'undefined' && ctxs !== null && ctxs.length > 1")
      browser.value("void setState({expandSteps: true, currentCtx: 1, currentStep: 0, currentRewrite: 0})")
      while True:
        left = begun + seconds - time.perf_counter()
        if left <= 0: return None, 0
        try: browser.until(DRAWN, left)
        except PageError: continue  # a busy page does not answer
        break
      browser.value("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")
      return (time.perf_counter() - begun) * 1e3, browser.value("document.querySelectorAll('#nodes > g').length")
  finally:
    server.kill()
    server.wait()
    os.remove(kernels)


def time_tgc(tgc, ast, source, folder):
  path, asked = os.path.join(folder, "page.html"), [source]
  if "#" not in source:
    asked = ["--set", "NOOPT=1", os.path.join(folder, "ast.uop")]
    with open(asked[-1], "w") as f: f.write(ast)
  subprocess.run([tgc, "view", "--no-asm", *asked, "-o", path], check=True)
  with Chromium() as browser:
    begun = time.perf_counter()
    browser.call("Page.navigate", url="file://" + path + "#g=0&s=0")
    browser.until("document.body && document.body.dataset.ready")
    browser.value("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")
    return (time.perf_counter() - begun) * 1e3, browser.value("theApp.scene.drawing.boxes.length")


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument("--seconds", type=float, default=150)
  parser.add_argument("tgc")
  parser.add_argument("sources", nargs="+")
  args = parser.parse_args()
  print(f"the first complete drawing, ms, beside tinygrad's VIZ:\n  {'graph':24} {'boxes':>7} {'tgc view':>9} {'nodes':>7} {'VIZ':>9}  times faster")
  for source in args.sources:
    ast, name = ast_of(source)
    with tempfile.TemporaryDirectory() as folder:
      ours, boxes = time_tgc(args.tgc, ast, source, folder)
      theirs, nodes = time_viz(ast, folder, args.seconds)
    said = f"{nodes:7} {theirs:9.0f}  {theirs / ours:.1f}" if theirs else \
      f"{'':7} more than {args.seconds:.0f} s, so more than {args.seconds * 1e3 / ours:.0f} times"
    print(f"  {name:24} {boxes:7} {ours:9.0f} {said}", flush=True)


main()
