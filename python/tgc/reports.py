"""Commands of tgc on objects, tensors and files, such as run(), bisect() and prove()."""
from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tgc.export.golden import NATIVE_RELEASE, nan_file
from tgc.process import call, call_json, call_json_lines
from tgc.recording import Input, Kernel, Recording, input_of, recorded
from tgc.results import (
  Bisection,
  Counter,
  DifferingRecord,
  Finding,
  KernelRun,
  KernelTime,
  NanFind,
  Profile,
  Proof,
  Proofs,
  Result,
  Run,
)


def find_nan(x: Recording) -> NanFind | None:
  """Explains the first NaN that a kernel made of numbers and no later kernel masked (if all are masked, the first of
  all), in a recording of tgc.record(watch_nan=True). None if none was found."""
  if not nan_file(x.file("kernel")).exists(): return None
  return NanFind.from_json(call_json("run", "--nan", str(x.file("kernel")), "--json", allowed=(1, 2)))


def command_line_options(options: dict[str, Any]) -> list[str]:
  """Returns keyword arguments as options of tgc: atol=0.1 is --atol=0.1, each_stage=True is --each-stage, and
  set=["NOOPT=1", "BEAM=2"] two options --set."""
  out: list[str] = []
  for key, given in options.items():
    name = "--" + key.rstrip("_").replace("_", "-")
    values = given if isinstance(given, (list, tuple)) else [given]
    out += [name + ("" if value is True else f"={value}") for value in values if value is not None and value is not False]
  return out


COMPILES = {"device", "target", "native", "live", "opts", "set", "each_stage"}


def inputs_of(x: Input) -> list[str]:
  """Returns the INPUTs of the kernels of an object: of a recording, those that are not of tinygrad's own runtime."""
  return [k.path for k in x.kernels] if isinstance(x, Recording) else [input_of(x)]


def as_recorded(x: Input, options: dict[str, Any]) -> dict[str, Any]:
  """Returns the options, with recorded=True for records of 0.12.0, which tgc would otherwise compile again, unless an
  option of the compilation is given."""
  is_native = isinstance(x, (Kernel, Recording)) and x.producer == f"tinygrad {NATIVE_RELEASE}"
  return {"recorded": True, **options} if is_native and not options.keys() & COMPILES else options


def run(x: Input, **options: Any) -> Run:
  """Runs a kernel, a schedule, or the kernels of a recording, tensor or file. Compares with the reference interpreter.

  Runs the source that tinygrad made for a kernel or a recording, unless options such as device=DEV ask for another.
  `options` are those of `tgc run`: device="CPU:LLVM", atol=1e-3, each_stage=True, repro="failing.json", ... Raises
  TgcError if the command fails.
  """
  x = recorded(x)
  total = len(x.kernels) if isinstance(x, Recording) else None
  arguments = ["run", *inputs_of(x), *command_line_options(as_recorded(x, options))]
  return Run(tuple(KernelRun.from_json(facts) for facts in call_json_lines(*arguments, total=total, label="tgc run")))


def bisect(x: Input, **options: Any) -> Bisection:
  """Finds the rewrite, renderer or compiler pass that makes a kernel compute a wrong result (`tgc bisect`). The answer
  for several kernels is that of the first whose verdict is not "same", else of the first. Raises TgcError if the
  command fails."""
  found: Bisection | None = None
  x = recorded(x)
  for name in inputs_of(x):
    for facts in call_json_lines("bisect", name, *command_line_options(as_recorded(x, options))):
      one = Bisection.from_json(facts)
      if not one.passed and one.verdict: return one
      found = found or one
  return found or Bisection(verdict="same")


