"""Facts of kernels, and what commands of tgc find, as dataclasses. Their docstrings have the units of numbers."""
from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, overload

from tgc.nodes import number_or_text, values_of, without_colors
from tgc.process import JSON, visible

if TYPE_CHECKING:
  from typing_extensions import Self


def real(x: Any) -> float: return float(x)  # tgc's JSON has NaN and infinities as texts


def made_of(convert: Callable[[Any], Any], default: Any = None) -> Any:
  """A field of a Result that is converted from a member of tgc's JSON."""
  return field(default=default, metadata={"convert": convert})


def tuple_of(convert: Callable[[Any], Any]) -> Callable[[Any], Any]: return lambda items: tuple(convert(x) for x in items)


@dataclass(frozen=True)
class Result:
  """The result of a command of tgc, or a part of it. `facts` is all of it, as the command's --json prints it."""
  facts: JSON = field(default_factory=dict, repr=False, kw_only=True)

  @classmethod
  def from_json(cls, facts: JSON) -> Self:
    """Makes the object of the members of JSON that have its fields' names; the other fields keep their defaults."""
    known = {f.name: f.metadata.get("convert", lambda x: x)(facts[f.name]) for f in dataclasses.fields(cls)
             if f.name != "facts" and facts.get(f.name) is not None}
    return cls(**known, facts=facts)


@dataclass(frozen=True)
class Buffer:
  """A buffer of a kernel's call. base: number of its memory within the schedule; offset: bytes from there; size:
  elements. parts: of a buffer on several devices, the buffer of each; the first is the buffer itself."""
  base: int
  offset: int
  size: int
  dtype: str
  parts: tuple[Buffer, ...] = ()

  @staticmethod
  def from_json(facts: JSON) -> Buffer:
    parts = tuple(map(Buffer.from_json, facts.get("multi", ())))
    first = parts[0] if parts else Buffer(facts["base"], facts["offset"], facts["size"], facts["dtype"])
    return dataclasses.replace(first, parts=parts)


@dataclass(frozen=True)
class Variable:
  """A variable of a kernel, with the least and the largest value that it can have."""
  name: str
  least: int
  most: int


@dataclass(frozen=True)
class Program:
  """The launch facts of a kernel.

  name, function_name: without colors. global_size, local_size: work groups, and threads of a group, by axis. globals,
  outs, ins: numbers of the buffers, of those that it stores and that it loads. applied_opts: as tinygrad prints them.
  ops, lds, mem: tinygrad's estimates of operations, of bytes that loads and stores move, and of bytes of the buffers
  that the kernel touches. Sizes and estimates that depend on variables are texts.
  """
  name: str = ""
  function_name: str = ""
  global_size: tuple[int | str, ...] = ()
  local_size: tuple[int | str, ...] = ()
  variables: tuple[Variable, ...] = ()
  globals: tuple[int, ...] = ()
  outs: tuple[int, ...] = ()
  ins: tuple[int, ...] = ()
  applied_opts: str = "()"
  ops: int | str = 0
  lds: int | str = 0
  mem: int | str = 0

  @staticmethod
  def from_json(facts: JSON) -> Program:
    known: JSON = {key: facts[key] for key in ("name", "function_name", "applied_opts") if key in facts}
    known |= {key: tuple(map(number_or_text, facts[key] or ())) for key in ("global_size", "local_size", "globals", "outs", "ins") if key in facts}
    known |= {key: number_or_text(facts[key]) for key in ("ops", "lds", "mem") if key in facts}
    variables = tuple(Variable(str(name), *map(int, bounds)) for name, *bounds in facts.get("vars", ()) if len(bounds) == 2)
    return Program(**{**known, "name": without_colors(known.get("name", "")), "variables": variables})


@dataclass(frozen=True)
class Spills(Result):
  """Values that a kernel keeps in memory for want of registers. stored, loaded: amounts in `unit`, which is "bytes" or
  "instructions"."""
  stored: int = 0
  loaded: int = 0
  unit: str = ""


