"""Converts a trace that tinygrad's VIZ saved (rewrites.pkl) to golden records: `--viz FILE`.

For a rewrite the trace holds the graph it began with and the matches of rules; the resulting graph is computed from
these. A pickle can name, call and change any function or object, so it is read into plain records. Objects of tinygrad
are made from these afterwards, if their classes are in CLASSES.
"""
from __future__ import annotations

import contextlib
import dataclasses
import enum
import importlib
import os
import pickle
import re
from typing import Any

from tgc.export.golden import exit_with_error, print_message
from tgc.export.graph_recorder import print_graph
from tgc.export.graph_text import cap_spec
from tgc.export.graphs import NodeCollector, graph_text
from tgc.export.kinds import JSON, Node
from tgc.export.matches import rule_location
from tgc.export.names import QUERIES, RENDERER_NAMES

# By module, the classes whose objects are made from records.
CLASSES = {
  "tinygrad.uop": {"Ops"},
  "tinygrad.uop.ops": {"AxisType", "CallInfo", "Kernel", "KernelInfo", "ParamArg", "ProgramInfo", "RewriteTrace",
                       "TrackedGraphRewrite", "UOp"},
  "tinygrad.dtype": {"AddrSpace", "ConstFloat", "DType", "ImageDType", "InvalidType", "PtrDType"},
  "tinygrad.codegen.opt": {"Opt", "OptOps"},
  "tinygrad.schedule.indexing": {"BufferizeOpts"}, "tinygrad.schedule.rangeify": {"BufferizeOpts"},
  "tinygrad.schedule.kernelize": {"Kernel"}, "tinygrad.shape.shapetracker": {"ShapeTracker"}, "tinygrad.shape.view": {"View"},
  "tinygrad.helpers": {"Metadata", "Target", "TracingKey"}, "tinygrad.renderer": {"Estimates", "ProgramSpec"},
}
# Names that a pickle calls to make an object, to which it gives no state.
STATELESS = {"Ops", "AxisType", "UOp", "AddrSpace", "DType", "ImageDType", "InvalidType", "PtrDType", "OptOps", "getattr"}
MOST_VALUES = 1 << 24  # values to which a value of the trace may expand, shared values counted each time
# Functions that the trace lists like rewrites and that contain stages of their own.
INNER = {"get_kernel_graph", "run_rangeify"}
CALLER = "schedule to linear"


class PickledObject:
  """What a pickle would make of a class: the class's arguments and its state. Nothing can be set but the state, once:
  no object of tinygrad is made or changed while a pickle is read."""
  __slots__ = ("args", "state")
  module = name = ""
  args: tuple[Any, ...]
  state: Any

  def __new__(cls, *args: Any, **_: Any) -> PickledObject:  # noqa: PYI034, typing.Self needs Python 3.11
    made = object.__new__(cls)
    object.__setattr__(made, "args", args)
    object.__setattr__(made, "state", None)
    return made
  def __init__(self, *args: Any, **kwargs: Any) -> None: pass
  def __setattr__(self, name: str, value: Any) -> None: raise pickle.UnpicklingError(f"it sets '{name}' of a {self.name}")
  def __setstate__(self, state: Any) -> None:
    if self.state is not None or self.name in STATELESS:
      raise pickle.UnpicklingError(f"it changes a {self.name} that has its values")
    object.__setattr__(self, "state", state)


class TraceReader(pickle.Unpickler):
  def find_class(self, module: str, name: str) -> Any:
    return type(name, (PickledObject,), {"__slots__": (), "module": module, "name": name})


class InertObject:
  """Takes the place of a class, or of an object whose class is not in CLASSES."""
  def __init__(self, args: tuple[Any, ...]) -> None: self.args = args


