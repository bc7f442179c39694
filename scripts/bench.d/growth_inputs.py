#!/usr/bin/env python3
"""Measures time and memory of commands on generated inputs of the sizes n, 2n and 4n, in many formats.

  bench.d/growth_inputs.py TGC [MEGABYTES [SECONDS [TEXT]]]     MEGABYTES: the size 4n, default 4; SECONDS: limit for one run, default 60;
                                                                TEXT: measure only the rows that have it in their name or command

The last column is the exponent of the time as a function of the bytes, between 2n and 4n: 1 is linear. A star marks an
exponent above 1.35 where the larger run takes more than 0.3 s, and a run that ends by its time limit.
"""
import math, os, pathlib, resource, shlex, subprocess, sys, tempfile, time

import growth_formats as formats

RUN = "run --reference=none --device=REF"
# name, the function that makes an input of n items or its conversion from another input, suffix, and commands; {0} is
# the input, {dir} its folder, {out} the name of an output
CASES = [
  ("pyrender chain", formats.chain, ".uop", ["verify", "dump --stage=ast --format=repr", "dump --stage=ast --format=dot", "dump --stage=ast --format=nodes", "dump --stage=source",
                                             "dump --stage=all -o {out}.all/", "dump --stage=source --target=CUDA:PTX:sm_80", "trace -q", "trace -o {out}.jsonl",
                                             "stats", "diff {0}", RUN, "bench --repeat=1"]),
  ("pyrender wide", formats.wide_kernel, ".uop", ["verify", "dump --stage=source", "view -o {out}.html", "stats", RUN]),
  ("pyrender loops", formats.many_loops_kernel, ".uop", ["verify", "dump --stage=source"]),
  ("pyrender arguments", formats.many_arguments_kernel, ".uop", ["verify", "dump --stage=source"]),
  ("pyrender constant", formats.constant_vectors_kernel, ".uop", ["verify", "dump --stage=ast --format=repr"]),
  ("pyrender sources", formats.many_sources_kernel, ".uop", ["verify", "dump --stage=ast --format=json"]),
  ("pyrender shape", formats.long_shape, ".uop", ["verify", "dump --stage=ast --format=json"]),
  ("pyrender tensors", formats.tensor_chain, ".uop", ["dump --stage=schedule", "dump --stage=source", "view -o {out}.html"]),
  ("pyrender kernels", formats.tensor_kernels, ".uop", ["dump --stage=schedule", "dump --stage=source", RUN]),
  ("json chain", ("json", formats.chain), ".json", ["verify", "dump --stage=ast --format=uops"]),
  ("json nesting", formats.nested_arg, ".json", ["verify"]),
  ("repr chain", ("repr", formats.chain), ".repr", ["verify"]),
  ("repr wide", ("repr", formats.wide_kernel), ".repr", ["verify"]),
  ("uops wide", ("uops", formats.wide_kernel), ".uops", ["dump --stage=source"]),
  ("log with graphs", formats.log_of_graphs, ".log", ["dump --stage=source -o {out}.log/", "verify", "diff {0}"]),
  ("log without graphs", formats.log_of_lines, ".log", ["verify"]),
  ("repro", formats.repro, ".repro", ["run --timeout=20", "dump --stage=source"]),
  ("repro of arrays", formats.repro_arrays, ".repro", ["run --timeout=20"]),
  ("trace file", formats.trace_file, ".trace", ["trace -q"]),
  ("tensor graph, 0.14", lambda n: formats.golden(formats.tensor_graph_of_0_14(n), "tensor"), ".jsonl", ["records", "run", "diff {0}", "stats"]),
  ("kernel, 0.14", lambda n: formats.golden(formats.kernel_of_0_14(n), "kernel"), ".jsonl", ["records", "dump --native --stage=source", "run --native --reference=none --device=REF", "stats", "diff {0}"]),
  ("many records", formats.many_records, ".jsonl", ["records", "run", "diff {0}", "stats"]),
  ("recorded stages", formats.recorded_stages, ".jsonl", ["records", "dump --recorded --stage=all -o {out}.recorded/", "trace -q", "stats", "view -o {out}.html", "diff {0}"]),
  ("recorded rewrites", formats.recorded_rewrites, ".jsonl", ["records", "trace -q", "stats", "prove --timeout=10", "view -o {out}.html"]),
  ("jit events", formats.jit_events, ".jsonl", ["lint"]),
  ("rewrites.pkl", formats.rewrites_pickle, ".pkl", ["records", "stats", "dump --stage=source -o {out}.rewrites/"]),
  ("profile.pkl", formats.profile_pickle, ".pkl", ["profile", "profile --json", "profile --counters", "profile --memory", "profile --waves", "profile --against={0}"]),
  ("onnx", formats.onnx_model, ".onnx", ["dump --stage=source", "dump"]),
  ("safetensors", formats.safetensors_file, ".safetensors", ["run {dir}/small.onnx --weights={0}"]),
  ("npz", formats.npz_file, ".npz", ["run {dir}/small.uop --inputs={0}"]),
]
WITHOUT_INPUT = ("run {dir}",)  # commands that name their own input