@dataclass(frozen=True)
class Occupancy(Result):
  """resident: waves (warps) that can run at a time on the part of a GPU that schedules them; most: the most that this
  part can hold; of: the unit of both, "wave" or "warp"; limiter: the resource that admits no more, or an empty text."""
  resident: int = 0
  most: int = 0
  of: str = ""
  limiter: str = ""


@dataclass(frozen=True)
class Resources(Result):
  """The resources of the device that a kernel needs; None: the compiler does not report the resource.

  estimate: whether the registers are an estimate. registers: of a thread; scalar_registers: of a wave, on AMD GPUs.
  spills: on NVIDIA GPUs and CPUs. spilled_vector_registers, spilled_scalar_registers: on AMD GPUs. shared_bytes: bytes
  of a work group; scratch_bytes: bytes of a thread or, on CPUs, of the stack frame; code_bytes: bytes of machine code.
  vector_bits: width of the widest vector on CPUs, 0 for scalar code. threads: threads of a work group.
  """
  kernel: str = ""
  estimate: bool = False
  registers: int | None = None
  scalar_registers: int | None = None
  spills: Spills | None = field(default=None, metadata={"convert": Spills.from_json})
  spilled_vector_registers: int | None = None
  spilled_scalar_registers: int | None = None
  shared_bytes: int | None = None
  scratch_bytes: int | None = None
  code_bytes: int | None = None
  vector_bits: int | None = None
  threads: int | None = None
  occupancy: Occupancy | None = field(default=None, metadata={"convert": Occupancy.from_json})

  @property
  def compiler(self) -> str: return str(self.facts.get("from", ""))


@dataclass(frozen=True)
class Element(Result):
  """An element of an array that differs. index: its number in the flat array; actual, expected: values."""
  index: int = 0
  actual: float | int | bool | str = 0
  expected: float | int | bool | str = 0


@dataclass(frozen=True)
class ArrayComparison(Result):
  """An output of a kernel, compared with the reference.

  elements, different: numbers of elements, and of those that are wrong: beyond the tolerance, and not because of
  rounding or of what C leaves undefined. max_abs, max_rel, max_ulp: the largest absolute and relative difference and
  the largest in units in the last place, of elements that are finite on both sides. nan, nan_expected, inf,
  inf_expected: numbers of NaNs and infinities in the output and in the reference. first, worst: the elements that
  differ first and most.
  """
  name: str = ""
  dtype: str = ""
  shape: tuple[int, ...] = made_of(tuple, ())
  elements: int = 0
  different: int = 0
  max_abs: float = made_of(real, 0.0)
  max_rel: float = made_of(real, 0.0)
  max_ulp: float = made_of(real, 0.0)
  nan: int = 0
  nan_expected: int = 0
  inf: int = 0
  inf_expected: int = 0
  first: Element | None = field(default=None, metadata={"convert": Element.from_json})
  worst: Element | None = field(default=None, metadata={"convert": Element.from_json})


@dataclass(frozen=True)
class KernelRun(Result):
  """One kernel or schedule that was run and compared.

  result: "passed", "failed", "ran" (nothing was compared) or "trouble". arrays: the outputs. reference: what they were
  compared with. seed: that of the inputs that were drawn. error: why the run or the comparison failed. made_for: the
  Tensor methods and program lines. repeat: the command that repeats the run.
  """
  kernel: str = made_of(without_colors, "")
  device: str = ""
  result: str = "trouble"
  arrays: tuple[ArrayComparison, ...] = made_of(tuple_of(ArrayComparison.from_json), ())
  reference: str | None = None
  seed: int | None = None
  error: str | None = None
  made_for: str | None = None

  @classmethod
  def from_json(cls, facts: JSON) -> Self:  # the report of a schedule calls its name `model`
    return super().from_json({"kernel": facts.get("model", ""), **facts})

  @property
  def passed(self) -> bool: return self.result == "passed"
  @property
  def repeat(self) -> str | None: return self.facts.get("again")
  def __str__(self) -> str:
    wrong = [f"{a.name}: {a.different} of {a.elements} differ, max abs {a.max_abs:.3g}" for a in self.arrays if a.different]
    return visible(" ".join(filter(None, [self.kernel, self.device, self.result, self.error, "; ".join(wrong)])))


