"""Types of the exporter. tinygrad's own objects change from release to release: `Node` says what all releases share."""
from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, Protocol

JSON = dict[str, Any]
Settings = Mapping[str, Any]  # tinygrad's settings by name; None unsets one
Function = Callable[..., Any]
Path = str | os.PathLike[str]


class Node(Protocol):
  """A node of a graph: tinygrad's UOp, of any release. Further members are those of the installed release."""
  op: Any
  dtype: Any
  src: tuple[Any, ...]
  arg: Any
  tag: Any
  key: bytes

  def toposort(self) -> Any: ...
  def replace(self, **members: Any) -> Any: ...
  def __getattr__(self, name: str) -> Any: ...