def measure_command(command, seconds):
  """Returns seconds of processor time, peak memory in MB, and the exit code."""
  process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds)))
  _, status, usage = os.wait4(process.pid, 0)
  process.returncode = os.waitstatus_to_exitcode(status)
  return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, process.returncode


def make_input(tgc, make, n, folder):
  if isinstance(make, tuple):
    path = pathlib.Path(folder, "from.uop")
    path.write_text(make[1](n))
    return subprocess.run([tgc, "dump", path, "--stage=ast", f"--format={make[0]}"], check=True, capture_output=True).stdout
  text = make(n)
  return text.encode() if isinstance(text, str) else text


def main():
  tgc, megabytes = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 4
  seconds, text, faster, rows = int(sys.argv[3]) if len(sys.argv) > 3 else 60, sys.argv[4] if len(sys.argv) > 4 else "", 0, 0
  print(f"  {'input':20} {'command':46} {'MB of 4n':>8}  {'s: n':>7} {'2n':>7} {'4n':>7}  {'MB: n':>6} {'2n':>6} {'4n':>6} {'growth':>7}")
  with tempfile.TemporaryDirectory() as folder:
    pathlib.Path(folder, "small.onnx").write_bytes(formats.onnx_model(3))
    pathlib.Path(folder, "small.uop").write_text(formats.wide_kernel(12))
    for name, make, suffix, commands in CASES:
      commands = [c for c in commands if text in name + " " + c]
      if not commands: continue
      sample = len(make_input(tgc, make, 2000, folder)) / 2000  # bytes of an item
      paths = []
      for factor in (1, 2, 4):
        paths.append(pathlib.Path(folder, f"{factor}{suffix}"))
        paths[-1].write_bytes(make_input(tgc, make, int(megabytes * 1e6 / sample / 4 * factor), folder))
      for command in commands:
        runs = []
        for path in paths:
          words = shlex.split(command.format(path, dir=folder, out=os.path.join(folder, "out")))
          if not command.startswith(WITHOUT_INPUT): words.insert(1, str(path))
          runs.append(measure_command([tgc, *words], seconds))
          if runs[-1][0] >= seconds - 1: break
        runs += [runs[-1]] * (3 - len(runs))
        times, memory = [r[0] for r in runs], [r[1] for r in runs]
        power = math.log(max(times[2], 1e-3) / max(times[1], 1e-3)) / math.log(paths[2].stat().st_size / paths[1].stat().st_size)
        is_faster = (power > 1.35 and times[2] > 0.3) or times[2] >= seconds - 1
        faster, rows = faster + is_faster, rows + 1
        print(f"  {name:20} {command.replace(folder, '.'):46} {paths[2].stat().st_size / 1e6:8.2f}  " + " ".join(f"{t:7.2f}" for t in times) + "  " +
              " ".join(f"{m:6.0f}" for m in memory) + f" {power:6.2f}{'*' if is_faster else ' '}" + (f" exit code {runs[2][2]}" if runs[2][2] else ""), flush=True)
  print(f"  {faster} of {rows} grow faster than n log n")


if __name__ == "__main__": main()
