"""Records any tinygrad from 0.11 on: a graph rewrite with a name is a stage, except most nested ones, those of QUERIES
and those of VIZ's views. names.py lists tinygrad's functions that begin a kernel or a schedule.
"""
from __future__ import annotations

import contextlib
import functools
import importlib
import io
import itertools
import os
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

from tgc.export import boundaries
from tgc.export.arrays import ArraySaver, bound_values, is_bound_variable, number_of_elements
from tgc.export.golden import print_message
from tgc.export.graphs import graph_text
from tgc.export.hooks import (
  call_on_import,
  call_site,
  called_by_runtime,
  program_lines,
  replace_everywhere,
  replaced_attribute,
  set_attribute,
)
from tgc.export.jit import JitRecorder
from tgc.export.jit_plan import JitPlanRecorder
from tgc.export.kinds import JSON, Function, Node, Settings
from tgc.export.late_reads import LateReads
from tgc.export.matches import RuleTimes, matches_json, rewrite_with_callback
from tgc.export.metadata import metadata_list, watch_metadata
from tgc.export.names import INNER, KEEP_OFFSET, KERNELS, NEUTRAL_SETTINGS, QUERIES, SCHEDULES, STAGES
from tgc.export.origins import FollowedNodes, metadata_of, methods_of
from tgc.export.recorder import Recorder
from tgc.export.records import make_renderer, program_facts, target_of
from tgc.export.watch_nan import NanWatcher


def reserve_buffers(graph: Node) -> None:
  """Makes tinygrad give new buffers higher numbers than those of a graph that was read from a file."""
  from tinygrad.uop.ops import UOp
  used = [u.arg if u.op.name == "UNIQUE" else getattr(u.arg, "slot", None) for u in graph.toposort()]
  UOp.unique_num = itertools.count(max((n for n in used if isinstance(n, int)), default=-1) + 1)


class RecordingScope:

  def __init__(self, producer: str, root: Node, records_pyrender: bool) -> None:
    self.producer, self.records_pyrender, self.depth, self.last = producer, records_pyrender, 0, root
    self.stages: list[JSON] = []
    self.failed = ""
    self.running = ""
    self.matches: list[tuple[Any, ...]] = []
    self.begin = time.thread_time()
    self.recording = self.staged = 0.0
    self.took = 0.0
    self.rules = RuleTimes()

  def add(self, name: str, graph: Node, seconds: float) -> None:
    same = graph is self.last
    stage: JSON = {"name": name, "same": True} if same else {"name": name, "ir": graph_text(graph, self.producer)}
    stage["seconds"] = round(max(seconds, 0), 6)
    if not same: stage |= call_site()
    if self.records_pyrender and not same: stage["letters"] = print_graph(graph)
    self.stages.append(stage)
    self.last = graph

  def seconds(self) -> float:
    """Returns the processor time since the scope began, without that of the recorder."""
    return round(max(time.thread_time() - self.begin - self.recording, 0), 6)


def variable_facts(v: Any) -> Any:
  name = str(getattr(v, "expr", v))
  return [name, v.vmin, v.vmax] if hasattr(v, "vmin") else name


def error_of(error: Exception, scope: RecordingScope) -> JSON:
  """Returns tinygrad's error, and the stage that raised, or else the last one that was complete."""
  stage = scope.failed or (scope.stages[-1]["name"] if scope.stages else "")
  return {"error": repr(error)} | ({"error_stage": stage} if stage else {})


class ListedNodes(list[Any]):
  """A list of nodes with a fast `in`, which print_uops uses for each source."""

  def __init__(self, nodes: Sequence[Node]) -> None:
    super().__init__(nodes)
    self.known = set(nodes)

  def __contains__(self, node: object) -> bool: return node in self.known


def print_graph(graph: Node) -> str | None:
  """Returns the text of the release's own pyrender; None if it fails."""
  from tinygrad.uop import ops
  try: return str((getattr(ops, "pyrender", None) or importlib.import_module("tinygrad.uop.render").pyrender)(graph))
  except Exception: return None


