#!/usr/bin/env python3
"""Write golden records of everything that a program compiles with an installed tinygrad 0.12.0.

  tinygrad_export.py -o out.jsonl.gz [--targets=T,T...] [--id=NAME] -- program.py args...
  tinygrad_export.py -o out.jsonl.gz -- -m pytest test/test_ops.py -k gemm
  tinygrad_export.py -o out.jsonl.gz [--targets=T,T...] --replay old.jsonl.gz...

The program runs as it would alone. Each schedule that tinygrad makes for it becomes a tensor record, each kernel a kernel record per
target: the graph after every stage, the linear list, the source, the launch facts (the format is in the README, "Golden records").
A golden file holds one level and one group of settings, so a run leaves, beside each other:

  out.jsonl.gz                 the kernels, under the settings of the environment
  out.tensor.jsonl.gz          the schedules
  out.NOOPT-1.jsonl.gz, ...    what the program compiled under settings of its own (Context(NOOPT=1))

`tgc check out*.jsonl.gz` then replays them all. --targets names what each kernel is compiled for (CPU:CLANG, CUDA:CUDA:sm_80, ...; no
such device is needed); without it, what the program itself uses. --replay compiles the graphs of golden files again instead of running a
program. The exit code is the program's own; 2 when nothing could be recorded.
"""
import argparse, contextlib, gzip, io, itertools, json, os, pathlib, runpy, sys, traceback

WANTED = "0.12.0"

# What changes the text of a stage, by tinygrad's names; a record's header says which of them were set.
SETTINGS = """NOOPT IMAGE DEVECTORIZE TRANSCENDENTAL TC TC_SELECT TC_OPT ALLOW_TF32 ALLOW_HALF8 AMX NOLOCALS DISABLE_FAST_IDIV
  CORRECT_DIVMOD_FOLDING UNSAFE_DISABLE_MASK CPU_COUNT THREADS TUPLE_ORDER EXPAND_SSA MV MV_BLOCKSIZE MV_THREADS_PER_ROW MV_ROWS_PER_THREAD
  SPLIT_REDUCEOP REDUCEOP_SPLIT_THRESHOLD REDUCEOP_SPLIT_SIZE PCONTIG MAX_KERNEL_BUFFERS RING RING_ALLREDUCE_THRESHOLD ALL2ALL""".split()
# These change it too, and no golden header can say so.
UNRECORDED = ["ALIGNED", "REDUCE_LEADERS"]

TENSOR_STAGES = {"rewrite for sched cache", "number the uops", "earliest rewrites", "apply rangeify", "symbolic+reduce_collapse+debuf",
                 "limit buffers", "bufferize to store", "split kernels", "fix_assign", "remove all tags"}


def say(text): print(f"tinygrad_export: {text}", file=sys.stderr)


def trouble(text):
  say(text)
  sys.exit(2)


def installed_version():
  import importlib.metadata, importlib.util
  try: return importlib.metadata.version("tinygrad")
  except importlib.metadata.PackageNotFoundError: pass
  spec = importlib.util.find_spec("tinygrad")  # a checkout on the path: its pyproject.toml says which
  if spec is None or spec.origin is None: return None
  project = pathlib.Path(spec.origin).parent.parent / "pyproject.toml"
  if project.exists():
    import tomllib
    with contextlib.suppress(KeyError, tomllib.TOMLDecodeError): return tomllib.loads(project.read_text())["project"]["version"]
  return "of unknown version"


