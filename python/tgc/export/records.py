"""Makes records of kernels and tensor graphs of tinygrad 0.12.0. The recorder of other releases uses parts of this
module."""
from __future__ import annotations

import contextlib
import io
import sys
import types
from collections.abc import Collection, Iterator
from typing import Any

from tgc.export.golden import exit_with_error
from tgc.export.hooks import replaced_attribute
from tgc.export.kinds import JSON, Function, Node
from tgc.export.metadata import metadata_list
from tgc.export.names import ARCHITECTURES, CLASSES, COMPILERS, DEFAULTS, RENDERER_NAMES
from tgc.export.origins import metadata_of

TENSOR_STAGES = {"rewrite for sched cache", "number the uops", "earliest rewrites", "apply rangeify",
                 "symbolic+reduce_collapse+debuf", "limit buffers", "bufferize to store", "split kernels", "fix_assign",
                 "remove all tags"}


class StageList:

  def __init__(self) -> None:
    self.list: list[JSON] = []
    self.last: Node | None = None
    self.text: str | None = None
    self.running = ""

  def add(self, name: str, graph: Node) -> None:
    same = graph is self.last
    if not same: self.last, self.text = graph, pyrender_text(graph)
    self.list.append({"name": name, "same": True} if same else {"name": name, "ir": self.text})
    self.running = ""

  def failed_stage(self) -> JSON:
    """Returns the member of a record that says which stage raised, or else the last one that was complete."""
    stage = self.running or (self.list[-1]["name"] if self.list else "")
    return {"error_stage": stage} if stage else {}


def pyrender_text(graph: Node) -> str | None:
  from tinygrad.uop.ops import pyrender
  try: return str(pyrender(graph))
  except Exception: return None  # a few graphs break tinygrad's own printer


class NoCompilers(types.ModuleType):
  def __getattr__(self, name: str) -> Any: return lambda *args, **kwargs: None


@contextlib.contextmanager
def no_compilers() -> Iterator[None]:
  """Replaces the modules of COMPILERS by modules whose compilers do nothing."""
  real = {name: sys.modules.get(name) for name in COMPILERS}
  sys.modules.update({name: NoCompilers(name) for name in COMPILERS})
  try: yield
  finally:
    for name, module in real.items():
      if module is None: del sys.modules[name]
      else: sys.modules[name] = module


def renderer_class(target: str) -> type:
  from tinygrad.codegen.opt import tc  # noqa: F401, the renderers import this module first
  from tinygrad.renderer import cstyle, llvmir, ptx, wgsl
  from tinygrad.runtime import ops_null, ops_python
  modules = [cstyle, llvmir, ptx, wgsl, ops_null, ops_python]
  with contextlib.suppress(ImportError):
    from tinygrad.renderer.isa import x86
    modules.append(x86)
  known: dict[str, type] = {}
  for t, names in CLASSES.items():
    for name in names.split():
      for kind in [vars(m)[name] for m in modules if name in vars(m)]: known.setdefault(t, kind)
  if target not in known: exit_with_error(f"unknown target '{target}'; use one of {', '.join(known)} with :ARCH")
  return known[target]


def make_renderer(target: str) -> Any:
  from tinygrad import helpers
  from tinygrad import renderer as renderers
  from tinygrad.codegen.opt import tc
  device, renderer, arch = (target.split(":", 2) + ["", ""])[:3]
  renderer = renderer or DEFAULTS.get(device, device)
  kind, needs_arch = renderer_class(f"{device}:{renderer}"), device in ("CUDA", "NV", "AMD", "HIP")
  if not arch and needs_arch:
    exit_with_error(f"target '{target}' needs an architecture, as in CUDA:CUDA:sm_80 or AMD:HIP:gfx1100")
  with contextlib.nullcontext() if renderer == "X86" else no_compilers():
    if hasattr(helpers, "Target"):
      made = kind(helpers.Target(device, renderer, arch or ARCHITECTURES.get(device, "")))
      if renderer != "X86": made.compiler = renderers.Renderer.compiler
    elif needs_arch: made = kind(arch, device="NV") if target.startswith("NV:PTX") else kind(arch)
    else: made = kind()
    # some commits between 0.12 and 0.13 compile each source with the compiler that no_compilers left out
    if getattr(made, "compiler", renderers) is None: made.compiler = getattr(renderers.Renderer, "compiler", None)
  if device == "METAL": made.tensor_cores = tc.metal  # the class sets them only on Apple's arm64
  return made


