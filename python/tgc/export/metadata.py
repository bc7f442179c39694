"""Records which Tensor method, which line of the program and which ONNX node a kernel comes from."""
from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, ClassVar

from tgc.export.hooks import program_call, set_attribute
from tgc.export.kinds import JSON


def metadata_list(metadata: Any) -> list[JSON]:
  return [{"name": m.name, **{key: value for key in ("caller", "backward", "node") if (value := getattr(m, key, None))}}
          for m in metadata or ()]


class QuietMetadata(tuple[Any, ...]):
  """A kernel's metadata inside a graph. It prints as an empty tuple, because it is not a part of the graph."""
  def __repr__(self) -> str: return "()"
  def __reduce__(self) -> tuple[Any, ...]: return tuple, (tuple(self),)


class NamedNodes(tuple[Any, ...]):
  """The nodes of an ONNX model. Iterating sets `running` to the name of the node that is being run."""
  running: str | None = None
  names: ClassVar[dict[int, str]] = {}
  def __iter__(self) -> Iterator[Any]:
    for node in super().__iter__():
      NamedNodes.running = NamedNodes.names.get(id(node))
      yield node
    NamedNodes.running = None


def watch_metadata() -> None:
  """Makes tinygrad store the program's line with each Tensor method, and keeps metadata out of printed graphs."""
  from tinygrad import tensor
  from tinygrad.helpers import Metadata
  from tinygrad.uop import ops
  kind: Any = Metadata
  if "caller" not in Metadata.__dataclass_fields__:  # a field, unlike an attribute, is kept where tinygrad copies the metadata for a gradient
    kind = dataclasses.make_dataclass("Metadata", [("caller", str, "")], bases=(Metadata,), frozen=True, repr=False)
  def make_metadata(name: str, caller: str = "", backward: bool = False) -> Any:
    line, function = program_call()
    made = kind(function or name, caller=caller or line, backward=backward)
    if NamedNodes.running: object.__setattr__(made, "node", NamedNodes.running)
    return made
  if hasattr(tensor, "Metadata"): set_attribute(tensor, "Metadata", make_metadata)
  if (kernel := getattr(ops, "Kernel", None)) is None: return
  init = kernel.__init__
  set_attribute(kernel, "__init__", lambda self, ast, metadata=(), *rest: init(self, ast, QuietMetadata(metadata), *rest))


def watch_onnx(onnx: Any) -> None:
  init = onnx.OnnxRunner._init_from_graph
  def init_with_names(self: Any, graph: Any, *args: Any, **kwargs: Any) -> None:
    init(self, graph, *args, **kwargs)
    NamedNodes.names |= {id(n["parsed_node"]): n.get("name") or ",".join(n["output"]) for n in graph["node"]}
    self.graph_nodes = NamedNodes(self.graph_nodes)
  set_attribute(onnx.OnnxRunner, "_init_from_graph", init_with_names)