class Writer:
  """The golden files of one run, by level and settings, each opened when its first record comes."""

  def __init__(self, path):
    self.path, self.files, self.counts = pathlib.Path(path), {}, {}

  def file_for(self, level, settings, usual):
    tags = (["tensor"] if level == "tensor" else []) + [f"{k}-{v}" for k, v in settings.items() if usual.get(k) != v]
    tags += [f"{k}-unset" for k in usual if k not in settings]
    name = self.path.name
    ending = next((e for e in (".jsonl.gz", ".jsonl", ".gz") if name.endswith(e)), "")
    return self.path.with_name(".".join([name[:len(name) - len(ending)]] + tags) + ending)

  def write(self, level, settings, usual, record):
    path = self.file_for(level, settings, usual)
    if path not in self.files:
      self.files[path] = gzip.open(path, "wt", encoding="utf-8") if path.name.endswith(".gz") else open(path, "w", encoding="utf-8")
      self.counts[path] = 0
      self.line(path, {"format": "tgc-golden", "version": 1, "level": level, "producer": f"tinygrad {WANTED}", "settings": settings})
    self.line(path, record)
    self.counts[path] += 1

  def line(self, path, value): self.files[path].write(json.dumps(value) + "\n")

  def close(self):
    for f in self.files.values(): f.close()


class Stages:
  """The graphs that the rewrites leave, in order, as text."""

  def __init__(self): self.list, self.last = [], None

  def add(self, name, graph):
    self.list.append({"name": name, "same": True} if graph is self.last else {"name": name, "ir": text_of(graph)})
    self.last = graph


def text_of(graph):
  from tinygrad.uop.ops import pyrender
  try: return pyrender(graph)
  except Exception: return None  # a few graphs break tinygrad's own printer


@contextlib.contextmanager
def replaced(owner, name, value):
  old = getattr(owner, name)
  setattr(owner, name, value)
  try: yield
  finally: setattr(owner, name, old)


# ---- targets: tinygrad's renderers by DEVICE:RENDERER[:ARCH]

def make_renderer(target):
  from tinygrad.codegen.opt import tc
  from tinygrad.renderer import cstyle, llvmir, ptx, wgsl
  device, renderer, arch = (target.split(":") + ["", ""])[:3]
  default = {"CPU": "CLANG", "CUDA": "CUDA", "METAL": "METAL", "CL": "CL", "AMD": "HIP", "WEBGPU": "WGSL"}
  renderer = renderer or default.get(device, "")
  def hip():
    import tinygrad.runtime.support.compiler_amd as compiler
    with replaced(compiler, "HIPCompiler", lambda *args: None): return cstyle.AMDHIPRenderer(arch)
  def metal():
    made = cstyle.MetalRenderer()
    made.tensor_cores = tc.metal  # the class has them on Apple's arm64 alone
    return made
  known = {("CPU", "CLANG"): cstyle.ClangRenderer, ("CPU", "LLVM"): llvmir.LLVMRenderer, ("CUDA", "CUDA"): lambda: cstyle.CUDARenderer(arch),
           ("CUDA", "PTX"): lambda: ptx.PTXRenderer(arch), ("METAL", "METAL"): metal, ("CL", "CL"): cstyle.OpenCLRenderer,
           ("CL", "INTEL"): cstyle.IntelRenderer, ("AMD", "HIP"): hip, ("AMD", "LLVM"): lambda: llvmir.AMDLLVMRenderer(arch),
           ("WEBGPU", "WGSL"): wgsl.WGSLRenderer}
  if (device, renderer) not in known: trouble(f"unknown target '{target}', one of " + ", ".join(f"{d}:{r}" for d, r in known) + " with :ARCH")
  if not arch and (device in ("CUDA", "AMD")): trouble(f"target '{target}' needs an architecture, as in CUDA:CUDA:sm_80 or AMD:HIP:gfx1100")
  return known[device, renderer]()