class GraphRecorder(Recorder):
  """Takes Recorder's options and: version (tinygrad's), rewrites (record rule matches), letters (record the text of
  pyrender), watch_nan ("nan" or "inf") and stop (end the program at the first find)."""

  def __init__(self, options: JSON, is_child: bool = False) -> None:
    super().__init__(options, is_child)
    self.records_pyrender, self.records_matches = options.get("letters", False), options.get("rewrites", False)
    self.version, self.thread = options["version"], threading.local()
    self.producer = self.writer.producer = f"tinygrad {self.version}"
    self.functions: dict[str, Function] = {}
    self.replays = False
    self.renderers: JSON = {}
    watched = "" if is_child else options.get("watch_nan", "")
    self.nans = NanWatcher(self, watched == "inf", options.get("stop", False)) if watched else None
    self.arrays = self.nans or ArraySaver(self)
    self.jits = JitRecorder(self)
    self.late_reads = LateReads()

  def finish(self) -> None:
    if self.nans: self.nans.finish()

  def write_nans(self) -> None:
    if self.nans and self.nans.finds: self.nans.write()

  def context_vars(self) -> JSON:
    from tinygrad.helpers import ContextVar
    return {k: v for k, v in ContextVar._cache.items() if k not in NEUTRAL_SETTINGS}

  def note_settings(self) -> None:
    context_vars = self.context_vars()
    self.initial_vars = {k: v.value for k, v in context_vars.items()}
    self.header_settings = {k: os.environ[k] for k in context_vars if os.environ.get(k, "") != ""}

  own_settings = Recorder.changed_vars

  def watch(self) -> None:
    from tinygrad.uop import ops
    self.note_settings()
    rewrite = ops.graph_rewrite
    replace_everywhere(rewrite, self.watched_rewrite(rewrite))
    if self.version.startswith("0.11"):  # graph_rewrite_map returns what became of each node
      rewrite_map = ops.graph_rewrite_map
      replace_everywhere(rewrite_map, self.watched_rewrite(rewrite_map, lambda made, sink: made[sink]))
    for (module, function), stage in STAGES.items():
      call_on_import(module, functools.partial(self.watch_stage, function=function, name=stage))
    watch_metadata()
    self.origins.watch()
    FollowedNodes.watched, FollowedNodes.follow = boundaries.FOLLOWED, staticmethod(self.follow_reason)
    boundaries.watch()
    if self.records_matches: set_attribute(ops.PatternMatcher, "rewrite", rewrite_with_callback(self.add_match, times=self.rule_times))
    for table, record in ((KERNELS, self.record_kernel), (SCHEDULES, self.record_schedule), (INNER, self.record_inner)):
      for module, name in table:
        call_on_import(module, functools.partial(self.watch_function, name=name, record=record))
    if self.save_inputs or self.nans: self.arrays.watch()  # before JitPlanRecorder, which wraps run_linear in one module
    self.jits.watch()
    JitPlanRecorder(self).watch()
    self.late_reads.watch()

  def watch_function(self, module: Any, name: str, record: Function) -> None:
    function = vars(module).get(name)
    if function is None or getattr(function, "watched_by_tgc", False): return
    def watched(*args: Any, **kwargs: Any) -> Any: return record(function, *args, **kwargs)
    vars(watched)["watched_by_tgc"], self.functions[name] = True, function
    replace_everywhere(function, watched)

  def watch_stage(self, module: Any, function: str, name: str) -> None:
    if (make := vars(module).get(function)) is not None: replace_everywhere(make, self.watched_rewrite(make, name=name))

  def watched_rewrite(self, rewrite: Function, graph_of: Function = lambda made, sink: made, name: str | None = None) -> Function:
    """Returns `rewrite` as a function that also adds the result of an outermost call to the scope, if it is a stage:
    `name`, or the one that the call names."""
    stage = name
    def call(sink: Node, *args: Any, **kwargs: Any) -> Any:
      scope = self.scope()
      if scope is None: return rewrite(sink, *args, **kwargs)
      scope.depth += 1
      name = stage or kwargs.get("name") or ""
      if scope.depth == 1: scope.running = name
      begin, recording, staged = time.thread_time(), scope.recording, scope.staged
      try: result = rewrite(sink, *args, **kwargs)
      except Exception:
        if scope.depth == 1: scope.failed = name
        raise
      finally: scope.depth -= 1
      if scope.depth == 0 and name and name not in QUERIES and not name.startswith("View"):
        end = time.thread_time()
        seconds = end - begin - (scope.recording - recording) - (scope.staged - staged)
        scope.staged += seconds
        try: scope.add(name, graph_of(result, sink), seconds)
        except Exception: self.report_failure(f"graph after '{name}'")
        scope.recording += time.thread_time() - end
      return result
    return call

  def follow_reason(self, node: Node, new: Node) -> None:
    if (scope := self.scope()) is None: return
    try: boundaries.pass_reason_on(node, new, scope.running)
    except Exception: self.report_failure("reason of a kernel")

  def add_match(self, location: str, before: Node, after: Node, depth: int) -> None:
    scope = self.scope()
    if scope is not None: scope.matches.append((len(scope.stages), location, before, after, depth))

  def rule_times(self) -> RuleTimes | None: return None if (scope := self.scope()) is None else scope.rules

  def scope(self) -> RecordingScope | None: return getattr(self.thread, "scope", None)

  @contextlib.contextmanager
  def new_scope(self, root: Node | None) -> Iterator[RecordingScope | None]:
    outer = self.scope()
    self.thread.scope = scope = None if root is None else RecordingScope(self.producer, root, self.records_pyrender)
    try: yield scope
    finally: self.thread.scope = outer

  def record_kernel(self, function: Function, ast: Node, renderer: Any = None, *args: Any, **kwargs: Any) -> Any:
    outer = getattr(self.thread, "kernel", None)
    if ast.op.name == "PROGRAM" or ast is outer: return function(ast, renderer, *args, **kwargs)
    self.thread.kernel = ast
    try:
      if not self.targets or called_by_runtime(): return self.compile(function, ast, renderer, *args, **kwargs)
      with self.new_scope(None): result = function(ast, renderer, *args, **kwargs)
      for target in self.targets:
        if (made := self.renderer_of(target)) is None: continue
        with contextlib.suppress(Exception): self.compile(function, ast, made, *args, target=target, **kwargs)
      return result
    finally: self.thread.kernel = outer

  def compile(self, function: Function, ast: Node, renderer: Any, *args: Any, target: str | None = None, **kwargs: Any) -> Any:
    """Returns the result of `function`, and writes the kernel's record, unless there is one."""
    result, error = None, None
    with self.new_scope(ast) as scope, self.origins.running_phase("compiles"):
      assert scope is not None
      try: result = function(ast, renderer, *args, **kwargs)
      except Exception as e: error = e
      scope.took = scope.seconds()
    with self.lock:
      try: self.write_kernel(scope, ast, target or self.target_of(renderer), result, error)
      except Exception: self.report_failure("kernel")
    if error is not None: raise error
    return result

  def replay_kernel(self, name: str, target: str, ast: Node, settings: Settings, metadata: Any) -> None:
    import tinygrad.engine.realize  # noqa: F401, watches its functions
    self.recorded.clear()
    self.kernel_ids[self.identity(ast)], self.metadata[ast.key] = name, metadata
    function = next(self.functions[f] for _, f in KERNELS if f in self.functions)
    if (made := self.renderer_of(target)) is None: return
    with contextlib.suppress(Exception): self.compile(function, ast, made, target=target)

  def replay_schedule(self, name: str, what: str, sink: Node, settings: Settings) -> None:
    """Schedules a tensor graph that was read from a file. `what`: the function that made the recorded schedule."""
    import tinygrad.tensor  # noqa: F401, watches its functions
    reserve_buffers(sink)
    self.replays = True
    if what not in self.functions: print_message(f"record '{name}': this tinygrad has no function '{what}'")
    else:
      with contextlib.suppress(Exception): self.schedule(self.functions[what], sink, name=name)

  def renderer_of(self, target: str) -> Any:
    """Returns tinygrad's renderer of a target; None if making it fails, reported once. Exits for an unknown target."""
    if target not in self.renderers:
      try: self.renderers[target] = make_renderer(target)
      except Exception as e:
        self.renderers[target] = None
        print_message(f"nothing is compiled for {target}, because its renderer cannot be made: {e!r}")
    return self.renderers[target]

  def write_kernel(self, scope: RecordingScope, ast: Node, target: str, result: Any, error: Exception | None) -> None:
    settings = self.own_settings()
    key = *self.identity(ast), target
    if key in self.recorded: return
    self.recorded.add(key)
    kernel_id = self.kernel_id(ast)
    numbers: dict[Any, int] = {}
    record = {"id": kernel_id, "target": target, "nodes": len(ast.toposort()), "ast": graph_text(ast, self.producer, numbers=numbers)}
    if values := self.var_vals.get(ast.key): record["var_vals"] = values
    if error is not None: record |= error_of(error, scope)
    else:
      try:
        record |= self.program_of(result)
        facts = program_facts(result) if hasattr(result, "toposort") else result
        for known in (ast.key, (facts.name, record.get("source"))): self.arrays.programs.setdefault(known, (kernel_id, facts))
      except Exception: self.report_failure("kernel's program")
    record["stages"], record["seconds"] = scope.stages, scope.took
    if scope.matches: record["rewrites"] = matches_json(scope.matches)
    if scope.rules: record["rules"] = scope.rules.json()
    if called_by_runtime(): record["runtime"] = True
    if callers := program_lines(): record["asked_by"] = callers
    self.write("kernel", record, settings, metadata_of(ast, numbers) or self.metadata.get(ast.key) or self.called_from(callers))

  @staticmethod
  def called_from(callers: list[str]) -> list[JSON] | None: return [{"name": "kernel", "caller": callers[0]}] if callers else None

  @staticmethod
  def target_of(renderer: Any) -> str:
    target = getattr(renderer, "target", None)
    arch = getattr(target, "arch", "") or getattr(renderer, "arch", "")
    if target is None: return target_of(renderer)
    # Newer releases keep device and architecture in renderer.target. target_of() expects an older renderer, so it gets
    # an object with such members and the name of this renderer's class.
    stand_in = type(type(renderer).__name__, (), {"__module__": type(renderer).__module__})()
    stand_in.device, stand_in.arch = target.device, arch if isinstance(arch, str) and target.device != "CPU" else None
    return target_of(stand_in).rstrip(":")

  def program_of(self, result: Any) -> JSON:
    """Returns source, listing and launch facts of a PROGRAM node, or of a ProgramSpec (releases before 0.13), without
    those that cannot be read."""
    def text(x: Any) -> str: return x.render() if hasattr(x, "render") else str(x)
    def sizes(s: Any) -> Any: return None if s is None else [x if isinstance(x, int) else text(x) for x in s]
    facts, info = result, result
    if hasattr(result, "toposort"):
      parts = {s.op.name: s for s in result.src}
      uops = list(parts["LINEAR"].src) if "LINEAR" in parts else None
      source = parts["SOURCE"].arg if "SOURCE" in parts else None
      facts, info = program_facts(result), parts["SINK"].arg
    else: uops, source = result.uops, result.src
    record = {} if source is None else {"source": source}
    if uops:
      from tinygrad.uop import ops
      printer = getattr(ops, "print_uops", None) or importlib.import_module("tinygrad.uop.render").print_uops
      listing = io.StringIO()
      with contextlib.suppress(Exception), contextlib.redirect_stdout(listing): printer(ListedNodes(uops))
      record["linear"] = listing.getvalue()
    estimates, opts = getattr(info, "estimates", None), getattr(info, "applied_opts", None)
    try:
      record["program"] = {
          "name": facts.name, "function_name": facts.function_name, "global_size": sizes(facts.global_size),
          "local_size": sizes(facts.local_size), "vars": [variable_facts(v) for v in facts.vars],
          "globals": list(facts.globals), "outs": list(facts.outs), "ins": list(facts.ins), "applied_opts": str(opts or ()),
          **{k: text(getattr(estimates, k, "")) for k in ("ops", "lds", "mem")}}
    except Exception: self.report_failure("kernel's launch facts")
    return record

  def record_inner(self, function: Function, *args: Any, **kwargs: Any) -> Any:
    scope = self.scope()
    if scope is None: return function(*args, **kwargs)
    depth, scope.depth = scope.depth, 0
    try: return function(*args, **kwargs)
    finally: scope.depth = depth

  def record_schedule(self, function: Function, sink: Any, *args: Any, **kwargs: Any) -> Any:
    return self.schedule(function, sink, *args, **kwargs) if hasattr(sink, "toposort") else function(sink, *args, **kwargs)

  def schedule(self, function: Function, sink: Node, *args: Any, name: str | None = None, **kwargs: Any) -> Any:
    """Returns the result of `function`, and writes a record, unless there was nothing to schedule."""
    result, error = None, None
    if self.replays and name is None:  # a function that the replayed one calls: its own record is replayed, too
      with self.new_scope(None): return function(sink, *args, **kwargs)
    with self.new_scope(sink) as scope, self.origins.running_phase("schedules"):
      assert scope is not None
      with contextlib.suppress(AttributeError): boundaries.note_requested_contiguous(sink)
      try: result = function(sink, *args, **kwargs)
      except Exception as e: error = e
      scope.took = scope.seconds()
    with self.lock:
      try: self.write_schedule(scope, sink, name, next(n for n, f in self.functions.items() if f is function), result, error)
      except Exception: self.report_failure("schedule")
    if error is not None: raise error
    return result

  def write_schedule(self, scope: RecordingScope, sink: Node, name: str | None, function_name: str, result: Any, error: Exception | None) -> None:
    if len(scope.stages) < 2 and error is None: return
    nodes = sink.toposort()
    numbers: dict[Any, int] = {}
    record: JSON = {"id": name or self.schedule_id(), "what": function_name, "device": self.device_of(sink),
              "nodes": len(nodes), "ast": graph_text(sink, self.producer, numbers=numbers), "stages": scope.stages, "seconds": scope.took}
    if made_by := methods_of(numbers): record["made_by"] = made_by
    if values := bound_values(nodes): record["var_vals"] = values
    if callers := program_lines(): record["asked_by"] = callers
    if error is not None: record |= error_of(error, scope)
    else:
      record["kernels"] = self.kernels_of(scope, result, values)
      for kernel in record["kernels"] if callers else ():
        self.writer.add_origin(kernel["ast"], callers, kernel.get("metadata") or self.called_from(callers))
    if scope.matches: record["rewrites"] = matches_json(scope.matches)
    if scope.rules: record["rules"] = scope.rules.json()
    self.write("tensor", record, self.own_settings(), self.late_reads.metadata_of(sink, sink.op.name != "CALL"))

  def record_sink(self, sink: Node) -> None:
    """Records the schedule of a tensor graph and its kernels, without running them. Raises NotImplementedError with
    tinygrad 0.11."""
    if "transform_to_call" in self.functions: return self.record_sink_by_calls(sink)
    if not self.version.startswith("0.12"): raise NotImplementedError(f"tgc_export needs tinygrad 0.12 or later; installed: {self.version}")
    from tinygrad.codegen import get_program
    from tinygrad.device import Device
    from tinygrad.engine import schedule
    with replaced_attribute(schedule, "schedule_cache", {}): items = schedule.complete_create_schedule_with_vars(sink)[1]
    for item in items:
      if item.ast.op.name == "SINK": get_program(item.ast, Device[item.bufs[0].device].renderer)

  def record_sink_by_calls(self, sink: Node) -> None:
    from tinygrad import tensor
    from tinygrad.device import Device
    linear = tensor.create_linear_with_vars(tensor.transform_to_call(sink)[0])[0]
    compile_kernel = next(self.functions[f] for _, f in KERNELS if f in self.functions)
    for call in linear.src:
      if call.src and call.src[0].op.name == "SINK":
        device = call.src[1].device
        self.record_kernel(compile_kernel, call.src[0], Device[device[0] if isinstance(device, tuple) else device].renderer)

  @staticmethod
  def device_of(sink: Node) -> str:
    for u in sink.toposort():
      device = u.arg if u.op.name == "DEVICE" else getattr(u.arg, "device", None)
      if device: return (device if isinstance(device, str) else device[0]).split(":")[0]
    return ""

  @staticmethod
  def offset_of_view(view: Any) -> int:
    """Returns where a view begins in its source, in bytes. Raises NotImplementedError for an unknown op."""
    name = view.op.name
    if name == "BUFFER_VIEW": return int(view.arg[1] * view.dtype.itemsize)
    if name == "SLICE": return int(view.src[1].arg * view.src[0].dtype.itemsize)
    if name in KEEP_OFFSET: return 0
    if name != "SHRINK": raise NotImplementedError(f"an argument of a call is {name} of a buffer")
    elements, stride = 0, 1
    for (begin, _), size in reversed(list(zip(view.marg, view.src[0].shape))): elements, stride = elements + int(begin) * stride, stride * int(size)
    return int(elements * view.dtype.itemsize)

  @classmethod
  def memory_of(cls, argument: Any) -> list[tuple[Any, int]]:
    """Returns where an argument of a call is in memory: for each of its devices, a buffer and an offset in bytes."""
    name = argument.op.name
    if name in ("BUFFER", "PARAM") or not argument.src:
      return [((argument, i), 0) for i in range(len(argument.device))] if isinstance(argument.device, tuple) else [((argument, 0), 0)]
    if name == "MSTACK": return [cls.memory_of(s)[0] for s in argument.src]
    below, offset = cls.memory_of(argument.src[0]), cls.offset_of_view(argument)
    if name == "MSELECT": below = [below[argument.arg]]
    return [(base, begin + offset) for base, begin in below]

  @staticmethod
  def buffer_json(numbers: dict[Any, int], base: Any, offset: int, size: Any, dtype: Any) -> JSON:
    return {"base": numbers.setdefault(base, len(numbers)), "offset": offset, "size": int(size), "dtype": str(dtype)}

  def list_of_kernels(self, linear: Node, values: dict[str, int], has_reasons: bool = False) -> list[JSON]:
    """Returns the kernels and copies of a LINEAR list of calls, as kernels_of() does. `has_reasons`: each with the
    reason why it stores its output."""
    numbers: dict[Any, int] = {}
    out: list[JSON] = []
    for call in linear.src:
      if not call.src: continue
      bufs = []
      for b in call.src[1:]:
        if is_bound_variable(b): continue
        try:
          size = number_of_elements(b)
          parts = [self.buffer_json(numbers, base, offset, size, b.dtype) for base, offset in self.memory_of(b)]
          bufs.append(parts[0] if len(parts) == 1 else {"multi": parts})
        except Exception: self.report_failure("buffer of a kernel")
      item: JSON = {"ast": graph_text(call.src[0], self.producer), "bufs": bufs}
      info = metadata_of(call.src[0])
      if has_reasons: item["stored"] = boundaries.reasons_of_kernel(call, info)
      if not self.replays: self.note_kernel(item, call.src[0], values)
      if info:
        item["metadata"] = info
        self.metadata[call.src[0].key] = info
      out.append(item)
    return out

  def kernels_of(self, scope: RecordingScope, result: Any, values: dict[str, int]) -> list[JSON]:
    """Returns the kernels and copies of a schedule in order, with their buffers numbered by first use."""
    linear = result[0] if isinstance(result, tuple) and result else result
    if getattr(getattr(linear, "op", None), "name", "") == "LINEAR":
      if not linear.src and getattr(scope.last.op, "name", "") == "LINEAR": linear = scope.last  # a TinyJit has removed the calls from the result
      return self.list_of_kernels(linear, values, any("rangeify" in s["name"] for s in scope.stages))
    numbers: dict[Any, int] = {}
    out: list[JSON] = []
    items = next((part for part in (result if isinstance(result, tuple) else ()) if isinstance(part, list)), [])
    for item in items:
      if not hasattr(item, "ast"): continue
      bufs = [self.buffer_json(numbers, id(b.base), b.offset, b.size, b.dtype) for b in item.bufs if b is not None]
      info = metadata_of(item.ast) or metadata_list(item.metadata)
      if info: self.metadata[item.ast.key] = info
      fixed = getattr(item, "fixedvars", None) or {}
      kernel: JSON = {"ast": graph_text(item.ast, self.producer), "bufs": bufs, "fixedvars": fixed, "metadata": info}
      if not self.replays: self.note_kernel(kernel, item.ast, values | fixed)
      out.append(kernel)
    return out
