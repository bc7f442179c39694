#!/usr/bin/env python3
"""tinygrad 0.12.0's VIZ beside `tgc view`, in the same headless Chromium and on the same graphs: from asking for the page to the first
complete drawing of the graph, in milliseconds.

  bench_viz.py TGC GOLDEN#ID...    run by scripts/bench view, with the Python that has tinygrad
"""
import gzip, json, os, socket, subprocess, sys, tempfile, time
from chromium import Chromium, PageError

SECONDS = 150  # how long VIZ may take for a graph
# VIZ shows what was rewritten; rewriting nothing shows the graph as it stands
RECORD = """import sys; sys.path.insert(0, {scripts!r}); sys.setrecursionlimit(20000)
import tinygrad_export
from tinygrad.uop.ops import PatternMatcher, graph_rewrite
names = tinygrad_export.replay_names()
exec(open({ast!r}).read(), names)
graph_rewrite(names["ast"], PatternMatcher([]), name="the graph")"""
# VIZ listens on every interface; here on this computer alone
SERVE = """import runpy, socketserver, sys
bind = socketserver.TCPServer.server_bind
def local(self): self.server_address = ("127.0.0.1", self.server_address[1]); bind(self)
socketserver.TCPServer.server_bind = local
sys.argv = ["serve.py", "--kernels", {kernels!r}, "--profile", {kernels!r} + ".none"]
runpy.run_module("tinygrad.viz.serve", run_name="__main__")"""
DRAWN = "document.querySelectorAll('#nodes > g').length > 3 && getComputedStyle(document.querySelector('#progress-message')).display === 'none'"


def ast_of(path, wanted):
  with gzip.open(path, "rt") as f:
    for line in f:
      record = json.loads(line)
      if record.get("id") == wanted: return record["ast"]
  sys.exit(f"{path} has no record {wanted}")


def free_port():
  with socket.socket() as s:
    s.bind(("127.0.0.1", 0))
    return s.getsockname()[1]


def time_viz(ast, folder):
  """Milliseconds to the first complete drawing, and how many nodes it has; None: it took longer than SECONDS."""
  source, port = os.path.join(folder, "ast.py"), free_port()
  with open(source, "w") as f: f.write(ast)
  scripts = os.path.dirname(os.path.abspath(__file__))
  env = {**os.environ, "TMPDIR": folder, "TRACK_MATCH_STATS": "2", "PRINT_MATCH_STATS": "0", "VIZ": "0", "SPEC": "0"}
  subprocess.run([sys.executable, "-c", RECORD.format(scripts=scripts, ast=source)], env=env, check=True, stdout=subprocess.DEVNULL)
  kernels, = [os.path.join(folder, name) for name in os.listdir(folder) if name.startswith("rewrites.pkl")]
  server = subprocess.Popen([sys.executable, "-c", SERVE.format(kernels=kernels)], env={**env, "TRACK_MATCH_STATS": "0", "PORT": str(port)}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
  try:
    for line in server.stdout:
      if b"ready" in line: break
    else: sys.exit("VIZ did not start")
    with Chromium() as browser:
      begun = time.perf_counter()
      browser.call("Page.navigate", url=f"http://127.0.0.1:{port}/")
      browser.until("typeof ctxs !== 'undefined' && ctxs !== null && ctxs.length > 1")
      browser.value("void setState({expandSteps: true, currentCtx: 1, currentStep: 0, currentRewrite: 0})")
      try: browser.until(DRAWN, SECONDS)
      except PageError: return None, 0
      browser.value("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")
      return (time.perf_counter() - begun) * 1e3, browser.value("document.querySelectorAll('#nodes > g').length")
  finally:
    server.kill()
    server.wait()
    os.remove(kernels)


def time_tgc(tgc, source, folder):
  path = os.path.join(folder, "page.html")
  subprocess.run([tgc, "view", "--no-asm", source, "-o", path], check=True)
  with Chromium() as browser:
    begun = time.perf_counter()
    browser.call("Page.navigate", url="file://" + path + "#g=0&s=0")
    browser.until("document.body && document.body.dataset.ready")
    browser.value("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")
    return (time.perf_counter() - begun) * 1e3, browser.value("theApp.scene.drawing.boxes.length")


def main():
  tgc, *sources = sys.argv[1:]
  print(f"the first complete drawing, ms, beside tinygrad's VIZ:\n  {'graph':24} {'boxes':>7} {'tgc view':>9} {'nodes':>7} {'VIZ':>9}  times faster")
  for source in sources:
    path, name = source.split("#")
    with tempfile.TemporaryDirectory() as folder:
      ours, boxes = time_tgc(tgc, source, folder)
      theirs, nodes = time_viz(ast_of(path, name), folder)
    said = f"{nodes:7} {theirs:9.0f}  {theirs / ours:.1f}" if theirs else f"{'':7} {'':9}  not drawn in {SECONDS} s: more than {SECONDS * 1e3 / ours:.0f}"
    print(f"  {name:24} {boxes:7} {ours:9.0f} {said}", flush=True)


main()