def target_of(renderer: Any) -> str:
  """Returns the target of a renderer object: DEVICE:RENDERER[:ARCH]."""
  kind, arch = type(renderer).__name__, getattr(renderer, "arch", None)
  name = RENDERER_NAMES.get(kind) if type(renderer).__module__.startswith("tinygrad.") else None
  parts = [renderer.device.split(":")[0], name or kind.removesuffix("Renderer").upper()]
  return ":".join(parts + ([arch] if isinstance(arch, str) else []))


def launch_facts(program: Any) -> JSON:
  def size(x: Any) -> Any: return x if isinstance(x, int) else number(x)
  def number(x: Any) -> Any: return x.render() if hasattr(x, "render") else str(x)
  e = program.estimates
  return {"name": program.name, "function_name": program.function_name,
          "global_size": [size(x) for x in program.global_size],
          "local_size": None if program.local_size is None else [size(x) for x in program.local_size],
          "vars": [list(v.arg) for v in program.vars],
          "globals": program.globals, "outs": program.outs, "ins": program.ins,
          "applied_opts": str(program.applied_opts), "ops": number(e.ops), "lds": number(e.lds), "mem": number(e.mem)}


def program_facts(program: Any) -> Any:
  """Returns the launch facts of a PROGRAM node. Between 0.12 and 0.13, the node has none: a ProgramSpec is made of it.
  """
  if hasattr(program.arg, "globals"): return program.arg
  from tinygrad.renderer import ProgramSpec
  return ProgramSpec.from_uop(program)


class StagesDone(Exception): pass


class StageLimits:
  """Says which stages of a kernel to run.

  `passed`: stages to skip. `until`: the last stage to run. `texts`: {stage: expected text}; the first stage whose text
  differs is the last one to run.
  """

  def __init__(self, passed: Collection[str] = (), until: str | None = None, texts: Any = ()) -> None: self.passed, self.until, self.texts = passed, until, dict(texts)
  def begin(self, name: str) -> None: pass
  def end(self, name: str, text: str | None) -> None:
    if name == self.until or (text is not None and text != self.texts.get(name, text)): raise StagesDone


def kernel_record(name: str, target: str, ast: Node, renderer: Any, limits: StageLimits | None = None) -> JSON:
  """Returns the record of one kernel AST for one target; if tinygrad raises, the stages before that and the error."""
  limits = limits or StageLimits()
  from tinygrad import codegen
  from tinygrad.codegen.opt.postrange import Scheduler
  from tinygrad.helpers import Context
  from tinygrad.renderer import ProgramSpec
  from tinygrad.uop.ops import KernelInfo, Ops, UOp, print_uops
  record: JSON = {"id": name, "target": target, "ast": pyrender_text(ast), "nodes": len(ast.toposort())}
  stages, rewrite, optimize = StageList(), codegen.graph_rewrite, codegen.apply_opts
  def run_stage(name: str, sink: Node, make: Function) -> Any:
    if name in limits.passed: return sink
    if name.startswith("View"): return make()
    limits.begin(name)
    stages.running = name
    stages.add(name, result := make())
    limits.end(name, stages.text)
    return result
  def watched(sink: Node, *args: Any, **kwargs: Any) -> Any: return run_stage(kwargs["name"], sink, lambda: rewrite(sink, *args, **kwargs))
  def optimized(sink: Node, ren: Any) -> Any: return run_stage("apply opts", sink, lambda: optimize(sink, ren))
  name_counts = dict(Scheduler.kernel_cnt)  # kernel names are numbered per program, but start again at 0 in each record
  Scheduler.kernel_cnt.clear()
  try:
    with (replaced_attribute(codegen, "graph_rewrite", watched), replaced_attribute(codegen, "apply_opts", optimized),
          Context(DEBUG=0, BEAM=0, **({"SPEC": 0} if limits.passed else {}))):  # SPEC would verify the graph as an AST
      sink = ast if ast.arg is not None else ast.replace(arg=KernelInfo())
      full = codegen.full_rewrite_to_sink(sink, renderer, optimize=bool(limits.passed) or ast.tag is None)
      lines = codegen.line_rewrite(codegen.linearize(full), codegen.pm_linearize_cleanups)
  except StagesDone: return {**record, "stages": stages.list}
  except Exception as e:
    return {**record, "error": repr(e), **stages.failed_stage(), "stages": stages.list}
  finally:
    Scheduler.kernel_cnt.clear()
    Scheduler.kernel_cnt.update(name_counts)
  try: record["source"] = renderer.render(list(lines))
  except Exception as e: record["source_error"] = repr(e)
  parts = full, UOp(Ops.DEVICE, arg=renderer.device), UOp(Ops.LINEAR, src=tuple(lines)), UOp(Ops.SOURCE, arg="")
  with Context(DEBUG=0): record["program"] = launch_facts(ProgramSpec.from_uop(UOp(Ops.PROGRAM, src=parts)))
  listing = io.StringIO()
  with contextlib.redirect_stdout(listing): print_uops(lines)
  return {**record, "linear": listing.getvalue(), "stages": stages.list}


