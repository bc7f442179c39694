"""What a jitted function can reach that is neither its own nor an input: the tensors and lists of its closure and its
module, of the objects, lists and dicts there, and of the functions of the program that it calls. Compared before and
after the function is traced they say what it rebinds, which no replay does again.
"""
import inspect, types, weakref

MOST, DEEPEST = 10000, 8  # places looked at, and how deep
OPAQUE = (type, types.ModuleType, weakref.ref)
WITH_PARTS = ("tinygrad.nn", "tinygrad.apps", "tinygrad.llm")  # of tinygrad's objects: layers and optimizers


def code_names(code):
  """The global names in a function's code, and in that of the functions in it."""
  return [*code.co_names, *(n for c in code.co_consts if isinstance(c, types.CodeType) for n in code_names(c))]


def is_of_program(x):
  module = getattr(x, "__module__", None) or ""
  return not module.startswith("tinygrad.") or module.startswith(WITH_PARTS)


def variables(function):
  """Those of the function that are not its own, by name."""
  function = inspect.unwrap(getattr(function, "__func__", function))
  code, out = getattr(function, "__code__", None), {}
  if code is None: return out
  for name, cell in zip(code.co_freevars, function.__closure__ or ()):
    try: out[name] = cell.cell_contents
    except ValueError: pass  # not bound yet
  for name in code_names(code):
    if name in function.__globals__: out.setdefault(name, function.__globals__[name])
  return out


def parts(path, x):
  """What an object holds: (path, part) of each."""
  if isinstance(x, dict): return [(f"{path}[{k!r}]", v) for k, v in x.items() if isinstance(k, (str, int))]
  if isinstance(x, (list, tuple)): return [(f"{path}[{i}]", v) for i, v in enumerate(x)]
  if not is_of_program(type(x)) and hasattr(x, "fxn"): x = x.fxn  # another TinyJit
  if isinstance(x, (types.FunctionType, types.MethodType)):
    return [*(variables(x).items() if is_of_program(x) else ()), *((path, s) for s in (getattr(x, "__self__", None),) if s)]
  own = getattr(x, "__dict__", None)
  if not isinstance(own, dict) or not is_of_program(type(x)): return []
  methods = [m for m in vars(type(x)).values() if isinstance(m, types.FunctionType)]
  return [*((f"{path}.{k}", v) for k, v in own.items()), *(v for m in methods for v in variables(m).items())]


class Held:
  """What is reachable now. Nothing here keeps a tensor alive, which would be seen in what is captured."""

  def __init__(self, function, args, inputs, is_tensor, fact):
    """`fact(tensor)`: the number of its buffer, and whether it is computed."""
    self.tensors, self.lists = {}, {}  # by path: (a weak reference, the fact); how many items
    todo = [(name, x, 0) for name, x in [*variables(function).items(), *args.items()]]
    seen = {id(t) for t in inputs}
    for path, x, depth in todo:  # which grows
      if id(x) in seen or isinstance(x, OPAQUE): continue
      seen.add(id(x))
      if is_tensor(x):
        self.tensors.setdefault(path, (weakref.ref(x), fact(x)))
        continue
      if isinstance(x, list): self.lists.setdefault(path, len(x))
      if depth < DEEPEST and len(todo) < MOST: todo += [(p, part, depth + 1) for p, part in parts(path, x)]

  def rebound(self, after, assigned):
    """(path, fact before, fact after) of each that is another tensor now, or one that was given another buffer other
    than by an assignment: `assigned` are those that were assigned to."""
    for path, (tensor, now) in after.tensors.items():
      before, was = self.tensors.get(path, (None, now))
      if was == now: continue
      if before() is tensor():
        is_computed, was_computed = now[1], was[1]
        if not was_computed or any(t is tensor() for t in assigned) or (assigned and not is_computed): continue
      yield path, was, now

  def grown(self, after):
    return [path for path, size in after.lists.items() if size > self.lists.get(path, size)]

  def holding(self, is_read):
    """The lists of whose tensors one is read, those of objects and lists in them, too: the function walks over them."""
    read = [path for path, (tensor, _) in self.tensors.items() if (t := tensor()) is not None and is_read(t)]
    return {path for path in self.lists if any(r.startswith(f"{path}[") for r in read)}

  def sizes(self, paths): return {path: f"list of {self.lists[path]}" for path in paths if path in self.lists}
