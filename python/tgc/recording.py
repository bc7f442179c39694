"""Recordings of tinygrad: the kernels and schedules of a file that tgc.export wrote, as objects.

Objects read the file when a fact is asked for.
"""
from __future__ import annotations

import functools
import json
import os
import pathlib
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, overload

from tgc.export.golden import golden_lines, tagged_path
from tgc.nodes import expression, node_text, rule_text, without_colors
from tgc.process import JSON, TgcError, call, call_json, visible
from tgc.results import Buffer, Program, Resources

Path = str | os.PathLike[str]


@dataclass(frozen=True)
class Rewrite:
  """One application of a rule of tinygrad in a record.

  stage: name of the stage. rule: the rule's file and line in tinygrad, FILE:LINE. before, after: the node, and what
  took its place, one line each. depth: 0 for a rewrite of the stage itself, 1 or more for one that a rule made while it
  was tried.
  """
  stage: str
  rule: str
  before: str
  after: str
  depth: int
  record: Record = field(repr=False, compare=False)
  numbers: tuple[int, int] = field(repr=False, compare=False)

  @functools.cached_property
  def before_expression(self) -> str: return expression(self.record.facts["rewrites"]["nodes"], self.numbers[0])
  @functools.cached_property
  def after_expression(self) -> str: return expression(self.record.facts["rewrites"]["nodes"], self.numbers[1])

  @property
  def rule_text(self) -> str | None:
    """The text of the rule in the installed tinygrad; None if that is another release than the record's, or has no such
    place."""
    return rule_text(self.rule, self.record.producer)

  def __str__(self) -> str:
    return f"{visible(self.rule)} in {visible(self.stage)}: {self.before_expression} -> {self.after_expression}"


@dataclass(frozen=True)
class Call:
  """A step of a schedule: a kernel, or a copy between devices, which has no kernel.

  ast: the graph as it was recorded, JSON of nodes or tinygrad's text. buffers: those of data0, data1, ... metadata: the
  Tensor methods and program lines that the step was made for, as JSON."""
  kernel: Kernel | None
  ast: str
  buffers: tuple[Buffer, ...]
  metadata: tuple[JSON, ...]


class Stage:
  """The graph of a record after one stage of tinygrad. str() is the graph's text. `changed` is whether the stage
  changed the graph."""

  def __init__(self, record: Record, name: str, facts: JSON) -> None:
    self.record, self.name, self.facts = record, name, facts
    self.changed = not facts.get("same", False)

  @functools.cached_property
  def text(self) -> str: return call("dump", self.record.path, f"--stage={self.name}").stdout

  @property
  def nodes(self) -> list[JSON]:
    """The nodes of the graph, the root last: op, dtype, src (numbers of nodes), arg, tag. Raises TgcError for a graph
    that was recorded as text."""
    graph = next((stage.facts["ir"] for stage in reversed(self.before()) if "ir" in stage.facts), self.record.facts["ast"])
    if not graph.lstrip().startswith("{"): raise TgcError([f"{self.record.id} was recorded as text, without nodes; use text"])
    return list(json.loads(graph)["nodes"])

  def before(self) -> list[Stage]:
    stages = list(self.record.stages.values())
    return stages[:stages.index(self) + 1]

  def __str__(self) -> str: return self.text
  def __repr__(self) -> str: return f"<Stage {self.name!r} of {visible(self.record.id)}, {'changed' if self.changed else 'unchanged'}>"


def slug(name: str) -> str: return re.sub(r"[^a-z0-9_]+", "-", name.lower()).strip("-")


class Stages(Mapping[str, Stage]):
  """The stages of a record by name, in order. A key may also be a slug or an alias (`tgc stages`)."""

  def __init__(self, record: Record) -> None:
    self.record, self.list = record, [Stage(record, facts["name"], facts) for facts in record.facts.get("stages", ())]

  @functools.cached_property
  def aliases(self) -> dict[str, str]:
    known = call_json("stages", self.record.path)["stages"]
    return {key: s["name"] for s in known for key in (s["alias"], s["slug"], s["name"].lower()) if key}

  def __getitem__(self, key: str) -> Stage:
    names = {s.name: s for s in self.list}
    found = names.get(key) or next((s for s in self.list if slug(s.name) == slug(key)), None) or names.get(self.aliases.get(key.lower(), ""))
    if found is None: raise KeyError(f"{key!r} is no stage of {self.record.id}; its stages are {', '.join(names)}")
    return found

  def __iter__(self) -> Iterator[str]: return iter(s.name for s in self.list)
  def __len__(self) -> int: return len(self.list)
  def values(self) -> list[Stage]: return self.list  # type: ignore[override]
  def changed(self) -> list[Stage]: return [s for s in self.list if s.changed]