class ObjectBuilder:
  """Makes tinygrad's objects from the records of a pickle, each by its class's constructor or, as pickle does for a
  dataclass, from the values of its fields. Never changes objects that exist already."""
  def __init__(self) -> None:
    self.made: dict[int, tuple[Any, int]] = {}  # by id: the object, and the number of values that it expands to
    self.kinds: dict[tuple[str, str], Any] = {}

  def build(self, value: Any) -> Any:
    built, size = self.sized(value)
    self.check_size(size)
    return built

  def check_size(self, size: int) -> None:
    if size > MOST_VALUES: raise ValueError(f"a value expands to more than {MOST_VALUES} values")

  def sized(self, value: Any) -> tuple[Any, int]:
    if isinstance(value, (PickledObject, tuple, list, dict, set, frozenset)):
      if id(value) not in self.made: self.made[id(value)] = self.make_object(value)
      return self.made[id(value)]
    if isinstance(value, type): return InertObject(()), 1
    return value, 1

  def make_object(self, value: Any) -> tuple[Any, int]:
    self.made[id(value)] = (None, MOST_VALUES + 1)  # too large until it is made: refuses a value that contains itself
    if isinstance(value, dict):
      keys, values = self.build_all(value), self.build_all(value.values())
      return dict(zip(keys[0], values[0])), keys[1] + values[1]
    if not isinstance(value, PickledObject):
      items, size = self.build_all(value)
      return type(value)(items), size
    args, size = self.build_all(value.args)
    state = self.state_of(value)
    built, more = self.build_all(state.values())
    if value.name == "UOp":  # count a node as one value, because graphs are visited node by node
      self.check_size(size)
      size = 1
    return self.object_of(value, args, dict(zip(state, built))), size + more

  def build_all(self, values: Any) -> tuple[list[Any], int]:
    sized = [self.sized(v) for v in values]
    return [built for built, _ in sized], 1 + sum(size for _, size in sized)

  def state_of(self, record: PickledObject) -> dict[str, Any]:
    state = record.state
    if isinstance(state, tuple) and len(state) == 2: state = {**(state[0] or {}), **(state[1] or {})}  # a class with slots has the state (dict, slots)
    if isinstance(state, list) and dataclasses.is_dataclass(kind := self.kind(record.module, record.name)):
      state = {f.name: v for f, v in zip(dataclasses.fields(kind), state)}
    return state if isinstance(state, dict) else {}

  def kind(self, module: str, name: str) -> Any:
    if (module, name) not in self.kinds:
      found = None
      if name in CLASSES.get(module, ()):
        with contextlib.suppress(ImportError): found = getattr(importlib.import_module(module), name, None)
      self.kinds[module, name] = found if isinstance(found, type) else type(name, (InertObject,), {})
    return self.kinds[module, name]

  def object_of(self, record: PickledObject, args: list[Any], state: dict[str, Any]) -> Any:
    if (record.module, record.name) == ("builtins", "getattr"):  # Python 3.11.2 pickles enum members by getattr
      owner = record.args[0] if len(record.args) == 2 else None
      kind = self.kind(owner.module, owner.name) if isinstance(owner, type) and issubclass(owner, PickledObject) else None
      return kind[args[1]] if isinstance(kind, type) and issubclass(kind, enum.Enum) else InertObject(())
    kind = self.kind(record.module, record.name)
    if issubclass(kind, InertObject): return kind(tuple(args))
    if record.name == "UOp": return kind(*args[:5])
    if args or not dataclasses.is_dataclass(kind): return kind(*args)
    assert isinstance(kind, type)
    made = object.__new__(kind)
    for field in dataclasses.fields(kind):
      if field.name in state: object.__setattr__(made, field.name, state[field.name])
    return made


@contextlib.contextmanager
def limited_memory(size: int) -> Any:
  """Limits this process's memory by the size of a pickle."""
  try:
    import resource
  except ImportError:
    return (yield)
  before = resource.getrlimit(resource.RLIMIT_DATA)
  most = (2 << 30) + 64 * size
  if before[1] != resource.RLIM_INFINITY: most = min(most, before[1])
  resource.setrlimit(resource.RLIMIT_DATA, (most, before[1]))
  try: yield
  finally: resource.setrlimit(resource.RLIMIT_DATA, before)