S = TypeVar("S", bound=Result)


@dataclass(frozen=True)
class Results(Sequence[S]):
  """Results of several kernels or schedules, in order."""
  results: tuple[S, ...]

  @overload
  def __getitem__(self, i: int) -> S: ...
  @overload
  def __getitem__(self, i: slice) -> Sequence[S]: ...
  def __getitem__(self, i: int | slice) -> S | Sequence[S]: return self.results[i]
  def __len__(self) -> int: return len(self.results)
  def __str__(self) -> str: return "\n".join(map(str, self.results))


@dataclass(frozen=True, repr=False)
class Run(Results[KernelRun]):
  """The results of tgc.run(), one per kernel or schedule. `passed` is true if there is a result and each
  passed; `failed` lists the results that did not pass."""
  @property
  def passed(self) -> bool: return bool(self.results) and all(r.passed for r in self.results)
  @property
  def failed(self) -> list[KernelRun]: return [r for r in self.results if not r.passed]
  def __repr__(self) -> str: return f"<Run: {len(self) - len(self.failed)} passed, {len(self.failed)} failed>"


@dataclass(frozen=True)
class NanStep(Result):
  """A step from the operation that made a NaN to the output. text: the operation with its numbers; operands: what they
  are; made_by: the line of the program."""
  text: str = ""
  operands: str = ""
  made_by: str = ""


@dataclass(frozen=True)
class OtherNan(Result):
  """Another NaN of the recording. kernel: the kernel that made it; is_earlier: it was made before the explained one;
  spread: how far it came; repeat: the command that explains it."""
  kernel: str = ""
  is_earlier: bool = False
  spread: str = ""

  @property
  def repeat(self) -> str | None: return self.facts.get("again")


@dataclass(frozen=True)
class NanFind(Result):
  """The operation that made a NaN of numbers. call: which call of the kernel; output: the element; bad, size: numbers
  of NaNs and of elements of that array; spread: how far the NaNs came; others: the recording's other NaNs; steps: the
  origin first; unexplained: why there are none; repeat: the command."""
  kernel: str = ""
  name: str = made_of(without_colors, "")
  call: str = ""
  output: str = ""
  bad: int = 0
  size: int = 0
  spread: str = ""
  others: tuple[OtherNan, ...] = made_of(tuple_of(OtherNan.from_json), ())
  steps: tuple[NanStep, ...] = made_of(tuple_of(NanStep.from_json), ())
  unexplained: str | None = None

  @property
  def repeat(self) -> str | None: return self.facts.get("again")
  def __str__(self) -> str:
    lines = [f"{self.kernel} {self.name}: {self.output} is not a number, {self.call}"]
    lines += [f"  {s.text}" + (f", where {s.operands}" if s.operands else "") + (f" ({s.made_by})" if s.made_by else "") for s in self.steps]
    return "\n".join(map(visible, [*lines, *([f"  not explained: {self.unexplained}"] if self.unexplained else [])]))


@dataclass(frozen=True)
class Bisection(Result):
  """The result of tgc.bisect().

  verdict: "same" if nothing is wrong, else what is: "rewrite", "renderer", "compiler", "schedule", ...; "known",
  "flaky" and "unresolved" name no culprit (lib/bisect/README.md). rule: the rule that is wrong, FILE:LINE of tinygrad
  or the name of a rule of tgc; None if no rule is known to be wrong. stage: the stage of the rewrite; rewrite: its
  number among the rewrites of that rule in that stage, from 1. before, after: both sides. witness: values for which the
  sides differ. confirmed: whether it is proven, or shown by a run, that the culprit is the cause; None for verdicts
  that cannot be confirmed. runs: number of runs of the kernel. seconds: time that the search took.
  """
  verdict: str = ""
  kernel: str = made_of(without_colors, "")
  device: str = ""
  stage: str | None = None
  rule: str | None = None
  rewrite: int | None = None
  before: str | None = None
  after: str | None = None
  witness: Mapping[str, Any] | None = made_of(values_of)
  confirmed: bool | None = None
  error: str | None = None
  runs: int = 0
  seconds: float = made_of(real, 0.0)

  @property
  def passed(self) -> bool: return self.verdict == "same"
  @property
  def repeat(self) -> str | None: return self.facts.get("again")
  def __str__(self) -> str: return "\n".join(visible(f"{key}: {value}") for key, value in self.facts.items() if key != "again")