def target_of(renderer):
  """The target that a renderer of the running program stands for, None when a golden record has no name for it."""
  names = {"ClangRenderer": "CPU:CLANG", "ClangJITRenderer": "CPU:CLANG", "LLVMRenderer": "CPU:LLVM", "CUDARenderer": "CUDA:CUDA",
           "PTXRenderer": "CUDA:PTX", "MetalRenderer": "METAL:METAL", "OpenCLRenderer": "CL:CL", "IntelRenderer": "CL:INTEL",
           "AMDHIPRenderer": "AMD:HIP", "AMDHIPCCRenderer": "AMD:HIP", "AMDLLVMRenderer": "AMD:LLVM", "WGSLRenderer": "WEBGPU:WGSL"}
  name = names.get(type(renderer).__name__)
  if name is None or not name.startswith(renderer.device.split(":")[0]): return None
  return name + (f":{renderer.arch}" if name.split(":")[0] in ("CUDA", "AMD") else "")


# ---- one kernel

def launch_facts(program):
  def size(x): return x if isinstance(x, int) else number(x)
  def number(x): return x.render() if hasattr(x, "render") else str(x)
  e = program.estimates
  return {"name": program.name, "function_name": program.function_name, "global_size": [size(x) for x in program.global_size],
          "local_size": None if program.local_size is None else [size(x) for x in program.local_size],
          "vars": [list(v.arg) for v in program.vars], "globals": program.globals, "outs": program.outs, "ins": program.ins,
          "applied_opts": str(program.applied_opts), "ops": number(e.ops), "lds": number(e.lds), "mem": number(e.mem)}


def kernel_record(name, target, ast, renderer):
  """What tinygrad makes of one kernel AST for one target; where it refuses, the stages up to there and the error."""
  import tinygrad.codegen as codegen
  from tinygrad.codegen.opt.postrange import Scheduler
  from tinygrad.helpers import Context
  from tinygrad.renderer import ProgramSpec
  from tinygrad.uop.ops import KernelInfo, Ops, UOp, print_uops
  record = {"id": name, "target": target, "ast": text_of(ast), "nodes": len(ast.toposort())}
  stages, rewrite, optimize = Stages(), codegen.graph_rewrite, codegen.apply_opts
  def watched(sink, *args, **kwargs):
    result = rewrite(sink, *args, **kwargs)
    if not kwargs["name"].startswith("View"): stages.add(kwargs["name"], result)
    return result
  def optimized(sink, ren):
    result = optimize(sink, ren)
    stages.add("apply opts", result)
    return result
  names_given = dict(Scheduler.kernel_cnt)  # names count within the program; in a record they start anew
  Scheduler.kernel_cnt.clear()
  try:
    with replaced(codegen, "graph_rewrite", watched), replaced(codegen, "apply_opts", optimized), Context(DEBUG=0, BEAM=0):
      sink = ast if ast.arg is not None else ast.replace(arg=KernelInfo())
      full = codegen.full_rewrite_to_sink(sink, renderer, optimize=ast.tag is None)
      lines = codegen.line_rewrite(codegen.linearize(full), codegen.pm_linearize_cleanups)
  except Exception as e:
    return {**record, "error": repr(e), "stages": stages.list}
  finally:
    Scheduler.kernel_cnt.clear()
    Scheduler.kernel_cnt.update(names_given)
  try: record["source"] = renderer.render(list(lines))
  except Exception as e: record["source_error"] = repr(e)
  program = UOp(Ops.PROGRAM, src=(full, UOp(Ops.DEVICE, arg=renderer.device), UOp(Ops.LINEAR, src=tuple(lines)), UOp(Ops.SOURCE, arg="")))
  with Context(DEBUG=0): record["program"] = launch_facts(ProgramSpec.from_uop(program))
  listing = io.StringIO()
  with contextlib.redirect_stdout(listing): print_uops(lines)
  return {**record, "linear": listing.getvalue(), "stages": stages.list}


# ---- one schedule

def device_of(sink):
  """The kind of device that a schedule is for: that of its first tensor, of several devices the first."""
  from tinygrad.device import Device
  device = next((s._device for s in sink.src if s._device is not None), Device.DEFAULT)
  return (device if isinstance(device, str) else device[0]).split(":")[0]


