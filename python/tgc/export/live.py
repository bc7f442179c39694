"""Answers the questions of a live pipeline (`tgc ... --live`): the record that the exporter would write of a graph.

{"about": true} asks for the release and its settings. {"live": true, ...} asks for a record (lib/live/README.md):
  "model"      an ONNX file: run it on zeros, and answer with the records of its kernels; "sizes": symbolic dimensions
  "rewrites"   record the matches of rules
  "opts"       opts that tinygrad applies to the kernel in place of its own, as text
  "leave_out"  {"place": rule's file and line, "n": N, "stage": index}: compile without the N-th match of the rule
tinygrad's caches change how often a rule matches, so questions with "rewrites" or "leave_out" are answered in child
processes; the others are answered in this process, whose caches serve all kernels.
"""
from __future__ import annotations

import ast
import contextlib
import dataclasses
import gc
import importlib
import os
import pathlib
import re
import shutil
import stat
from collections.abc import Iterator
from typing import Any

from tinygrad import helpers
from tinygrad.uop.ops import PatternMatcher

from tgc.export.golden import SETTINGS
from tgc.export.graph_reader import parse_nodes
from tgc.export.graph_recorder import GraphRecorder
from tgc.export.graph_text import cap_spec
from tgc.export.hooks import replaced_attribute
from tgc.export.kinds import JSON, Node, Settings
from tgc.export.matches import rewrite_with_callback
from tgc.export.names import DEFAULTS, SCHEDULES

COLLECT_AFTER = 64  # kernels between two garbage collections; live_recorder() turns automatic ones off


class MatchFilter:
  """Leaves one match of a rule out: the N-th in a stage (of the kernel, if `stage` is None), and each later match of
  the same rule and node in that stage."""

  def __init__(self, recorder: Any, place: str, n: int, stage: int | None = None) -> None:
    self.recorder, self.place, self.n, self.stage = recorder, place, n, stage
    self.counts: dict[int, int] = {}
    self.left_out: tuple[int, Node] | None = None

  def declines(self, place: str, before: Node) -> bool:
    scope = self.recorder.scope()
    if scope is None or place != self.place: return False
    stage = len(scope.stages)
    if self.left_out is not None: return self.left_out[0] == stage and self.left_out[1] is before
    if self.stage is not None and stage != self.stage: return False
    self.counts[stage] = self.counts.get(stage, 0) + 1
    if (self.counts[stage] if self.stage is not None else sum(self.counts.values())) != self.n: return False
    self.left_out = stage, before
    return True


class LiveRecorder(GraphRecorder):

  def __init__(self, version: str) -> None:
    super().__init__({"output": "answers.jsonl", "targets": [], "id": "answer", "save_inputs": False, "version": version})
    self.last: JSON | None = None
    self.kernels: list[JSON] = []

  def write(self, level: str, record: JSON, settings: Settings, metadata: Any = None) -> None:
    self.last = record | ({"settings": settings} if settings else {}) | ({"metadata": metadata} if metadata else {})
    if level == "kernel" and not record.get("runtime"): self.kernels.append(self.last)

  def release_facts(self) -> JSON: return {"producer": self.producer, "settings": sorted(self.allowed_settings())}

  def allowed_settings(self) -> set[str]:
    known: JSON = helpers.ContextVar._cache
    return {k for k, v in self.context_vars().items() if isinstance(v.value, (int, str))} | known.keys() & {*SETTINGS, "SPEC"}

  def values_of(self, settings: JSON) -> JSON:
    """Returns a question's settings with typed values. Raises ValueError for an unknown name or a wrong value."""
    out = {}
    for name, text in settings.items():
      if name not in self.allowed_settings(): raise ValueError(f"{self.producer} has no setting {name}")
      is_text = isinstance(helpers.ContextVar._cache[name].value, str)
      if not re.fullmatch(r"[\w,]*" if is_text else r"-?\d{1,18}", text, re.ASCII): raise ValueError(f"'{text}' is no value of {name}")
      out[name] = text if is_text else int(text)
    # with SPEC > 1, tinygrad runs the texts of graphs as programs; with DEBUG_RANGEIFY, it prints graphs
    most = {"SPEC": 1, "DEBUG_RANGEIFY": 0}
    return {name: min(value, most.get(name, value)) for name, value in out.items()}

  def record_of(self, question: JSON) -> JSON:
    sink, self.last = parse_nodes(question["graph"])[-1], None
    if "opts" in question: sink = with_opts(sink, question["opts"])
    skipped = question.get("leave_out")
    matches = MatchFilter(self, skipped["place"], int(skipped["n"]), skipped.get("stage")) if skipped else None
    with contextlib.ExitStack() as stack:
      stack.enter_context(helpers.Context(**self.values_of(question.get("settings", {}))))
      if "SCACHE" in helpers.ContextVar._cache: stack.enter_context(helpers.Context(SCACHE=0))  # a cached schedule has no stages
      if question.get("rewrites") or matches:
        on_match = self.add_match if question.get("rewrites") else lambda *match: None
        rewrite = rewrite_with_callback(on_match, matches.declines if matches else None, self.rule_times)
        stack.enter_context(replaced_attribute(PatternMatcher, "rewrite", rewrite))
      if question.get("level") == "tensor":
        self.replay_schedule(question["id"], self.schedule_function(sink), sink, {})
      else:
        target = whole_target(question["target"])
        self.renderer_of(target)  # exits for an unknown target
        self.replay_kernel(question["id"], target, sink, {}, None)
    if self.last is None: raise ValueError("tinygrad made no record of the graph")
    if matches and matches.left_out is None: raise ValueError(f"there is no match {skipped['n']} of the rule {skipped['place']}")
    return self.last

  def schedule_function(self, sink: Node) -> str:
    """Returns the name of the function that makes kernels of a tensor graph. Since 0.13 tinygrad calls two: one turns
    the graph into a CALL, one schedules the CALL; for a graph that is no CALL yet, "realize" calls both."""
    import tinygrad.tensor  # noqa: F401, watches its functions
    first, *rest = dict.fromkeys(name for _, name in SCHEDULES if name in self.functions)
    if first != "transform_to_call": return first
    second = self.functions[rest[0]]
    if sink.op.name == "CALL": return rest[0]
    self.functions["realize"] = lambda graph: second(self.functions[first](graph)[0])
    return "realize"

  def record_of_native(self, question: JSON) -> JSON:
    """Answers a question that has the settings of 0.12.0: leaves out those that this release does not have."""
    known = {k: v for k, v in question["settings"].items() if k in self.allowed_settings()}
    return self.record_of({**question, "settings": known, "rewrites": "texts" in question})

  def records_of_model(self, question: JSON) -> list[JSON]:
    """Runs an ONNX model on zeros with tinygrad's own frontend and scheduler. Returns its kernels' records. "sizes" are
    the symbolic dimensions by name; the default is 1."""
    from tinygrad import Tensor
    from tinygrad.nn.onnx import OnnxRunner
    for known in (self.recorded, self.kernel_ids, self.kernels): known.clear()
    sizes, self.prefix = question.get("sizes", {}), question["id"]
    with helpers.Context(**self.values_of(question.get("settings", {}))), private_files_of(question["model"]):
      model, inputs = OnnxRunner(question["model"]), {}
      for name, kind in model.graph_inputs.items():
        if kind.is_sequence or kind.is_optional: raise ValueError(f"the model's input '{name}' is no tensor")
        shape = [d if isinstance(d, int) else int(sizes.get(d, 1)) for d in kind.shape]
        inputs[name] = Tensor.zeros(*shape, dtype=kind.dtype).contiguous().realize()
      outputs = [v for v in model(inputs).values() if isinstance(v, Tensor)]
      for known in (self.kernels, self.kernel_ids): known.clear()
      Tensor.realize(*outputs)
    return [*self.kernels]

  def prepare(self, question: JSON) -> None:
    self.renderer_of(whole_target(question["target"]))

  def answer(self, question: JSON) -> JSON:
    if "about" in question: return self.release_facts()
    if "model" in question: return {"records": self.records_of_model(question)}
    if len(self.kernel_ids) >= COLLECT_AFTER:
      for known in (self.kernel_ids, self.metadata): known.clear()
      gc.collect()
    return {"record": self.record_of(question)}


