#!/usr/bin/env python3
"""Measures time and memory of commands on generated inputs of the sizes n, 2n and 4n, in each format.

  bench.d/growth_inputs.py TGC [BASE [SECONDS]]     BASE: nodes of the smallest input, default 20000; SECONDS: limit for one run

The last column is the exponent of the time as a function of the bytes, between 2n and 4n: 1 is linear. A star marks what grows faster than n log n by
more than measuring explains: an exponent above 1.35 where the larger run takes 0.3 s or more. Run by scripts/bench.
"""
import json, math, os, pathlib, resource, subprocess, sys, tempfile, time

BUFFERS = "c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(64), (), 0)\nc1 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(64), (), 1)\n"


def chain(n):
  """A kernel that is one long expression."""
  lines = [BUFFERS + "c2 = UOp.range(64, 0, AxisType.LOOP)\nd0 = c1.index(c2)"]
  lines += [f"d{i + 1} = d{i}+UOp.const(dtypes.float, {i % 7}.5)*d{max(i - 3, 0)}" for i in range(n // 3)]
  return "\n".join(lines) + f"\nast = c0.index(c2, ptr=True).store(d{n // 3}).end(c2).sink()\n"


def wide(n):
  """A kernel of many stores."""
  stores = [f"s{i} = c0.index(UOp.const(dtypes.index, {i % 64}), ptr=True).store(c1.index(UOp.const(dtypes.index, {i * 7 % 64}))*UOp.const(dtypes.float, {i}.0))"
            for i in range(n // 6)]
  return BUFFERS + "\n".join(stores) + "\nast = UOp.sink(" + ", ".join(f"s{i}" for i in range(n // 6)) + ")\n"


def node(op, dtype, src=(), **more): return {"op": op, "dtype": dtype, "src": list(src), **more}


def foreign(n):
  """A tensor graph of 0.14: movement ops and additions in a row."""
  param = {"ParamArg": {"*": [0, {"value": "dtypes.float"}], "device": "CPU"}}
  nodes = [node("CONST", "dtypes.weakint", arg=8), node("BUFFER", "dtypes.float", [0], arg=param), node("CONST", "dtypes.weakint", arg=4),
           node("CONST", "dtypes.weakint", arg=2), node("STACK", "dtypes.weakint", [2, 3])]
  last = 1
  while len(nodes) < n:
    nodes.append(node("RESHAPE", "dtypes.float", [last, 4]))
    nodes.append(node("PERMUTE", "dtypes.float", [len(nodes) - 1], arg=[1, 0]))
    nodes.append(node("RESHAPE", "dtypes.float", [len(nodes) - 1, 0]))
    nodes.append(node("ADD", "dtypes.float", [len(nodes) - 1, 1]))
    last = len(nodes) - 1
  nodes.append(node("SINK", "dtypes.void", [last]))
  return {"format": "tgc-graph", "version": 1, "producer": "tinygrad 0.14.0", "nodes": nodes}


def golden(graph, level): return (json.dumps({"format": "tgc-golden", "version": 1, "level": level, "producer": "tinygrad 0.14.0", "settings": {}}) + "\n" +
  json.dumps({"id": "g", "what": "x", "device": "CPU", "nodes": len(graph["nodes"]), "ast": json.dumps(graph), "stages": [], "kernels": []}) + "\n")


def records(n):
  """A recording of many small records."""
  graph = json.dumps(foreign(12))
  lines = [json.dumps({"format": "tgc-golden", "version": 1, "level": "tensor", "producer": "tinygrad 0.14.0", "settings": {}})]
  lines += [json.dumps({"id": f"g.{i}", "what": "x", "device": "CPU", "nodes": 13, "ast": graph, "stages": [], "kernels": []}) for i in range(n // 12)]
  return "\n".join(lines) + "\n"


def converted(tgc, path, form):
  """The graph of a file in another format."""
  return subprocess.run([tgc, "dump", path, "--stage=ast", f"--format={form}"], check=True, capture_output=True, text=True).stdout


# what is measured: a name, the text of an input of a size, its suffix, and the commands
CASES = [
  ("pyrender chain", chain, ".uop", ["verify", "dump --stage=source", "dump --stage=all -o {out}.stages", "trace", "stats", "diff {0}"]),
  ("pyrender wide", wide, ".uop", ["verify", "dump --stage=source", "view -o {out}.html"]),
  ("json chain", ("json", chain), ".json", ["verify", "dump --stage=ast --format=uops"]),
  ("repr wide", ("repr", wide), ".repr", ["verify"]),
  ("uops wide", ("uops", wide), ".uops", ["dump --stage=source"]),
  ("tensor graph, 0.14", lambda n: golden(foreign(n), "tensor"), ".jsonl", ["records", "run", "diff {0}"]),
  ("many records", records, ".jsonl", ["records", "check", "diff {0}"]),
]


def measured(command, seconds):
  """Returns seconds of processor time, peak memory in MB, and the exit code; None if the limit passed."""
  begin = time.monotonic()
  process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds)))
  _, status, usage = os.wait4(process.pid, 0)
  process.returncode = os.waitstatus_to_exitcode(status)
  return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, process.returncode, time.monotonic() - begin


def main():
  tgc, base = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20000
  seconds, faster = int(sys.argv[3]) if len(sys.argv) > 3 else 60, 0
  print(f"  {'input':20} {'command':34} {'MB of 4n':>8}  {'s: n':>7} {'2n':>7} {'4n':>7}  {'MB: n':>6} {'2n':>6} {'4n':>6} {'growth':>7}")
  with tempfile.TemporaryDirectory() as folder:
    for name, make, suffix, commands in CASES:
      paths = []
      for factor in (1, 2, 4):
        path = pathlib.Path(folder, f"{factor}{suffix}")
        if isinstance(make, tuple):
          pathlib.Path(folder, "from.uop").write_text(make[1](base * factor))
          path.write_text(converted(tgc, str(pathlib.Path(folder, "from.uop")), make[0]))
        else: path.write_text(make(base * factor))
        paths.append(path)
      for command in commands:
        runs = [measured([tgc, *(w.format(path, out=os.path.join(folder, "out")) for w in (command.split()[0], "{0}", *command.split()[1:]))], seconds)
                for path in paths]
        times, memory = [r[0] for r in runs], [r[1] for r in runs]
        power = math.log(max(times[2], 1e-3) / max(times[1], 1e-3)) / math.log(paths[2].stat().st_size / paths[1].stat().st_size)
        is_faster = (power > 1.35 and times[2] > 0.3) or times[2] >= seconds - 1
        faster += is_faster
        print(f"  {name:20} {command:34} {paths[2].stat().st_size / 1e6:8.2f}  " + " ".join(f"{t:7.2f}" for t in times) + "  " +
              " ".join(f"{m:6.0f}" for m in memory) + f" {power:6.2f}{'*' if is_faster else ' '}" + (f" exit code {runs[2][2]}" if runs[2][2] else ""), flush=True)
  print(f"  {faster} of them grow faster than n log n")


if __name__ == "__main__": main()