@dataclass(frozen=True)
class RewriteProof(Result):
  """A rewrite that is refuted or unknown. rewrite: its number among those of its rule in its stage; counterexample:
  values for which the sides differ, if it is refuted; why: what the prover could not do; count: number of equal
  rewrites."""
  stage: str = ""
  rule: str = ""
  rewrite: int = 0
  counterexample: Mapping[str, Any] | None = made_of(values_of)
  before: str | None = None
  after: str | None = None
  why: str | None = None
  count: int = 1


@dataclass(frozen=True)
class Proof(Result):
  """The result of tgc.prove() for a kernel or a schedule.

  verdict: "proven", "sampled" (some rewrites are only equal at sample points), "refuted" or "unknown". floats: the
  sense in which floats are equal ("bit-exact", "but-nan", "finite", "rounding", "reals", "none"). rewrites: number of
  different rewrites, of which `proven` are proven and `sampled` equal at samples. seconds: time of the proofs.
  """
  verdict: str = "unknown"
  kernel: str = made_of(without_colors, "")
  floats: str = "none"
  rewrites: int = 0
  proven: int = 0
  sampled: int = 0
  refuted: tuple[RewriteProof, ...] = made_of(tuple_of(RewriteProof.from_json), ())
  unknown: tuple[RewriteProof, ...] = made_of(tuple_of(RewriteProof.from_json), ())
  error: str | None = None
  seconds: float = made_of(real, 0.0)

  @property
  def rule(self) -> str | None:
    """The rule of the first refuted rewrite; None if none is refuted."""
    return self.refuted[0].rule if self.refuted else None

  def __str__(self) -> str:
    lines = [f"{self.kernel}: {self.verdict}, floats {self.floats}, {self.proven} of {self.rewrites} rewrites proven, {self.sampled} sampled"]
    lines += [f"  refuted: {r.rule} in {r.stage}, rewrite {r.rewrite}: {r.counterexample}" for r in self.refuted]
    lines += [f"  unknown: {r.rule} in {r.stage}: {r.why}" for r in self.unknown]
    return "\n".join(map(visible, [*lines, *([f"  {self.error}"] if self.error else [])]))


@dataclass(frozen=True, repr=False)
class Proofs(Results[Proof]):
  """The proofs of tgc.prove(), one per kernel or schedule."""
  @property
  def verdict(self) -> str:
    """The weakest of the verdicts."""
    found = {p.verdict for p in self.results}
    return next((v for v in ("refuted", "unknown", "sampled", "proven") if v in found), "unknown")

  @property
  def proven(self) -> bool: return self.verdict == "proven"
  @property
  def rule(self) -> str | None:
    """The first rule that is refuted; None if none is."""
    return next((p.rule for p in self.results if p.rule), None)
  def __repr__(self) -> str: return f"<Proofs: {self.verdict}, {len(self)} proofs>"


@dataclass(frozen=True)
class DifferingRecord(Result):
  """A record that differs. id, id_b: its ids in both recordings; stage: the first that differs; rule: the rule that
  caused the difference, "A -> B" if B matched in place of A, or None if it is unknown; same_source: whether the source
  is the same nevertheless."""
  id: str = ""
  id_b: str = ""
  target: str | None = None
  name: str = made_of(without_colors, "")
  stage: str = ""
  rule: str | None = None
  same_source: bool | None = None


@dataclass(frozen=True)
class Finding(Result):
  """A mistake with a TinyJit: what it is, in which function, where, what happens then, and how to mend it."""
  what: str = ""
  function: str = ""
  where: str = ""
  happens: str = ""
  mend: str = ""

  def __str__(self) -> str: return visible(": ".join(filter(None, (self.where, self.what, self.happens, self.mend))))


