"""A graph of any release's as tgc's JSON, by walking its nodes: no printer of tinygrad's has a say in it."""
import ast, dataclasses, enum, json, math, re


def without_addresses(text): return re.sub(r" at 0x[0-9a-f]+", "", text)


def has_own_repr(kind):
  """Whether a dataclass says itself how it is printed."""
  return not hasattr(kind.__repr__, "__wrapped__")  # those that @dataclass makes wrap a function


class Nodes:
  """Nodes in an order in which sources come first, each once."""

  def __init__(self): self.index, self.lines, self.dtypes = {}, [], {}

  def add(self, root):
    """The number of the root, once it and all that is below it are there."""
    stack = [(root, False)]
    while stack:
      node, visited = stack.pop()
      if node in self.index: continue
      if visited: self.write(node)
      else:
        stack.append((node, True))
        stack.extend((s, False) for s in reversed(node.src))
    return self.index[root]

  def write(self, u):
    line = {"op": u.op.name, "dtype": self.dtype(u.dtype)}
    if u.src: line["src"] = [self.index[s] for s in u.src]
    if u.arg is not None:
      value = u.arg
      line["arg"] = self.number(value) if isinstance(value, float) and u.op.name == "CONST" else self.value(value)
    if u.tag is not None: line["tag"] = self.value(u.tag)
    if u not in self.index:  # an arg may hold it
      self.index[u] = len(self.lines)
      self.lines.append(line)

  def dtype(self, d):
    if (text := self.dtypes.get(d)) is None:
      text = repr(d)
      if (pitch := getattr(d, "_pitch", -1)) != -1: text = text.replace("))", f"), {pitch})", 1)
      self.dtypes[d] = text
    return text

  @staticmethod
  def number(x): return float(x) if math.isfinite(x) else {"float": repr(float(x))}

  def value(self, a):
    kind = type(a)
    if a is None or kind in (bool, int, str): return a
    if kind is tuple or isinstance(a, (tuple, list)): return [self.value(x) for x in a]
    if isinstance(a, enum.Enum): return {"value": str(a)}
    if kind is float: return self.number(a)
    if isinstance(a, float): return {kind.__name__: {"*": [self.number(a)]}}
    if isinstance(a, bytes): return {"bytes": a.hex()}
    if hasattr(a, "op") and hasattr(a, "src"): return {"uop": self.add(a)}
    if repr(a) == "Invalid": return {"value": "Invalid"}
    if kind.__name__ in ("DType", "PtrDType", "ImageDType"): return {"value": self.dtype(a)}
    if dataclasses.is_dataclass(a): return self.record(a)
    return {"raw": without_addresses(repr(a))}

  def record(self, a):
    name = type(a).__name__
    if name == "Kernel": return {name: {"ast": self.value(a.ast), "metadata": []}}  # which is no part of the graph
    if not has_own_repr(type(a)):
      return {name: {f.name: self.value(getattr(a, f.name)) for f in dataclasses.fields(a) if f.repr}}
    try: return self.parsed(ast.parse(without_addresses(repr(a)), mode="eval").body)
    except SyntaxError: return {"raw": without_addresses(repr(a))}

  def parsed(self, e):
    """A value from the text that it prints as: ParamArg(0, dtypes.float, addrspace=AddrSpace.LOCAL)."""
    if isinstance(e, ast.Constant): return self.value(e.value)
    if isinstance(e, ast.UnaryOp) and isinstance(e.operand, ast.Constant): return self.value(-e.operand.value)
    if isinstance(e, (ast.Tuple, ast.List)): return [self.parsed(x) for x in e.elts]
    if isinstance(e, ast.Call) and isinstance(e.func, ast.Name):
      positional = {"*": [self.parsed(x) for x in e.args]} if e.args else {}
      return {e.func.id: positional | {k.arg: self.parsed(k.value) for k in e.keywords}}
    text = ast.unparse(e)
    return {"value" if "." in text or text == "Invalid" else "raw": text}  # an enum's, a dtype; a name such as CPU


def compact(value): return json.dumps(value, separators=(",", ":"))


def graph_text(root, producer, listed=None):
  """The JSON of the graph under `root`, or of a linear list, one node a line."""
  nodes = Nodes()
  order = [nodes.add(u) for u in listed] if listed is not None else None
  if listed is None: nodes.add(root)
  if listed is None and nodes.index[root] != len(nodes.lines) - 1:  # the root stands in an arg below itself: cannot be
    raise ValueError("the root is not the last node")
  head = compact({"format": "tgc-graph", "version": 1, "producer": producer})[:-1]
  body = ",\n".join(map(compact, nodes.lines))
  return f'{head},"nodes":[\n{body}\n]' + ("" if order is None else f',"list":{compact(order)}') + "}\n"