class PickledTrace:
  def __init__(self, path: str) -> None:
    cap_spec()
    builder = ObjectBuilder()
    self.build = builder.build
    try:
      with open(path, "rb") as file, limited_memory(os.fstat(file.fileno()).st_size): trace = TraceReader(file).load()
    except OSError as e: exit_with_error(f"{path}: {e.strerror}")
    except Exception as e: exit_with_error(f"{path} is not a VIZ trace that this release of tinygrad can read: {e}")
    # 0.11 has no class RewriteTrace
    parts = dict(zip(("keys", "rewrites", "uop_fields"), trace if isinstance(trace, tuple) else getattr(trace, "args", ())))
    if isinstance(trace, PickledObject): parts |= builder.state_of(trace)
    keys, rewrites, fields = (parts.get(name) for name in ("keys", "rewrites", "uop_fields"))
    if not (isinstance(keys, list) and isinstance(rewrites, list) and isinstance(fields, dict)):
      exit_with_error(f"{path} is not a VIZ trace")
    self.fields: dict[int, Any] = fields
    self.groups = list(zip(keys, rewrites))
    self.made: dict[int, Node] = {}

  def node(self, number: int) -> Node:
    from tinygrad.uop.ops import UOp
    stack = [number]
    while stack:
      n = stack[-1]
      op, dtype, src, arg, tag = self.build(self.fields[n])[:5]
      inside = getattr(arg, "ast", None) if op.name == "KERNEL" else None
      missing = [s for s in (*src, *([inside] if isinstance(inside, int) else [])) if s not in self.made]
      stack.extend(missing)
      if missing: continue
      stack.pop()
      if isinstance(inside, int): arg = type(arg)(self.made[inside], arg.metadata)
      if n not in self.made: self.made[n] = UOp(op, dtype, tuple(self.made[s] for s in src), arg, tag)
    return self.made[number]

  def result(self, rewrite: Any) -> Node:
    """Returns the graph after a rewrite: runs graph_rewrite again with the recorded matches as its only rules."""
    from tinygrad.uop import GroupOp
    from tinygrad.uop.ops import PatternMatcher, UPat, graph_rewrite
    sink = self.node(rewrite.sink)
    became = {self.node(before): self.node(after) for before, after, *_ in rewrite.matches}
    if not became: return sink
    rules = PatternMatcher([(UPat(GroupOp.All, name="x"), lambda ctx, x: ctx.get(x))])
    made: Node = graph_rewrite(sink, rules, became, bottom_up=rewrite.bottom_up)
    return made


def stages_of(group: list[Any]) -> list[tuple[Any, list[Any]]]:
  """Returns (rewrite, rewrites) of the stages in the order in which they ended. The list holds the stage's rewrite and
  the rewrites inside it that belong to no earlier stage."""
  least = group[0].depth
  running: list[tuple[Any, bool]] = []
  pending: list[Any] = []
  out: list[tuple[Any, list[Any]]] = []
  def end(rewrite: Any, is_stage: bool) -> None:
    if not is_stage: return
    first = next(i for i, r in enumerate(pending) if r is rewrite)
    out.append((rewrite, pending[first:]))
    del pending[first:]
  for rewrite in group:
    if rewrite.depth < least: break
    while running and running[-1][0].depth >= rewrite.depth: end(*running.pop())
    is_outermost = all(r.name in INNER for r, _ in running if r.name != CALLER)
    is_named = rewrite.name and rewrite.name not in QUERIES | INNER | {"graph_rewrite"} and not rewrite.name.startswith("View")
    running.append((rewrite, is_outermost and is_named))
    pending.append(rewrite)
  while running: end(*running.pop())
  return out