def device_of(sink: Node) -> str:
  from tinygrad.device import Device
  device = next((s._device for s in sink.src if s._device is not None), Device.DEFAULT)
  return (device if isinstance(device, str) else device[0]).split(":")[0]


def schedule_record(name: str, sink: Node, make_schedule: Function) -> tuple[JSON | None, Any]:
  """Runs `make_schedule(sink)` and returns (record, result) of one tensor graph.

  The record is None if tinygrad's schedule cache knows the graph, or if there is nothing to schedule. If make_schedule
  raises, the record holds the error and the result is the exception.
  """
  from tinygrad.engine import schedule
  from tinygrad.schedule import indexing, rangeify
  record = {"id": name, "device": device_of(sink), "nodes": len(sink.toposort()), "ast": pyrender_text(sink)}
  stages = StageList()
  items: list[Any] = []
  def watched(rewrite: Function) -> Any:
    def call(sink: Node, *args: Any, **kwargs: Any) -> Any:
      if is_stage := kwargs.get("name") in TENSOR_STAGES: stages.running = kwargs["name"]
      result = rewrite(sink, *args, **kwargs)
      if is_stage: stages.add(kwargs["name"], result)
      return result
    return call
  def watched_planner(todo: Any) -> Any:  # keeps the buffers as they are before the memory planner moves them
    items.extend((i.ast, list(i.bufs), dict(i.fixedvars), i.metadata) for i in todo)
    return planner(todo)
  planner, error = schedule.memory_planner, None
  result: Any = None
  with contextlib.ExitStack() as stack:
    for module in (schedule, rangeify, indexing):
      stack.enter_context(replaced_attribute(module, "graph_rewrite", watched(module.graph_rewrite)))
    stack.enter_context(replaced_attribute(schedule, "memory_planner", watched_planner))
    try: result = make_schedule(sink)
    except Exception as e: error = e
  if error is not None: return {**record, "error": repr(error), **stages.failed_stage(), "stages": stages.list}, error
  if len(stages.list) < 2: return None, result
  numbers: dict[int, int] = {}
  kernels: list[JSON] = []
  for ast, bufs, fixedvars, metadata in items:
    uses = [{"base": numbers.setdefault(id(b.base), len(numbers)), "offset": b.offset, "size": b.size,
             "dtype": str(b.dtype)} for b in bufs]
    kernels.append({"ast": pyrender_text(ast), "bufs": uses, "fixedvars": fixedvars, "metadata": metadata_of(ast) or metadata_list(metadata)})
  return {**record, "stages": stages.list, "kernels": kernels, "var_vals": dict(result[2])}, result


def replayed_schedule(name: str, sink: Node) -> JSON | None:
  """Returns the record of a tensor graph that was read from a text; None if there is nothing to schedule."""
  import itertools

  from tinygrad.engine import schedule
  from tinygrad.uop.ops import UOp
  schedule.schedule_cache.clear()
  UOp.unique_num = itertools.count(1 << 20)  # new buffers must not reuse the numbers in the graph
  return schedule_record(name, sink, schedule.complete_create_schedule_with_vars)[0]


def without_custom_kernels(sink: Node) -> Node:
  """Replaces CUSTOM_KERNELs by the KERNELs that their Python functions make, as the scheduler does later: a record
  cannot hold a function. Returns a graph over several devices unchanged: the function is called with shards, which do
  not exist yet.
  """
  from tinygrad.schedule import rangeify
  from tinygrad.uop.ops import Ops, PatternMatcher, UPat, graph_rewrite
  nodes = sink.toposort()
  if not any(u.op is Ops.CUSTOM_KERNEL for u in nodes) or any(isinstance(u._device, tuple) for u in nodes): return sink
  rules = PatternMatcher([(UPat(Ops.CUSTOM_KERNEL, name="ck"), rangeify.resolve_custom_kernel)])
  made: Node = graph_rewrite(sink, rules, name="View custom kernels")
  return made