class Record:

  def __init__(self, recording: Recording, level: str, number: int, listed: JSON) -> None:
    self.recording, self.level, self.number, self.listed = recording, level, number, listed
    self.id: str = listed["id"]

  @functools.cached_property
  def facts(self) -> JSON:
    """Everything that was recorded, as the JSON of the record."""
    return dict(json.loads(self.recording.line(self.level, self.number)))

  @functools.cached_property
  def path(self) -> str:
    """The record as an INPUT of tgc's commands."""
    file = self.recording.file(self.level)
    if self.recording.ids(self.level).count(self.id) == 1: return f"{file}#{self.id}"
    alone = self.recording.scratch() / f"{self.level}.{self.number}.jsonl"  # the id is that of several records
    alone.write_text(f"{self.recording.line(self.level, -1)}\n{self.recording.line(self.level, self.number)}\n")
    return str(alone)

  @property
  def producer(self) -> str:
    """The tinygrad that made the record, such as "tinygrad 0.14.0"."""
    return self.recording.producer
  @property
  def nodes(self) -> int: return int(self.listed["nodes"])
  @property
  def name(self) -> str: return without_colors(str(self.listed.get("what") or self.id))
  @property
  def made_for(self) -> str:
    """The Tensor methods and the program lines that the record was made for."""
    return str(self.listed.get("made_for") or "")
  @property
  def ast(self) -> str: return call("dump", self.path, "--stage=ast").stdout
  @functools.cached_property
  def stages(self) -> Stages: return Stages(self)
  @property
  def error(self) -> str | None:
    """The exception that tinygrad raised while it made the record; None if it raised none."""
    return self.facts.get("error")

  @functools.cached_property
  def rewrites(self) -> list[Rewrite]:
    """The rewrites that rules made, in order. Raises TgcError for a recording without rewrites."""
    if "rewrites" not in self.facts:
      if self.recording.has_rewrites: return []
      raise TgcError([f"{self.recording.path} has no rewrites; record it with rewrites=True, or `python -m tgc.export --rewrites`"])
    names, nodes = list(self.stages), [node_text(i, n) for i, n in enumerate(self.facts["rewrites"]["nodes"])]
    return [Rewrite(names[stage] if stage < len(names) else "", rule, nodes[before], nodes[after], next(iter(depth), 0),
                    self, (before, after)) for stage, rule, before, after, *depth in self.facts["rewrites"]["list"]]

  def _repr_html_(self) -> str:
    from tgc.page import view
    return view(self)._repr_html_()

  def __repr__(self) -> str: return visible(f"<{type(self).__name__} {self.id}: {self.name}>")

  def summary(self) -> list[str]:
    changed = len(self.stages.changed())
    rewrites = self.facts.get("rewrites", {}).get("list")
    counts = [f"{self.nodes} nodes", f"{len(self.stages)} stages, {changed} changed"] + ([f"{len(rewrites)} rewrites"] if rewrites else [])
    lines = [f"{type(self).__name__.lower()} {self.id}: {self.name}, {', '.join(counts)}",
             *([f"made for {self.made_for}"] if self.made_for else []), *([f"error: {self.error}"] if self.error else [])]
    return [visible(line) for line in lines]


def printable_source(source: str) -> str:
  """Returns a source as it may be printed: with escapes as in visible(), and without workflow commands of CI jobs."""
  lines = [visible(line.expandtabs(2)) for line in source.split("\n")]
  return "\n".join(re.sub(r"^(\s*)(::|##)", lambda m: m[1] + " ".join(m[2]), line) for line in lines)


