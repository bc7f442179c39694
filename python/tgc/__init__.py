"""tgc: see what tinygrad's compiler does to a graph, stage by stage.

  with tgc.record() as rec: (a @ b).relu().realize()    # any tinygrad from 0.11 on
  k = rec[0]                                            # k.stages["expander"], k.source, k.asm, k.rewrites, print(k)
  tgc.run(k).passed                                     # runs the kernel, and compares with the reference interpreter
  tgc.bisect(k).rule; tgc.prove(k).verdict; tgc.bench(k)
  tgc.diff(rec, "golden.jsonl.gz"); tgc.lint(rec)
  tgc.view(k)                                           # in a notebook: the page
  tgc.debug(tensor)                                     # the graph, the schedule, why not fused
  print(tgc.explain(function)(x))                       # what tinygrad makes of a call: kernels, fusion, faults, times

`python -m tgc.export` records a program, `python -m tgc.ci` compares two commits, `python -m tgc.mcp` serves coding agents, and
`pytest --tgc-record=F` records tests. The package calls the program tgc, which the wheel installs; the environment variable
TGC names another.
"""
from tgc.capture import Debug, debug, record
from tgc.explain import Explanation, explain
from tgc.page import Page, view
from tgc.process import TgcError, binary
from tgc.recording import Call, Kernel, Recording, Rewrite, Schedule, Stage, load
from tgc.reports import Check, Difference, bench, bisect, check, diff, find_nan, lint, profile, prove, run
from tgc.results import (
  ArrayComparison,
  Bisection,
  Buffer,
  Counter,
  DifferingRecord,
  Element,
  Finding,
  Instruction,
  KernelRun,
  KernelTime,
  NanFind,
  NanStep,
  Occupancy,
  OtherNan,
  Profile,
  ProfiledKernel,
  Program,
  Proof,
  Proofs,
  Reason,
  Resources,
  RewriteProof,
  Run,
  Spills,
  Variable,
)

__all__ = ["ArrayComparison", "Bisection", "Buffer", "Call", "Check", "Counter", "Debug", "Difference", "DifferingRecord", "Element", "Explanation",
           "Finding", "Instruction", "Kernel", "KernelRun", "KernelTime", "NanFind", "NanStep", "Occupancy", "OtherNan", "Page", "Profile", "ProfiledKernel",
           "Program", "Proof", "Proofs", "Reason", "Recording", "Resources", "Rewrite", "RewriteProof", "Run", "Schedule", "Spills", "Stage",
           "TgcError", "Variable", "bench", "binary", "bisect", "check", "debug", "diff", "explain", "find_nan", "lint", "load", "profile",
           "prove", "record", "run", "view"]