def schedule_record(name, sink, make_schedule):
  """What tinygrad makes of one tensor graph while `make_schedule(sink)` runs: the record and the result. The record is None for a graph
  that the schedule cache knew. A schedule that fails gives a record with the error, and the exception in place of the result."""
  import tinygrad.engine.schedule as schedule
  import tinygrad.schedule.indexing as indexing
  import tinygrad.schedule.rangeify as rangeify
  record = {"id": name, "device": device_of(sink), "nodes": len(sink.toposort()), "ast": text_of(sink)}
  stages, items = Stages(), []
  def watched(rewrite):
    def call(sink, *args, **kwargs):
      result = rewrite(sink, *args, **kwargs)
      if kwargs.get("name") in TENSOR_STAGES: stages.add(kwargs["name"], result)
      return result
    return call
  def planned(todo):
    items.extend((i.ast, list(i.bufs), dict(i.fixedvars), i.metadata) for i in todo)  # before the memory planner moves the buffers
    return planner(todo)
  planner, result, error = schedule.memory_planner, None, None
  with contextlib.ExitStack() as stack:
    for module in (schedule, rangeify, indexing): stack.enter_context(replaced(module, "graph_rewrite", watched(module.graph_rewrite)))
    stack.enter_context(replaced(schedule, "memory_planner", planned))
    try: result = make_schedule(sink)
    except Exception as e: error = e
  if error is not None: return {**record, "error": repr(error), "stages": stages.list}, error
  if len(stages.list) < 2: return None, result
  numbers, kernels = {}, []
  for ast, bufs, fixedvars, metadata in items:
    uses = [{"base": numbers.setdefault(id(b.base), len(numbers)), "offset": b.offset, "size": b.size, "dtype": str(b.dtype)} for b in bufs]
    kernels.append({"ast": text_of(ast), "bufs": uses, "fixedvars": fixedvars, "metadata": [str(m) for m in metadata]})
  return {**record, "stages": stages.list, "kernels": kernels, "var_vals": dict(result[2])}, result