class Kernel(Record):

  @property
  def target(self) -> str: return str(self.listed["target"])
  @property
  def source(self) -> str | None:
    """The source of the kernel; None if tinygrad made none."""
    return self.facts.get("source")
  @property
  def linear(self) -> str | None: return self.facts.get("linear")
  @functools.cached_property
  def program(self) -> Program:
    """The launch facts: sizes, variables, buffers, opts, estimates."""
    return Program.from_json(self.facts.get("program") or {})
  @functools.cached_property
  def asm(self) -> str:
    """The assembly of the kernel, made by its compiler. Raises TgcError if there is none."""
    return call("dump", self.path, "--stage=asm").stdout
  @functools.cached_property
  def resources(self) -> Resources:
    """Registers, spills, memory, code size and occupancy, as the kernel's compiler reports them. Raises TgcError if it
    reports none.
    """
    found = [r for source in call_json("compile", self.path, "--resources")["sources"] for r in source.get("resources", ())]
    if not found: raise TgcError([f"the compiler of {self.target} reports no resources"])
    return Resources.from_json(found[0])

  def __str__(self) -> str:
    sizes = [f"{key} {list(size)}" for key in ("global_size", "local_size") if (size := getattr(self.program, key))]
    head = [*self.summary(), ", ".join([f"target {self.target}", *sizes])]
    return "\n".join([*map(visible, head), *(["", printable_source(self.source)] if self.source else [])])


class Schedule(Record):
  """A tensor graph, and the kernels that tinygrad made of it."""

  @functools.cached_property
  def calls(self) -> list[Call]:
    """The steps in order: kernels and copies, with their buffers."""
    return [Call(self.kernel_of(i, step), step["ast"], tuple(map(Buffer.from_json, step.get("bufs", ()))),
                 tuple(step.get("metadata") or ())) for i, step in enumerate(self.facts.get("kernels", ()))]

  @property
  def kernels(self) -> list[Kernel]:
    """The kernels in order. One that runs several times is listed as often."""
    return [c.kernel for c in self.calls if c.kernel]

  def kernel_of(self, number: int, step: JSON) -> Kernel | None:
    """Returns the kernel of a step; None for a copy. A kernel that was not compiled while it was recorded has only its
    AST.
    """
    known = next((k for k in self.recording.all_kernels if k.id == step.get("id")), None)
    if known or '"op":"COPY"' in step["ast"] or "Ops.COPY" in step["ast"]: return known
    record = {"id": f"{self.id}.{number}", "target": self.facts.get("device", "CPU"), "nodes": step["ast"].count("\n"),
              "ast": step["ast"], "stages": []}
    header = json.loads(self.recording.line(self.level, -1)) | {"level": "kernel"}
    file = self.recording.scratch() / f"{self.level}.{self.number}.{number}.jsonl"
    file.write_text(f"{json.dumps(header)}\n{json.dumps(record)}\n")
    return Recording(file, self.recording.folder).all_kernels[0]

  def __str__(self) -> str:
    names = [", ".join(m["name"] for m in c.metadata) or ("kernel" if c.kernel else "copy") for c in self.calls]
    return "\n".join([*self.summary(), f"{len(self.kernels)} kernels", *(visible(f"  {i}: {name}") for i, name in enumerate(names))])


