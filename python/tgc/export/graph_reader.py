"""Makes the nodes of a graph from tgc's JSON or from pyrender's text. Runs no code."""
from __future__ import annotations

import json
from typing import Any

from tgc.export.graph_text import GraphTextError, checked_node, permitted_names, read_graph, read_value
from tgc.export.kinds import JSON, Node


def parse_value(a: Any, nodes: list[Any]) -> Any:
  """Converts an arg or tag of tgc's JSON to tinygrad's object. Raises GraphTextError for a kind that it does not know.
  """
  if isinstance(a, list): return tuple(parse_value(x, nodes) for x in a)
  if not isinstance(a, dict): return a
  (kind, content), = a.items()
  if kind == "uop": return nodes[content]
  if kind == "value": return read_value(content)
  if kind == "float": return float(content)
  if kind == "bytes": return bytes.fromhex(content)
  records = permitted_names()[1]
  if kind not in records: raise GraphTextError(f"cannot make an argument of the kind '{kind}' from '{str(content)[:60]}'")
  named = {k: parse_value(v, nodes) for k, v in content.items() if k != "*"}
  return records[kind](*parse_value(content.get("*", []), nodes), **named)


def parse_nodes(graph: JSON) -> list[Node]:
  _, _, _, _, node_class, _, ops = permitted_names()
  nodes: list[Any] = []
  for n in graph["nodes"]:
    dtype, src = read_value(n["dtype"]), tuple(nodes[s] for s in n.get("src", ()))
    arg, tag = (parse_value(n.get(key), nodes) for key in ("arg", "tag"))
    if n["op"] == "CONST" and isinstance(arg, (int, float)) and not isinstance(arg, bool): arg = constant(dtype, arg)
    nodes.append(checked_node(node_class(ops[n["op"]], dtype, src, arg, tag)))
  return nodes


def constant(dtype: Any, number: Any) -> Any:
  """Returns the arg of a CONST: since 0.13, tinygrad stores floats as objects that distinguish 0.0 and -0.0."""
  kind = permitted_names()[1].get("ConstFloat")
  return kind(number) if kind and isinstance(number, float) else number


def read_any_graph(text: str) -> Node:
  """Returns the root of a graph in JSON or in pyrender's text. Raises GraphTextError, or what malformed JSON raises."""
  return parse_nodes(json.loads(text))[-1] if text.lstrip().startswith("{") else read_graph(text)
