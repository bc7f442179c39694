"""Converts a graph of any release to tgc's JSON, without pyrender."""
from __future__ import annotations

import ast
import dataclasses
import enum
import json
import math
import re
import weakref
from collections.abc import Sequence
from typing import Any, ClassVar

from tgc.export.kinds import JSON, Node


def without_addresses(text: str) -> str: return re.sub(r" at 0x[0-9a-f]+", "", text)


def enum_name(a: Any) -> str: return f"{type(a).__name__}.{a.name}"  # str() of an IntEnum is a number


def has_own_repr(kind: type) -> bool:
  return not hasattr(kind.__repr__, "__wrapped__")  # a __repr__ that @dataclass makes wraps a function


class NodeCollector:
  """Collects nodes as JSON objects, each node once and after its sources."""

  def __init__(self) -> None:
    self.index: dict[Any, int] = {}
    self.lines: list[JSON] = []
    self.dtypes: dict[Any, str] = {}
    self.has_node = False

  def add(self, root: Node) -> int:
    stack = [(root, False)]
    while stack:
      node, visited = stack.pop()
      if node in self.index: continue
      if visited: self.write(node)
      else:
        stack.append((node, True))
        stack.extend((s, False) for s in reversed(node.src))
    return self.index[root]

  def write(self, u: Node) -> None:
    line = self.line(u)
    if u not in self.index:  # converting the arg may have added the node
      self.index[u] = len(self.lines)
      self.lines.append(line)

  def line(self, u: Node) -> JSON:
    line: JSON = {"op": u.op.name, "dtype": self.dtype(u.dtype)}
    if u.src: line["src"] = [self.index[s] for s in u.src]
    if u.arg is not None:
      value = u.arg
      line["arg"] = self.number(value) if isinstance(value, float) and u.op.name == "CONST" else self.value(value)
    if u.tag is not None: line["tag"] = self.value(u.tag)
    return line

  def dtype(self, d: Any) -> str:
    if (text := self.dtypes.get(d)) is None:
      text = repr(d)
      space = getattr(d, "addrspace", None)
      if space is not None and space.name != "GLOBAL": text = text.replace(f", {space.value})", f", {enum_name(space)})")
      if (pitch := getattr(d, "_pitch", -1)) != -1: text = text.replace("))", f"), {pitch})", 1)
      self.dtypes[d] = text
    return text

  @staticmethod
  def number(x: Any) -> Any: return float(x) if math.isfinite(x) else {"float": repr(float(x))}

  def value(self, a: Any) -> Any:
    kind = type(a)
    if a is None or kind in (bool, int, str): return a
    if kind is tuple or isinstance(a, (tuple, list)): return [self.value(x) for x in a]
    if isinstance(a, enum.Enum): return {"value": enum_name(a)}
    if kind is float: return self.number(a)
    if isinstance(a, float): return {kind.__name__: {"*": [self.number(a)]}}
    if isinstance(a, bytes): return {"bytes": a.hex()}
    if hasattr(a, "op") and hasattr(a, "src"):
      number = self.add(a)
      self.has_node = True
      return {"uop": number}
    if repr(a) == "Invalid": return {"value": "Invalid"}
    if kind.__name__ in ("DType", "PtrDType", "ImageDType"): return {"value": self.dtype(a)}
    if dataclasses.is_dataclass(a): return self.dataclass_json(a)
    return {"raw": without_addresses(repr(a))}

  def dataclass_json(self, a: Any) -> JSON:
    name = type(a).__name__
    if name == "Kernel": return {name: {"ast": self.value(a.ast), "metadata": []}}  # metadata is not a part of the graph
    if not has_own_repr(type(a)):
      return {name: {f.name: self.value(getattr(a, f.name)) for f in dataclasses.fields(a) if f.repr}}
    try: return dict(self.repr_json(ast.parse(without_addresses(repr(a)), mode="eval").body))
    except SyntaxError: return {"raw": without_addresses(repr(a))}

  def repr_json(self, e: Any) -> Any:
    if isinstance(e, ast.Constant): return self.value(e.value)
    if isinstance(e, ast.UnaryOp) and isinstance(e.operand, ast.Constant): return self.value(ast.literal_eval(e))
    if isinstance(e, (ast.Tuple, ast.List)): return [self.repr_json(x) for x in e.elts]
    if isinstance(e, ast.Call) and isinstance(e.func, ast.Name):
      positional = {"*": [self.repr_json(x) for x in e.args]} if e.args else {}
      return {e.func.id: positional | {k.arg: self.repr_json(k.value) for k in e.keywords}}
    text = ast.unparse(e)
    return {"value" if "." in text or text == "Invalid" else "raw": text}  # a bare name, such as CPU, is raw


class NodeTextCollector(NodeCollector):
  """Collects nodes as lines of text. Stages share nodes: `parts` keeps nodes' texts before and after the sources.
  """
  parts: ClassVar[weakref.WeakKeyDictionary[Any, tuple[str, str]]] = weakref.WeakKeyDictionary()

  def __init__(self) -> None:
    super().__init__()
    self.texts: list[str] = []

  def write(self, u: Node) -> None:
    if (known := self.parts.get(u)) is None:
      self.has_node = False
      line = self.line(u)
      line.pop("src", None)
      more = {key: line.pop(key) for key in ("arg", "tag") if key in line}
      known = compact(line)[:-1], ("," + compact(more)[1:] if more else "}")
      if not self.has_node: self.parts[u] = known  # otherwise the text has the number of a node of this graph
    if u in self.index: return
    sources = ",".join([str(self.index[s]) for s in u.src])
    self.index[u] = len(self.texts)
    self.texts.append(f'{known[0]},"src":[{sources}]{known[1]}' if u.src else known[0] + known[1])


def compact(value: Any) -> str: return json.dumps(value, separators=(",", ":"))


def graph_text(root: Node, producer: str, listed: Sequence[Node] | None = None, numbers: dict[Any, int] | None = None) -> str:
  """Returns the JSON of the graph under `root`, or of the linear list `listed`, one node per line. Adds the nodes'
  numbers to `numbers`."""
  nodes = NodeTextCollector()
  if numbers is not None: nodes.index = numbers
  order = [nodes.add(u) for u in listed] if listed is not None else None
  if listed is None: nodes.add(root)
  if listed is None and nodes.index[root] != len(nodes.texts) - 1:
    raise ValueError("the root is not the last node")
  head = compact({"format": "tgc-graph", "version": 1, "producer": producer})[:-1]
  body = ",\n".join(nodes.texts)
  return f'{head},"nodes":[\n{body}\n]' + ("" if order is None else f',"list":{compact(order)}') + "}\n"
