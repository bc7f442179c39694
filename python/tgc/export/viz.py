"""Converts a trace that tinygrad's VIZ saved (rewrites.pkl) to golden records: `--viz FILE`.

For each rewrite the trace holds the graph it began with and every match of a rule, before and after; the resulting graph
is computed from these. A pickle can name any function or class, so the reader loads only the classes of the table CLASSES,
and puts inert objects in place of all others.
"""
from __future__ import annotations

import contextlib
import enum
import importlib
import pickle
import re
import types
from typing import Any

from tgc.export.golden import exit_with_error, print_message
from tgc.export.graph_recorder import QUERIES, print_graph
from tgc.export.graphs import Nodes, graph_text
from tgc.export.kinds import JSON, Node
from tgc.export.matches import rule_location
from tgc.export.records import RENDERER_NAMES

# The classes that a pickle may load, by module: nodes, enums, and dataclasses without a function among their values.
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
# Functions that the trace lists like rewrites and that contain stages of their own.
INNER = {"get_kernel_graph", "run_rangeify"}
CALLER = "schedule to linear"  # a stage whose rules call a function of INNER


class Inert:
  """Takes the place of an object whose class is not loaded."""
  args: tuple[Any, ...]

  def __new__(cls, *args: Any, **kwargs: Any) -> Inert:  # noqa: PYI034, typing.Self needs Python 3.11
    made = object.__new__(cls)
    made.args = args
    return made
  def __init__(self, *args: Any, **kwargs: Any) -> None: pass
  def __setstate__(self, state: Any) -> None: pass
  def __call__(self, *args: Any, **kwargs: Any) -> Inert: return self


def enum_member(kind: type, name: str) -> Any:
  """Takes the place of getattr, with which Python 3.11.2 stores the members of enums."""
  return kind[name] if issubclass(kind, enum.Enum) else Inert()


class TraceReader(pickle.Unpickler):
  def find_class(self, module: str, name: str) -> Any:
    if (module, name) == ("builtins", "getattr"): return enum_member
    kind = None
    if name in CLASSES.get(module, ()):
      with contextlib.suppress(ImportError): kind = getattr(importlib.import_module(module), name, None)
    return kind if isinstance(kind, type) else type(name, (Inert,), {})


class Trace:
  def __init__(self, path: str) -> None:
    try:
      with open(path, "rb") as file: trace = TraceReader(file).load()
    except OSError as e: exit_with_error(f"{path}: {e.strerror}")
    except Exception as e: exit_with_error(f"{path} is not a VIZ trace that this release of tinygrad can read: {e}")
    if isinstance(trace, tuple) and len(trace) == 3:  # 0.11 has no class RewriteTrace
      trace = types.SimpleNamespace(keys=trace[0], rewrites=trace[1], uop_fields=trace[2])
    if not all(hasattr(trace, name) for name in ("keys", "rewrites", "uop_fields")):
      exit_with_error(f"{path} is not a VIZ trace")
    self.groups, self.fields = list(zip(trace.keys, trace.rewrites)), trace.uop_fields
    self.made: dict[int, Node] = {}

  def node(self, number: int) -> Node:
    """Returns the node of a number, after making its sources."""
    from tinygrad.uop.ops import UOp
    stack = [number]
    while stack:
      n = stack[-1]
      op, dtype, src, arg, tag = self.fields[n][:5]
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
  """Returns (rewrite, rewrites) of each stage in the order in which the stages ended. The list holds the stage's rewrite
  and the rewrites inside it that belong to no earlier stage."""
  least = group[0].depth
  running: list[tuple[Any, bool]] = []  # outermost first
  pending: list[Any] = []
  out: list[tuple[Any, list[Any]]] = []
  def end(rewrite: Any, is_stage: bool) -> None:
    if not is_stage: return
    first = next(i for i, r in enumerate(pending) if r is rewrite)
    out.append((rewrite, pending[first:]))
    del pending[first:]
  for rewrite in group:
    if rewrite.depth < least: break  # belongs to the caller
    while running and running[-1][0].depth >= rewrite.depth: end(*running.pop())
    is_outermost = all(r.name in INNER for r, _ in running if r.name != CALLER)
    is_named = rewrite.name and rewrite.name not in QUERIES | INNER | {"graph_rewrite"} and not rewrite.name.startswith("View")
    running.append((rewrite, is_outermost and is_named))
    pending.append(rewrite)
  while running: end(*running.pop())
  return out


class Converter:
  def __init__(self, recorder: Any, name: str) -> None: self.recorder, self.name, self.counts = recorder, name, {"kernel": 0, "tensor": 0}

  def convert(self, path: str) -> Any:
    trace = Trace(path)
    for key, group in trace.groups:
      if not group: continue
      try: self.group(trace, key, group)
      except Exception: self.recorder.report_failure(f"record of '{key.display_name}'")
    return self.counts

  def group(self, trace: Trace, key: Any, group: list[Any]) -> None:
    stages, matches = stages_of(group), Matches(trace)
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
      if self.recorder.letters and graph is not last: made[-1]["letters"] = print_graph(graph)
      last = graph
    record |= {"stages": made, "rewrites": matches.json()} | ({} if is_kernel else {"kernels": []})
    self.counts[level] += 1
    self.recorder.write(level, record, {})

  def program(self, trace: Trace, ret: Any, group: list[Any]) -> JSON:
    """Returns source and launch facts of a ProgramSpec, or of the last PROGRAM that a rewrite began with or made."""
    if hasattr(ret, "src"):
      with contextlib.suppress(Exception): return dict(self.recorder.program_of(ret))
    for rewrite in reversed(group):
      for root in (trace.result(rewrite), trace.node(rewrite.sink)):
        if root.op.name == "PROGRAM" and any(s.op.name == "SOURCE" for s in root.src):
          with contextlib.suppress(Exception): return dict(self.recorder.program_of(root))
    return {}


class Matches:
  def __init__(self, trace: Trace) -> None:
    self.trace, self.nodes = trace, Nodes()
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


def convert(path: str, recorder: Any, name: str) -> Any:
  """Writes the records of the trace at `path`. Returns True if there were any."""
  counts = Converter(recorder, name).convert(path)
  if not any(counts.values()): print_message(f"{path}: no rewrite was tracked; record it with VIZ=1 or TRACK_MATCH_STATS=2")
  elif not counts["kernel"]:
    print_message(f"{path}: no kernel is in the trace; tinygrad compiled the kernels in other processes: record it with "
                  "PARALLEL=0")
  return any(counts.values())