@dataclass(frozen=True)
class Reason(Result):
  """Why a kernel is slow. weight: an estimate of how many times faster the kernel could be without it; opt: opts that
  address it; gain: how many times faster the kernel was with them, if that was measured."""
  reason: str = ""
  text: str = ""
  weight: float = made_of(real, 0.0)
  opt: str | None = None
  gain: float | None = made_of(real)


@dataclass(frozen=True)
class KernelTime(Result):
  """The time of a kernel, as tgc.bench() measured it.

  seconds, median: the least and the median time of a run, in seconds. runs: number of runs. flops, bytes: operations of
  the AST in a run, and bytes that it reads and writes, each at most the size of the buffer. gflops, gb_per_s: the rates
  at the least time, in 1e9 per second. peak_share: share of the device's peak, 1 for all of it; bound: what bounds the
  kernel.
  """
  kernel: str = made_of(without_colors, "")
  device: str = ""
  seconds: float = made_of(real, 0.0)
  median: float = made_of(real, 0.0)
  runs: int = 0
  flops: float = made_of(real, 0.0)
  bytes: float = made_of(real, 0.0)
  gflops: float = made_of(real, 0.0)
  gb_per_s: float = made_of(real, 0.0)
  peak_share: float | None = made_of(real)
  bound: str | None = None
  reasons: tuple[Reason, ...] = made_of(tuple_of(Reason.from_json), ())
  error: str | None = None

  def __str__(self) -> str:
    if self.error: return visible(f"{self.kernel} {self.device}: {self.error}")
    # a share above 1 means that the machine was busy while the peak was measured
    share = f", {self.peak_share:.0%} of peak {self.bound}" if self.peak_share is not None and self.peak_share <= 1 else ""
    return visible(f"{self.kernel} {self.device}: {self.seconds * 1e6:.1f} us, {self.gflops:.2f} GFLOPS, {self.gb_per_s:.2f} GB/s{share}")


@dataclass(frozen=True)
class ProfiledKernel(Result):
  """A kernel of a profile. seconds: time of all `count` runs; flops, bytes: operations and bytes of a run, if known."""
  id: int = 0
  name: str = made_of(without_colors, "")
  device: str = ""
  arch: str = ""
  count: int = 0
  seconds: float | None = made_of(real)
  flops: float | None = made_of(real)
  bytes: float | None = made_of(real)


@dataclass(frozen=True)
class Instruction(Result):
  """An instruction of a kernel in a hardware trace. pc: its address; hits: how often it was issued; cycles: sum of the
  times since the previous issue of its wave; stall: `cycles` without one for each issue."""
  kernel: str = made_of(without_colors, "")
  pc: int = 0
  asm: str = ""
  hits: int = 0
  cycles: int = 0
  stall: int = 0


@dataclass(frozen=True)
class Counter(Result):
  """A hardware counter of a kernel: the sum over all units of the GPU."""
  kernel: str = made_of(without_colors, "")
  counter: str = ""
  sum: float = made_of(real, 0.0)


@dataclass(frozen=True)
class Profile(Result):
  """A profile that tinygrad stored: times, traces and counters (`tgc profile`). emulated: whether an emulator made it.
  """
  file: str = ""
  release: str = ""
  emulated: bool = False
  kernels: tuple[ProfiledKernel, ...] = made_of(tuple_of(ProfiledKernel.from_json), ())
  instructions: tuple[Instruction, ...] = made_of(tuple_of(Instruction.from_json), ())
  counters: tuple[Counter, ...] = ()

  def __str__(self) -> str:
    rows = [f"  {k.name} {k.device}: {k.count} runs" + (f", {k.seconds * 1e6:.1f} us" if k.seconds is not None else "") for k in self.kernels]
    return "\n".join(map(visible, [f"profile of tinygrad {self.release}{', emulated' if self.emulated else ''}: {len(rows)} kernels", *rows]))
