"""tgc: see what tinygrad's compiler does to a graph, stage by stage.

  with tgc.record() as rec: (a @ b).relu().realize()    # any tinygrad from 0.11 on
  k = rec.kernels[0]                                    # k.stages["expander"], k.source, k.rewrites, print(k)
  tgc.run(k).passed                                     # runs the kernel, and compares with the reference interpreter
  tgc.bisect(k); tgc.diff(rec, "golden.jsonl.gz"); tgc.lint(rec)
  tgc.view(k)                                           # in a notebook: the page
  tgc.debug(tensor)                                     # the graph, the schedule, why not fused

`python -m tgc.export` records a program, `python -m tgc.ci` compares two commits, and `pytest --tgc-record=F` records
tests. The package calls the program tgc, which the wheel installs; the environment variable TGC names another.
"""
from tgc.capture import Debug, debug, record
from tgc.page import Page, view
from tgc.process import TgcError, binary
from tgc.recording import Kernel, Recording, Rewrite, Schedule, Stage, load
from tgc.reports import (
  Bisection,
  Difference,
  Finding,
  KernelRun,
  NanFind,
  Run,
  bisect,
  check,
  diff,
  find_nan,
  lint,
  run,
)

__all__ = ["Bisection", "Debug", "Difference", "Finding", "Kernel", "KernelRun", "NanFind", "Page", "Recording", "Rewrite", "Run", "Schedule",
           "Stage", "TgcError", "binary", "bisect", "check", "debug", "diff", "find_nan", "lint", "load", "record", "run", "view"]