def with_opts(sink: Node, text: str) -> Node:
  """Returns the kernel with opts_to_apply: "[Opt(op=OptOps.UPCAST, axis=0, arg=4)]". Raises ValueError for malformed
  text.
  """
  from tinygrad.codegen.opt import Opt, OptOps
  from tinygrad.uop.ops import KernelInfo
  number = r"-?\d+|None"
  one = rf"Opt\((?:op=)?OptOps\.(\w+), (?:axis=)?({number}), (?:arg=)?({number}|\((?:{number})(?:, (?:{number}))*,?\))\)"
  if not re.fullmatch(rf"\[(?:{one}(?:, |(?=\])))*\]", text): raise ValueError(f"'{text}' is no list of opts")
  opts = tuple(Opt(OptOps[op], ast.literal_eval(axis), ast.literal_eval(arg)) for op, axis, arg in re.findall(one, text))
  made: Node = sink.replace(arg=dataclasses.replace(sink.arg or KernelInfo(), opts_to_apply=opts))
  return made


class PrivateFiles:
  """Replaces the module `os` in tinygrad's device for files while tinygrad loads a model. A model is untrusted: it
  names the files with its weights, and tinygrad opens each to read and write, and creates missing ones. This class
  opens regular files of the model's folder only, and returns copies in memory."""
  def __init__(self, folder: pathlib.Path) -> None: self.folder = folder
  def __getattr__(self, name: str) -> Any: return getattr(os, name)

  def open(self, path: str, flags: int, *rest: Any) -> int:
    found = pathlib.Path(path).resolve()
    if not found.is_relative_to(self.folder): raise ValueError(f"the model's data are in '{path}', outside the model's folder: refused")
    with open(os.open(found, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW), "rb") as file:
      if not stat.S_ISREG(os.fstat(file.fileno()).st_mode): raise ValueError(f"the model's data are in '{path}', which is no regular file")
      copy = os.memfd_create("model")
      with open(copy, "wb", closefd=False) as content: shutil.copyfileobj(file, content)
    return copy


@contextlib.contextmanager
def private_files_of(model: str) -> Iterator[None]:
  disk = importlib.import_module("tinygrad.runtime.ops_disk")
  with replaced_attribute(disk, "os", PrivateFiles(pathlib.Path(model).resolve().parent)): yield


def whole_target(target: str | None) -> str:
  device, *rest = (target or "CPU").split(":")
  return ":".join([device, *(rest or [DEFAULTS.get(device, device)])])


def live_recorder(version: str) -> LiveRecorder:
  """Returns a recorder that watches tinygrad. Turns automatic garbage collection off, and sets SPEC to at most 1."""
  cap_spec()
  recorder = LiveRecorder(version)
  recorder.watch()
  gc.collect()
  gc.freeze()
  gc.disable()
  return recorder