class Recorder:
  """Stands between the program and tinygrad's two compilers, get_program and the scheduler."""

  def __init__(self, writer, targets, prefix):
    self.writer, self.targets, self.prefix = writer, targets, prefix
    self.renderers = {t: make_renderer(t) for t in targets}
    self.usual = self.settings()
    self.usual_vars = {k: v.value for k, v in self.context_vars().items()}
    self.kernels, self.schedules, self.known, self.unnamed, self.busy, self.pid = 0, 0, set(), set(), False, os.getpid()
    self.ids = {}

  def context_vars(self):
    from tinygrad.helpers import ContextVar
    return {k: ContextVar._cache[k] for k in SETTINGS if k in ContextVar._cache}

  def settings(self):
    """The settings in force: those of the environment, and those that a Context of the program changed."""
    found = {k: os.environ[k] for k in SETTINGS if os.environ.get(k, "") != ""}
    usual = getattr(self, "usual_vars", {})
    for k, var in self.context_vars().items():
      if k in found or var.value != usual.get(k, var.value): found[k] = str(var.value)
    found["CPU_COUNT"] = str(self.context_vars()["CPU_COUNT"].value)  # the kernels of a CPU depend on it, set or not
    return found

  def record_kernel(self, ast, renderer, settings=None, name=None, writer_settings=None):
    settings = self.settings() if settings is None else settings
    todo = self.renderers
    if not todo:
      if (target := target_of(renderer)) is None:
        if (kind := type(renderer).__name__) not in self.unnamed: say(f"no target is called after {kind}: its kernels are left out, unless --targets names some")
        self.unnamed.add(kind)
        return
      todo = {target: renderer}
    for target, ren in todo.items():
      key = (ast.key, repr(ast.arg), repr(ast.tag), target, tuple(settings.items()))
      if key in self.known: continue
      self.known.add(key)
      if name is None:
        same = (ast.key, repr(ast.arg), repr(ast.tag))  # one kernel keeps its id over targets and settings
        if same not in self.ids: self.ids[same] = f"{self.prefix}.{len(self.ids)}"
      record = kernel_record(name or self.ids[same], target, ast, ren)
      self.writer.write("kernel", settings, self.usual, record)
      self.kernels += 1

  def watch(self):
    import tinygrad.codegen as codegen
    import tinygrad.engine.realize, tinygrad.codegen.opt.search, tinygrad.tensor
    import tinygrad.engine.schedule as schedule
    from tinygrad.helpers import BEAM
    from tinygrad.uop.ops import KernelInfo, Ops
    get_program, complete = codegen.get_program, schedule.complete_create_schedule_with_vars

    def recorded(ast, with_opts, renderer):
      try: self.record_kernel(ast if with_opts is None else ast.replace(arg=KernelInfo(opts_to_apply=tuple(with_opts))), renderer)
      except Exception: say("a kernel could not be recorded:\n" + traceback.format_exc())

    def program(ast, renderer, opts=None):
      mine = os.getpid() == self.pid and not self.busy and ast.op is not Ops.PROGRAM
      if not mine: return get_program(ast, renderer, opts)
      searching = BEAM >= 1 and opts is None and ast.tag is None and (ast.arg is None or ast.arg.opts_to_apply is None)
      self.busy = True
      try:
        if not searching: recorded(ast, opts, renderer)
        made = get_program(ast, renderer, opts)
        if searching and ast.arg is None: recorded(ast, made.applied_opts, renderer)  # a search is no function of the kernel; its result is
        return made
      finally: self.busy = False

    def scheduled(sink):
      if os.getpid() != self.pid or self.busy: return complete(sink)
      self.busy = True
      try: record, result = schedule_record(f"{self.prefix}.{self.schedules}", sink, complete)
      finally: self.busy = False
      if record is not None:
        self.schedules += 1
        self.writer.write("tensor", self.settings(), self.usual, record)
      if isinstance(result, Exception): raise result
      return result

    for module in list(sys.modules.values()):
      if module is None or not getattr(module, "__name__", "").startswith("tinygrad"): continue
      if module.__dict__.get("get_program") is get_program: module.get_program = program
      if module.__dict__.get("complete_create_schedule_with_vars") is complete: module.complete_create_schedule_with_vars = scheduled


def program_name(command):
  """What the records of a program are called: a script's or a module's name; of a test runner's, what it runs."""
  words = command[1:] if command[0] == "-m" else command
  if command[0] == "-m" and words[0] in ("unittest", "pytest"): words = [w for w in words[1:] if not w.startswith("-")] or words
  name = words[0].split("::")[0]
  return name.rsplit(".", 1)[-1] if command[0] == "-m" and "/" not in name and not name.endswith(".py") else pathlib.Path(name).stem


def run_program(command):
  """Runs a script or `-m module` in this process, as python would; its exit code."""
  try:
    if command[0] == "-m":
      if len(command) < 2: trouble("-m needs a module")
      sys.argv, sys.path[0] = command[1:], os.getcwd()
      runpy.run_module(command[1], run_name="__main__", alter_sys=True)
    else:
      sys.argv, sys.path[0] = command, str(pathlib.Path(command[0]).resolve().parent)
      runpy.run_path(command[0], run_name="__main__")
  except SystemExit as e: return e.code if isinstance(e.code, int) else 0 if e.code is None else (say(str(e.code)), 1)[1]
  except BaseException:
    traceback.print_exc()
    return 1
  return 0


# ---- records made again

def replay_names():
  """The names that pyrender's text uses."""
  from tinygrad.codegen.opt import Opt, OptOps
  from tinygrad.dtype import AddrSpace, ImageDType, Invalid, PtrDType, dtypes
  from tinygrad.schedule.rangeify import BufferizeOpts
  from tinygrad.uop.ops import AxisType, Kernel, KernelInfo, Ops, UOp
  return {**{k: v for k, v in locals().items()}, "inf": float("inf"), "nan": float("nan")}


