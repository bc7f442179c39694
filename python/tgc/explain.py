from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tgc.capture import fusion_explanation, record
from tgc.process import visible
from tgc.recording import Recording
from tgc.reports import bench, bisect, run
from tgc.results import Bisection, KernelTime, Run


@dataclass(frozen=True)
class Explanation:
  """The answer of tgc.explain() about a call of a function.

  result: what the function returned. recording: the kernels and schedules that the call made. runs: each kernel,
  compared with the reference interpreter; empty with compare=False. faults: the cause of each failed kernel. times: the
  time of each kernel; empty with times=False. passed: each of `runs` passed. fusion: why kernels are not fused.
  """
  result: Any
  recording: Recording
  runs: Run
  faults: tuple[Bisection, ...]
  times: tuple[KernelTime, ...]

  @property
  def passed(self) -> bool: return not self.runs.failed
  @functools.cached_property
  def fusion(self) -> str:
    texts = [(s.id, fusion_explanation(s).rstrip()) for s in self.recording.schedules if s.kernels]
    return "\n".join(text if text.startswith(name) else f"{name}: {text}" for name, text in texts)

  def __str__(self) -> str:
    kernels = self.recording.kernels
    total = sum(t.seconds for t in self.times)
    schedules = sum(1 for s in self.recording.schedules if s.kernels)
    lines = [f"kernels: {len(kernels)}, schedules: {schedules}" + (f", {total * 1e6:.1f} us if each kernel runs once" if self.times else "")]
    for number, kernel in enumerate(kernels):
      facts = [kernel.id, kernel.name, *(runs[number].result for runs in [self.runs] if number < len(runs))]
      if number < len(self.times): facts.append(str(self.times[number]).partition(": ")[2])
      lines.append(visible("  " + "  ".join(facts) + (f"  {kernel.made_for}" if kernel.made_for else "")))
    lines += ["faults: " + ("none" if self.passed else "") if len(self.runs) else "faults: not looked for"]
    causes = [(f.kernel, "the cause was not found" if f.passed else f"{f.verdict} {f.rule or ''}".rstrip()) for f in self.faults]
    lines += [visible(f"  {kernel}: {cause}") for kernel, cause in causes]
    return "\n".join([*lines, "fusion:", self.fusion])


def tensors_in(x: Any) -> Iterator[Any]:
  if isinstance(x, dict): x = list(x.values())
  if isinstance(x, (list, tuple)):
    for member in x: yield from tensors_in(member)
  elif hasattr(x, "realize") and hasattr(x, "uop"): yield x


def explain(function: Callable[..., Any], *, compare: bool = True, times: bool = True) -> Callable[..., Explanation]:
  """Returns a function that calls `function`, realizes the tensors that it returns, and returns an Explanation.

  tgc.explain(model)(x) explains the call model(x). `compare` runs each kernel against the reference interpreter and
  looks for the cause of each failure; `times` measures each kernel.
  """
  @functools.wraps(function)
  def explained(*args: Any, **kwargs: Any) -> Explanation:
    with record(name=getattr(function, "__name__", "call").strip("<>")) as made:
      result = function(*args, **kwargs)
      for tensor in tensors_in(result): tensor.realize()
    runs = run(made) if compare and made.kernels else Run(())
    wrong = [kernel for kernel, one in zip(made.kernels, runs, strict=False) if one.result == "failed"]
    return Explanation(result, made, runs, tuple(bisect(kernel) for kernel in wrong), tuple(bench(made, explain=0)) if times else ())
  return explained