class Recording:
  """The kernels and schedules that a program compiled. `kernels` leaves out the kernels of tinygrad's own runtime;
  `all_kernels` has them."""

  def __init__(self, path: Path, folder: tempfile.TemporaryDirectory[str] | None = None) -> None:
    self.path, self.folder, self.open = pathlib.Path(path), folder, False  # open: the recording is still being made

  def file(self, level: str) -> pathlib.Path:
    """Returns the file of a level: kernel, tensor or jit. If the recording's own file is not that of the kernels, the
    files of other levels do not exist."""
    own = self.own_level
    return self.path if level == own else tagged_path(self.path, level) if own == "kernel" else self.path.parent / "none"

  @functools.cached_property
  def own_level(self) -> str:
    if not self.path.exists(): return "kernel"
    try: return str(json.loads(next(golden_lines(self.path)))["level"])
    except (StopIteration, ValueError, KeyError, OSError) as e: raise TgcError([f"{self.path} is no recording of tgc.export"]) from e

  def scratch(self) -> pathlib.Path:
    self.folder = self.folder or tempfile.TemporaryDirectory(prefix="tgc.")
    return pathlib.Path(self.folder.name)

  @functools.cached_property
  def lines(self) -> dict[str, list[str]]: return {}

  def line(self, level: str, number: int) -> str:
    """Returns the text of a record; of the header for number -1."""
    if level not in self.lines: self.lines[level] = list(golden_lines(self.file(level)))
    return self.lines[level][number + 1].rstrip("\n")

  @functools.cached_property
  def listings(self) -> dict[str, JSON]: return {}

  def listed(self, level: str) -> list[JSON]:
    """Returns what `tgc records` says of the records of a level. Raises TgcError while the recording is being made."""
    if self.open: raise TgcError(["the recording is not finished; leave the block of tgc.record() first"])
    if level not in self.listings:
      # the exit code is 2 if tinygrad refused a graph, whose record is listed nevertheless
      file = self.file(level)
      self.listings[level] = call_json("records", str(file), allowed=(0, 2)) if file.exists() else {"records": []}
    return list(self.listings[level]["records"])

  def ids(self, level: str) -> list[str]: return [r["id"] for r in self.listed(level)]

  @property
  def has_rewrites(self) -> bool:
    return any('"rewrites": {' in self.line(level, r) for level in ("kernel", "tensor") for r in range(len(self.listed(level))))

  @property
  def producer(self) -> str: return str(json.loads(self.line(self.own_level, -1))["producer"]) if self.path.exists() else ""

  @functools.cached_property
  def all_kernels(self) -> list[Kernel]: return [Kernel(self, "kernel", i, r) for i, r in enumerate(self.listed("kernel"))]
  @property
  def kernels(self) -> list[Kernel]: return [k for k in self.all_kernels if not k.listed.get("runtime")]
  @functools.cached_property
  def schedules(self) -> list[Schedule]: return [Schedule(self, "tensor", i, r) for i, r in enumerate(self.listed("tensor"))]

  @overload
  def __getitem__(self, wanted: int) -> Kernel: ...
  @overload
  def __getitem__(self, wanted: str) -> Kernel | Schedule: ...
  def __getitem__(self, wanted: int | str) -> Kernel | Schedule:
    """Returns a kernel by its number in `kernels`, or the kernel or schedule with an id or, if only one has it, a name.
    Raises IndexError or KeyError if there is none, and KeyError if several have the name."""
    if isinstance(wanted, int): return self.kernels[wanted]
    records: list[Kernel | Schedule] = [*self.all_kernels, *self.schedules]
    if found := next((r for r in records if r.id == wanted), None): return found
    named = [r for r in records if wanted in (r.name, getattr(getattr(r, "program", None), "function_name", None))]
    if len(named) == 1: return named[0]
    if named: raise KeyError(f"{wanted!r} is the name of {', '.join(r.id for r in named)}")
    raise KeyError(f"there is no record {wanted!r} in {self.path}")

  def __len__(self) -> int: return len(self.kernels)
  def __iter__(self) -> Iterator[Kernel]: return iter(self.kernels)
  def __bool__(self) -> bool: return True

  def save(self, path: Path) -> Recording:
    """Copies the files of kernels, schedules and jits to a path that ends with .jsonl or .jsonl.gz. Returns the copy.
    """
    to = Recording(path)
    for level in ("kernel", "tensor", "jit"):
      source, target = self.file(level), to.path if level == "kernel" else tagged_path(to.path, level)
      if not source.exists(): continue
      packed, wanted = source.suffix == ".gz", target.suffix == ".gz"
      target.write_bytes(source.read_bytes() if packed == wanted else repack_lines(source, wanted))
    return to

  def __repr__(self) -> str:
    if self.open: return "<Recording, not finished>"
    return visible(f"<Recording of {self.producer or 'nothing'}: {len(self.kernels)} kernels, {len(self.schedules)} schedules>")

  def __str__(self) -> str:
    return "\n".join([repr(self), *(visible(f"  {r.id:<12} {r.name:<24} {r.made_for}") for r in [*self.kernels, *self.schedules])])


def repack_lines(path: pathlib.Path, pack: bool) -> bytes:
  import gzip
  data = "".join(golden_lines(path)).encode()
  return gzip.compress(data) if pack else data


def load(path: Path) -> Recording:
  """Opens a recording that tgc.export, tgc.record() or the pytest plugin wrote. Raises TgcError if it is none."""
  if not pathlib.Path(path).exists(): raise TgcError([f"there is no file {path}"])
  recording = Recording(path)
  _ = recording.own_level
  return recording


Input = Any  # a Kernel, a Schedule, a Recording, a tensor of tinygrad, or the path of any INPUT of tgc


def recorded(x: Input) -> Input:
  """Returns a recording of the schedule and the kernels of a tensor, without running them; other objects as they are.
  """
  if (kind := type(x)).__name__ != "Tensor" or kind.__module__.split(".")[0] != "tinygrad": return x
  from tgc.capture import debug
  return debug(x).recording


def input_of(x: Input) -> str:
  """Returns the INPUT of tgc's commands for an object or a path."""
  if isinstance(x, Record): return x.path
  if isinstance(x, Recording):
    if not x.open and not x.path.exists(): raise TgcError(["the recording is empty: nothing was compiled"])
    return str(x.path)
  return os.fspath(x)
