"""Commands of tgc on objects and files: run, bisect, diff and lint, with their results as objects."""
from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from typing import Any, overload

from tgc.export.golden import NATIVE_RELEASE, nan_file
from tgc.process import JSON, call, call_json, call_json_lines, visible
from tgc.recording import Input, Kernel, Recording, input_of


class Result:
  """What a command of tgc found. `facts` is the command's JSON; its members are attributes, too."""

  def __init__(self, facts: JSON) -> None: self.facts = facts

  def __getattr__(self, name: str) -> Any:
    if name.startswith("__") or name not in self.__dict__.get("facts", {}): raise AttributeError(name)
    return self.facts[name]

  def __dir__(self) -> list[str]: return [*super().__dir__(), *self.facts]
  def __repr__(self) -> str: return f"<{type(self).__name__} {json.dumps(self.facts)[:200]}>"


class KernelRun(Result):
  """One kernel that was run and compared: kernel, device, result, arrays, ..."""
  @property
  def passed(self) -> bool: return bool(self.facts.get("result") == "passed")
  def __str__(self) -> str: return visible(" ".join(str(self.facts.get(k, "")) for k in ("kernel", "device", "result", "why")).rstrip())


class Run(Sequence[KernelRun]):
  """The results of tgc.run(), one per kernel. `passed` is true if every kernel computes the expected values."""

  def __init__(self, results: list[KernelRun]) -> None: self.results = results
  @property
  def passed(self) -> bool: return bool(self.results) and all(r.passed for r in self.results)
  @property
  def failed(self) -> list[KernelRun]: return [r for r in self.results if not r.passed]
  @overload
  def __getitem__(self, i: int) -> KernelRun: ...
  @overload
  def __getitem__(self, i: slice) -> Sequence[KernelRun]: ...
  def __getitem__(self, i: int | slice) -> KernelRun | Sequence[KernelRun]: return self.results[i]
  def __len__(self) -> int: return len(self.results)
  def __str__(self) -> str: return "\n".join(map(str, self.results))
  def __repr__(self) -> str: return f"<Run: {len(self) - len(self.failed)} passed, {len(self.failed)} failed>"


class NanFind(Result):
  """The operation that made a NaN of numbers: kernel, call, output, steps (the origin first), again (the command)."""
  def __str__(self) -> str:
    lines = [f"{self.facts['kernel']} {self.facts['name']}: {self.facts['output']} is not a number, {self.facts['call']}"]
    lines += [f"  {s['text']}" + (f", where {s['operands']}" if s["operands"] else "") + (f" ({s['made_by']})" if s["made_by"] else "") for s in self.facts["steps"]]
    return visible("\n".join([*lines, *([f"  not explained: {self.facts['unexplained']}"] if "unexplained" in self.facts else [])]))


def find_nan(x: Recording) -> NanFind | None:
  """Explains the first NaN that a kernel made of numbers, in a recording of tgc.record(watch_nan=True). None if none did."""
  if not nan_file(x.file("kernel")).exists(): return None
  return NanFind(call_json("run", "--nan", str(x.file("kernel")), "--json", allowed=(1, 2)))


def options_of(options: dict[str, Any]) -> list[str]:
  """Returns keyword arguments as options of tgc: atol=0.1 is --atol=0.1, each_stage=True is --each-stage."""
  names = {name: "--" + name.rstrip("_").replace("_", "-") for name in options}
  return [names[name] + ("" if value is True else f"={value}") for name, value in options.items() if value not in (False, None)]


COMPILES = {"device", "target", "native", "live", "opts", "set", "each_stage"}  # options with which tgc compiles a record


def run(x: Input, **options: Any) -> Run:
  """Runs a kernel, or the kernels of a recording, and compares the results with the reference interpreter. Runs the source
  that tinygrad made; with device=DEV and other options of the compilation, tgc compiles the kernel.

  `options` are those of `tgc run`: device="CPU:LLVM", atol=1e-3, each_stage=True, repro="failing.json", ...
  """
  # tgc compiles records of 0.12.0 again, unless it is told to run what tinygrad made
  if isinstance(x, (Kernel, Recording)) and x.producer == f"tinygrad {NATIVE_RELEASE}" and not options.keys() & COMPILES:
    options.setdefault("recorded", True)
  total = len(x.kernels) if isinstance(x, Recording) else None
  inputs = [k.path for k in x.kernels] if isinstance(x, Recording) else [input_of(x)]
  arguments = ["run", *inputs, *options_of(options)]
  return Run([KernelRun(facts) for facts in call_json_lines(*arguments, total=total, label="tgc run")])


class Bisection(Result):
  """What tgc.bisect() found: verdict ("same" if nothing is wrong), and stage, rule, before, after, witness if known."""
  @property
  def passed(self) -> bool: return bool(self.facts["verdict"] == "same")
  def __str__(self) -> str: return "\n".join(visible(f"{key}: {value}") for key, value in self.facts.items() if key != "again")


def bisect(x: Input, **options: Any) -> Bisection:
  """Finds the rewrite, renderer or compiler pass that makes a kernel compute a wrong result (`tgc bisect`)."""
  return Bisection(call_json("bisect", input_of(x), *options_of(options)))


class Difference(Result):
  """The difference of two recordings or graphs. `kernels` counts those that are the same and those that differ; `list`
  names each one that differs, its first stage and, with rewrites, the rule. str() is the report of `tgc diff`."""

  def __init__(self, facts: JSON, inputs: tuple[str, str], options: list[str]) -> None:
    super().__init__(facts)
    self.inputs, self.options = inputs, options

  @property
  def same(self) -> bool: return bool(self.facts["same"])
  @property
  def differing(self) -> list[JSON]: return list(self.facts.get("list", ()))
  @functools.cached_property
  def text(self) -> str: return call("diff", *self.inputs, *self.options).stdout
  def __str__(self) -> str: return self.text
  def __bool__(self) -> bool: return not self.same


def diff(a: Input, b: Input, **options: Any) -> Difference:
  """Compares two recordings stage by stage, or two graphs by their structure (`tgc diff`). True if they differ."""
  inputs, words = (input_of(a), input_of(b)), options_of(options)
  return Difference(call_json("diff", *inputs, *words), inputs, words)


class Finding(Result):
  """Something that a TinyJit froze: what, function, where, happens, mend."""
  def __str__(self) -> str: return visible(": ".join(str(self.facts[k]) for k in ("where", "what", "happens", "mend") if self.facts.get(k)))


def lint(x: Input, **options: Any) -> list[Finding]:
  """Finds the values, tensors and branches that TinyJits froze (`tgc lint`). Empty if the program has no TinyJit."""
  path = str(x.file("jit")) if isinstance(x, Recording) else input_of(x)
  if isinstance(x, Recording) and not x.file("jit").exists(): return []
  return [Finding(f) for f in call_json("lint", path, *options_of(options)).get("findings", ())]


def check(x: Input, **options: Any) -> Result:
  """Replays a recording with tgc's own pipeline and compares every stage (`tgc check`)."""
  return Result(call_json("check", input_of(x), *options_of(options)))

