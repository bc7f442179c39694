#!/usr/bin/env python3
"""Times the emulators on recorded kernels for CUDA:PTX, AMD:LLVM and METAL, with random inputs, in one host thread.

  bench.d/emulators.py TGC RECORDS.jsonl.gz... [--target=T]... [--every=N]

For PTX and RDNA, reports the instructions of GPU threads (a vector instruction counts once per active lane) per second
of processor time in launches; for Metal, tinygrad's estimate of operations per second of wall time. Also reports the
total time per target from the AST on.
"""
import argparse, gzip, json, os, re, subprocess, time

TARGETS = ["CUDA:PTX:sm_80", "AMD:LLVM:gfx1100", "METAL:METAL"]
LAUNCH = re.compile(r"(\d+) instructions of threads in ([\d.]+) s, ([\d.]+) s of processors")


def records_for(paths, target):
  for path in paths:
    with gzip.open(path, "rt") as lines:
      for line in lines:
        record = json.loads(line)
        if record.get("target") == target and "program" in record: yield f"{path}#{record['id']}", record["program"]


def time_run(tgc, target, name, program):
  """Returns (processor seconds of `tgc run`, millions of instructions or operations, seconds in launches); None: it
  fails."""
  command = [tgc, "run", name, "--emulate", "--reference=none", "--json"] + [f"--var={v}={most}" for v, _, most in program["vars"]]
  metal = target.startswith("METAL")
  begun = os.times()
  ran = subprocess.run(command + ["--bench=1"] * metal, capture_output=True, text=True,
                       env={**os.environ, **{f"TGC_{gpu}_EMULATOR_{key}": "1" for gpu in ("CUDA", "HIP") for key in ("SPEED", "THREADS")}})
  done = os.times()
  if ran.returncode: return print(f"  not run: {name}: {json.loads(ran.stdout).get('error', ran.stderr).splitlines()[0][:200]}")
  processor = done.children_user + done.children_system - begun.children_user - begun.children_system
  if metal:
    seconds = json.loads(ran.stdout)["bench"]["min_s"]
    return processor, int(program["ops"]) / 1e6 if program["ops"].isdigit() else 0, seconds
  launches = LAUNCH.findall(ran.stderr)
  return processor, sum(int(l[0]) for l in launches) / 1e6, sum(float(l[2]) for l in launches)


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument("tgc")
  parser.add_argument("records", nargs="+")
  parser.add_argument("--target", action="append")
  parser.add_argument("--every", type=int, default=1)
  options = parser.parse_args()
  for target in options.target or TARGETS:
    rows, begun = [], time.perf_counter()
    kernels = list(records_for(options.records, target))
    for name, program in kernels[::options.every]:
      if row := time_run(options.tgc, target, name, program): rows.append((*row, name))
    if not rows: continue
    clock = time.perf_counter() - begun
    processor, millions, seconds = (sum(r[n] for r in rows) for n in range(3))
    unit = "operations" if target.startswith("METAL") else "instructions"
    large = sorted((r[1] / r[2], r[3]) for r in rows if r[2] >= 1e-3)  # shorter kernels mostly measure the start of a launch
    print(f"{target}: {len(rows)} of {len(kernels)} kernels, {millions:,.0f} million {unit} in {seconds:.1f} s of launches: {millions / seconds:.0f} million per second and core"
          + (f"; median of the kernels {large[len(large) // 2][0]:.0f}, least {large[0][0]:.0f} ({large[0][1].rsplit('#')[-1]}), most {large[-1][0]:.0f}"
             if large else ""))
    print(f"  with compiling and inputs {processor:.1f} s of processor time, {clock:.1f} s of wall time; the longest: "
          + ", ".join(f"{r[3].rsplit('#')[-1]} {r[2]:.1f} s" for r in sorted(rows, key=lambda r: -r[2])[:3]))


main()