def golden_lines(path):
  """The header of a golden file, plain or gzip, and then its records, each as one line of JSON."""
  with gzip.open(path, "rt", encoding="utf-8") if str(path).endswith(".gz") else open(path, encoding="utf-8") as lines: yield from lines


def replay(paths, recorder):
  from tinygrad.engine import schedule
  from tinygrad.uop.ops import UOp
  for path in paths:
    lines = golden_lines(path)
    header = json.loads(next(lines))
    if header.get("format") != "tgc-golden" or header.get("version") != 1: trouble(f"{path}: no golden file of version 1")
    wanted = {k: str(v) for k, v in header["settings"].items()}
    if wanted != recorder.usual:
      trouble(f"{path} was recorded under other settings; run again with\n  " + " ".join(f"{k}={v}" for k, v in wanted.items()) + " before the command")
    for line in lines:
      old, names = json.loads(line), replay_names()
      exec(old["ast"], names)
      if header["level"] == "kernel":
        targets = recorder.targets or [old["target"]]
        for target in targets:
          if target not in recorder.renderers: recorder.renderers[target] = make_renderer(target)
          record = kernel_record(old["id"], target, names["ast"], recorder.renderers[target])
          recorder.writer.write("kernel", wanted, wanted, record)
          recorder.kernels += 1
      else:
        schedule.schedule_cache.clear()
        UOp.unique_num = itertools.count(1 << 20)  # new buffers must not take the numbers that the record's own have
        record, _ = schedule_record(old["id"], names["ast"], schedule.complete_create_schedule_with_vars)
        if record is None: continue
        recorder.writer.write("tensor", wanted, wanted, record)
        recorder.schedules += 1


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                   usage="%(prog)s -o OUT.jsonl[.gz] [--targets=T,T] [--id=NAME] (-- program.py args... | --replay FILE...)")
  parser.add_argument("-o", "--output", required=True, help="the golden file to write")
  parser.add_argument("--targets", default="", help="compile every kernel for these, for example CPU:CLANG,CUDA:CUDA:sm_80")
  parser.add_argument("--id", help="what the records are called: NAME.0, NAME.1, ...; the program's name if not given")
  parser.add_argument("--replay", nargs="+", metavar="FILE", help="compile the graphs of these golden files again")
  split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
  options, command = parser.parse_args(sys.argv[1:split]), sys.argv[split + 1:]
  if bool(command) == bool(options.replay): parser.error("give a program after --, or --replay with golden files")

  os.environ["TRACEMETA"] = "0"  # metadata would stand in the text of kernels; it is about the program's lines, not the graph
  sys.path.insert(0, os.getcwd()) if command and command[0] == "-m" else None
  version = installed_version()
  if version is None: trouble(f"tinygrad is not installed here: pip install tinygrad=={WANTED}")
  if version != WANTED: trouble(f"the installed tinygrad is {version}, the records are of {WANTED}: pip install tinygrad=={WANTED}")
  for name in UNRECORDED:
    if os.environ.get(name): say(f"{name} is set; it changes the records and no header can say so")

  sys.setrecursionlimit(max(sys.getrecursionlimit(), 20000))
  writer = Writer(options.output)
  prefix = options.id or (program_name(command) if command else "replay")
  recorder = Recorder(writer, [t for t in options.targets.split(",") if t], prefix)
  code = 0
  try:
    if options.replay:
      replay(options.replay, recorder)
    else:
      recorder.watch()
      code = run_program(command)
  finally: writer.close()
  for path, count in writer.counts.items(): say(f"{path}: {count} records")
  if not writer.counts:
    say("nothing was compiled")
    return code or 2
  return code


if __name__ == "__main__": sys.exit(main())
