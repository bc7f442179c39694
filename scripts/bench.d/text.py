#!/usr/bin/env python3
"""Times the reading and writing of pyrender text by tgc and by tinygrad 0.12.0: same texts, processor time, one thread each.

  bench.d/text.py TGC_TEXT_BENCH GOLDENS... [--every=N]

tgc reads and writes all texts of the golden files once; then both read and write those of every N-th record. For
tinygrad, tgc/export/graph_text.py reads, and pyrender writes.
"""
import argparse, itertools, json, os, subprocess, sys, time
os.environ.setdefault("SPEC", "0")
sys.setrecursionlimit(20000)

from tgc.export.golden import golden_lines
from tgc.export.graph_text import GraphTextError, read_graph


def texts_of(path, every):
  for line in itertools.islice(golden_lines(path), 1, None, every):
    record = json.loads(line)
    yield record["ast"]
    yield from (s["ir"] for s in record["stages"] if s.get("ir"))


def time_tinygrad(paths, every):
  from tinygrad.uop.ops import pyrender
  total = dict(texts=0, nodes=0, read_s=0.0, write_s=0.0, changed=0, unread=0)
  for path in paths:
    for text in texts_of(path, every):
      start = time.process_time()
      try:
        ast = read_graph(text)
      except GraphTextError:
        total["unread"] += 1
        continue
      read = time.process_time()
      written = pyrender(ast)
      total["write_s"] += time.process_time() - read
      total["read_s"] += read - start
      total["changed"] += written != text
      total["texts"] += 1
      total["nodes"] += len(ast.toposort())
  return total


def time_tgc(tool, paths, every):
  return json.loads(subprocess.run([tool, *paths, f"--every={every}"], check=True, capture_output=True, text=True).stdout)


def print_row(name, t):
  seconds = t["read_s"] + t["write_s"]
  print(f"  {name:<24} {t['texts']:8} {t['nodes']:10} {t['read_s']:9.3f} {t['write_s']:9.3f} {t['nodes'] / seconds / 1e6:9.3f}")
  return t["nodes"] / seconds


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("tool")
  parser.add_argument("goldens", nargs="+")
  parser.add_argument("--every", type=int, default=40, metavar="N")
  options = parser.parse_args()
  whole = time_tgc(options.tool, options.goldens, 1)
  ours = time_tgc(options.tool, options.goldens, options.every)
  theirs = time_tinygrad(options.goldens, options.every)
  print("text: pyrender texts read and written, seconds of processor time, one thread each")
  print(f"  {'':<24} {'texts':>8} {'nodes':>10} {'read':>9} {'written':>9} {'Mnodes/s':>9}")
  print_row("tgc, all", whole)
  a, b = print_row(f"tgc, each {options.every}th record", ours), print_row("tinygrad, the same", theirs)
  if theirs["changed"] or theirs["unread"]: print(f"  (tinygrad cannot read {theirs['unread']} of its own texts, and changes {theirs['changed']} when it writes them again)")
  print(f"  tgc is faster by {a / b:.0f} times; its peak memory over all: {whole['peak_mib']} MiB")


if __name__ == "__main__": main()