def prove(x: Input, **options: Any) -> Proofs:
  """Proves that the rewrites of a kernel or a schedule compute the same for all inputs, or refutes it (`tgc prove`).
  Records of other releases than 0.12.0 need recorded rewrites. `options` are those of the command: timeout=10,
  floats="bit-exact", ... Raises TgcError if the command fails."""
  inputs = inputs_of(recorded(x))
  return Proofs(tuple(Proof.from_json(facts) for name in inputs for facts in call_json_lines("prove", name, *command_line_options(options))))


def bench(x: Input, **options: Any) -> list[KernelTime]:
  """Times kernels on their device, with reasons why the slowest are slow (`tgc bench`). `options`: explain=3 (how many
  get reasons), try_=True (measures the opts that address them), repeat=20, timeout=20 (seconds for a kernel), ...
  Raises TgcError if the command fails."""
  inputs = inputs_of(recorded(x))
  return [KernelTime.from_json(k) for k in call_json("bench", "--kernels", *inputs, *command_line_options(options))["kernels"]] if inputs else []


def profile(x: Input, **options: Any) -> Profile:
  """Reads a profile that tinygrad stored (`tgc profile`): "profile.pkl", or "profile.pkl#KERNEL" with the kernel's
  instructions. Raises TgcError if the command fails.
  """
  facts = call_json("profile", input_of(x), *command_line_options(options))
  return dataclasses.replace(Profile.from_json(facts), counters=tuple(map(Counter.from_json, facts.get("pmc", ()))))


@dataclass(frozen=True)
class Difference(Result):
  """The difference of two recordings or graphs. same: they do not differ.

  kernels: numbers of records that are the "same", "different", "only_a" and "only_b". differing: the records that
  differ, with their first stage and, with rewrites, the rule. by_rule: for each rule, the number of records that differ
  because of it. str() is the report of `tgc diff`.
  """
  same: bool = False
  kernels: Mapping[str, int] = dataclasses.field(default_factory=dict)
  by_rule: Mapping[str, int] = dataclasses.field(default_factory=dict)
  arguments: tuple[str, ...] = dataclasses.field(default=(), repr=False)

  @functools.cached_property
  def differing(self) -> list[DifferingRecord]: return [DifferingRecord.from_json(r) for r in self.facts.get("list", ())]
  @property
  def rule(self) -> str | None:
    """The rule of the first differing record whose rule is known; None if there is none."""
    return next((r.rule for r in self.differing if r.rule), None)
  @functools.cached_property
  def text(self) -> str: return call("diff", *self.arguments).stdout
  def __str__(self) -> str: return self.text
  def __bool__(self) -> bool: return not self.same


def diff(a: Input, b: Input, **options: Any) -> Difference:
  """Compares two recordings stage by stage, or two graphs by their structure (`tgc diff`). The result is true if they
  differ. Raises TgcError if the command fails."""
  arguments = (input_of(a), input_of(b), *command_line_options(options))
  return dataclasses.replace(Difference.from_json(call_json("diff", *arguments)), arguments=arguments)


def lint(x: Input, **options: Any) -> list[Finding]:
  """Finds mistakes with TinyJits (`tgc lint`). Raises TgcError if the command fails."""
  path = str(x.file("jit")) if isinstance(x, Recording) else input_of(x)
  if isinstance(x, Recording) and not x.file("jit").exists(): return []
  return [Finding.from_json(f) for f in call_json("lint", path, *command_line_options(options)).get("findings", ())]


@dataclass(frozen=True)
class Check(Result):
  """Records that tgc replayed. records: how many; identical: how many are the same in every stage that was compared;
  errors: how many could not be replayed; first_divergence: for each stage, the number of records that differ first
  there."""
  records: int = 0
  identical: int = 0
  errors: int = 0
  first_divergence: Mapping[str, int] = dataclasses.field(default_factory=dict)


def check(x: Input, **options: Any) -> Check:
  """Replays a recording with tgc's own pipeline and compares the stages (`tgc check`). Raises TgcError if the command
  fails."""
  return Check.from_json(call_json("check", input_of(x), *command_line_options(options)))