class TraceConverter:
  def __init__(self, recorder: Any, name: str) -> None: self.recorder, self.name, self.counts = recorder, name, {"kernel": 0, "tensor": 0}

  def convert(self, path: str) -> Any:
    trace = PickledTrace(path)
    for key, group in trace.groups:
      if not group: continue
      name = "?"
      try:
        key = trace.build(key)
        name = key.display_name
        self.group(trace, key, trace.build(group))
      except Exception: self.recorder.report_failure(f"record of '{name}'")
    return self.counts

  def group(self, trace: PickledTrace, key: Any, group: list[Any]) -> None:
    stages, matches = stages_of(group), MatchCollector(trace)
    made: list[JSON] = []
    if not stages: return
    ast = last = trace.node(group[0].sink)
    is_kernel = key.ret is not None
    level = "kernel" if is_kernel else "tensor"
    record = {"id": f"{self.name}.{self.counts[level]}", **({"target": target_of(key.ret)} if is_kernel else
              {"what": re.sub(r" n\d+$", "", key.display_name), "device": self.recorder.device_of(ast)}),
              "nodes": len(ast.toposort()), "ast": graph_text(ast, self.recorder.producer)}
    if is_kernel: record |= self.program(trace, key.ret, group)
    for rewrite, ran in stages:
      graph = trace.result(rewrite)
      for r in ran: matches.add(len(made), r)
      made.append({"name": rewrite.name} | ({"same": True} if graph is last else
                                            {"ir": graph_text(graph, self.recorder.producer)}))
      if self.recorder.records_pyrender and graph is not last: made[-1]["letters"] = print_graph(graph)
      last = graph
    record |= {"stages": made, "rewrites": matches.json()} | ({} if is_kernel else {"kernels": []})
    self.counts[level] += 1
    self.recorder.write(level, record, {})

  def program(self, trace: PickledTrace, ret: Any, group: list[Any]) -> JSON:
    """Returns source, listing and launch facts of a ProgramSpec, or of the last PROGRAM that a rewrite began with or
    made; {} if there is none.
    """
    if hasattr(ret, "src"):
      with contextlib.suppress(Exception): return dict(self.recorder.program_of(ret))
    for rewrite in reversed(group):
      for root in (trace.result(rewrite), trace.node(rewrite.sink)):
        if root.op.name == "PROGRAM" and any(s.op.name == "SOURCE" for s in root.src):
          with contextlib.suppress(Exception): return dict(self.recorder.program_of(root))
    return {}


class MatchCollector:
  def __init__(self, trace: PickledTrace) -> None:
    self.trace, self.nodes = trace, NodeCollector()
    self.list: list[Any] = []

  def add(self, stage: int, rewrite: Any) -> None:
    for before, after, location, *_ in rewrite.matches:
      rule = type("Rule", (), {"location": location})
      self.list.append([stage, rule_location(rule), *(self.nodes.add(self.trace.node(n)) for n in (before, after))])

  def json(self) -> JSON: return {"nodes": self.nodes.lines, "list": self.list}


def target_of(ret: Any) -> str:
  """Returns DEVICE:RENDERER[:ARCH] of a kernel from its ProgramSpec, or from the renderer and its arguments."""
  targets = [a for a in getattr(ret, "args", ()) if type(a).__name__ == "Target"]
  device = targets[0].device if targets else getattr(ret, "device", "CPU")
  renderer, arch = RENDERER_NAMES.get(type(ret).__name__, ""), targets[0].arch if targets and device != "CPU" else ""
  return ":".join(part for part in (device.split(":")[0], renderer or "CLANG" * (device == "CPU"), arch) if part)


def convert_trace(path: str, recorder: Any, name: str) -> Any:
  """Writes the records of the trace at `path`. Returns True if there were any."""
  counts = TraceConverter(recorder, name).convert(path)
  if not any(counts.values()): print_message(f"{path}: no rewrite was tracked; record it with VIZ=1 or TRACK_MATCH_STATS=2")
  elif not counts["kernel"]:
    print_message(f"{path}: no kernel is in the trace; tinygrad compiled the kernels in other processes: record it with "
                  "PARALLEL=0")
  return any(counts.values())
