"""A trace that tinygrad's VIZ has saved (rewrites.pkl), as golden records: what `--viz FILE` writes.

The trace holds of every rewrite the graph that it began with and each match of a rule, before and after; the graph that
it left is made from these. It is a pickle, and a pickle can hold anything: read are tinygrad's graphs, enums and plain
dataclasses; of everything else an object comes that does nothing."""
import contextlib, dataclasses, enum, importlib, pickle, re

from tgc_export.anywhere import QUESTIONS, printed
from tgc_export.matches import rule_place
from tgc_export.golden import say, trouble
from tgc_export.graphs import Nodes, graph_text
from tgc_export.records import CLASSES

# Where classes may come from.
MODULES = {"tinygrad.uop", "tinygrad.uop.ops", "tinygrad.dtype", "tinygrad.codegen.opt", "tinygrad.schedule.indexing",
           "tinygrad.schedule.rangeify", "tinygrad.schedule.kernelize", "tinygrad.helpers", "tinygrad.renderer"}
# What is tracked like a rewrite and has stages of its own.
INNER = {"get_kernel_graph", "run_rangeify"}
CALLER = "schedule to linear"  # a stage whose rules call one of these


class Inert:
  """Stands for an object of a class that is not read."""
  def __new__(cls, *args, **kwargs):
    made = object.__new__(cls)
    made.args = args
    return made
  def __init__(self, *args, **kwargs): pass
  def __setstate__(self, state): pass
  def __call__(self, *args, **kwargs): return self


def is_plain(kind):
  return isinstance(kind, type) and (dataclasses.is_dataclass(kind) or issubclass(kind, (enum.Enum, float)) or
                                     kind.__name__ == "InvalidType")


class TraceReader(pickle.Unpickler):
  def find_class(self, module, name):
    kind = None
    if module in MODULES and name.isidentifier():
      with contextlib.suppress(ImportError): kind = getattr(importlib.import_module(module), name, None)
    return kind if is_plain(kind) else type(name, (Inert,), {})


class Trace:
  def __init__(self, path):
    try:
      with open(path, "rb") as file: trace = TraceReader(file).load()
    except OSError as e: trouble(f"{path}: {e.strerror}")
    except Exception as e: trouble(f"{path} is no trace of VIZ that this release of tinygrad can read: {e}")
    if not all(hasattr(trace, name) for name in ("keys", "rewrites", "uop_fields")): trouble(f"{path} is no trace of VIZ")
    self.groups, self.fields, self.made = list(zip(trace.keys, trace.rewrites)), trace.uop_fields, {}

  def node(self, number):
    """The node of that number; those below it are made first."""
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

  def result(self, rewrite):
    """The graph that it left: the same rewrite, with what was matched as its only rules."""
    from tinygrad.uop.ops import PatternMatcher, UPat, graph_rewrite
    from tinygrad.uop import GroupOp
    sink = self.node(rewrite.sink)
    became = {self.node(before): self.node(after) for before, after, *_ in rewrite.matches}
    if not became: return sink
    rules = PatternMatcher([(UPat(GroupOp.All, name="x"), lambda ctx, x: ctx.get(x))])
    return graph_rewrite(sink, rules, became, bottom_up=rewrite.bottom_up)


def stages_of(group):
  """The rewrites that are stages, in the order in which they ended, each with all that ran for it and for no stage
  before."""
  least, running, pending, out = group[0].depth, [], [], []
  def end(rewrite, is_stage):
    if not is_stage: return
    first = next(i for i, r in enumerate(pending) if r is rewrite)
    out.append((rewrite, pending[first:]))
    del pending[first:]
  for rewrite in group:
    if rewrite.depth < least: break  # whoever called
    while running and running[-1][0].depth >= rewrite.depth: end(*running.pop())
    is_outermost = all(r.name in INNER for r, _ in running if not r.name == CALLER)
    is_named = rewrite.name not in QUESTIONS | INNER | {"graph_rewrite"} and not rewrite.name.startswith("View")
    running.append((rewrite, is_outermost and is_named))
    pending.append(rewrite)
  while running: end(*running.pop())
  return out


class Converter:
  def __init__(self, recorder, name): self.recorder, self.name, self.counts = recorder, name, {"kernel": 0, "tensor": 0}

  def convert(self, path):
    trace = Trace(path)
    for key, group in trace.groups:
      if not group: continue
      try: self.group(trace, key, group)
      except Exception: self.recorder.failed(f"record of '{key.display_name}'")
    return self.counts

  def group(self, trace, key, group):
    stages, matches, made = stages_of(group), Matches(trace), []
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
      if self.recorder.letters and graph is not last: made[-1]["letters"] = printed(graph)
      last = graph
    record |= {"stages": made, "rewrites": matches.json()} | ({} if is_kernel else {"kernels": []})
    self.counts[level] += 1
    self.recorder.write(level, record, {})

  def program(self, trace, ret, group):
    """Source and launch facts: of a ProgramSpec, or of the PROGRAM that the last rewrites had."""
    if hasattr(ret, "src"):
      with contextlib.suppress(Exception): return self.recorder.program_of(ret)
    for rewrite in reversed(group):
      root = trace.node(rewrite.sink)
      if root.op.name == "PROGRAM" and any(s.op.name == "SOURCE" for s in root.src):
        with contextlib.suppress(Exception): return self.recorder.program_of(root)
    return {}


class Matches:
  def __init__(self, trace): self.trace, self.nodes, self.list = trace, Nodes(), []

  def add(self, stage, rewrite):
    for before, after, location, *_ in rewrite.matches:
      place = rule_place(type("Rule", (), {"location": location}))
      numbers = [self.nodes.add(self.trace.node(n)) for n in (before, after)]
      self.list.append([stage, place, *numbers])

  def json(self): return {"nodes": self.nodes.lines, "list": self.list}


def target_of(ret):
  """DEVICE:RENDERER[:ARCH] of what a trace keeps of a kernel: its ProgramSpec, or the renderer and its arguments."""
  targets = [a for a in getattr(ret, "args", ()) if type(a).__name__ == "Target"]
  device = targets[0].device if targets else getattr(ret, "device", "CPU")
  renderer, arch = CLASSES.get(type(ret).__name__, ""), targets[0].arch if targets and device != "CPU" else ""
  return ":".join(part for part in (device.split(":")[0], renderer or "CLANG" * (device == "CPU"), arch) if part)


def convert(path, recorder, name):
  """Writes the records of the trace at `path`; whether there were any."""
  counts = Converter(recorder, name).convert(path)
  if not any(counts.values()): say(f"{path}: nothing was tracked; VIZ=1 or TRACK_MATCH_STATS=2 does")
  return any(counts.values())
