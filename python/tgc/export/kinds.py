from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, Protocol

JSON = dict[str, Any]
Settings = Mapping[str, Any]  # None unsets a setting
Function = Callable[..., Any]
Path = str | os.PathLike[str]


class Node(Protocol):
  """A tinygrad UOp of any release; these members are common to all."""
  op: Any
  dtype: Any
  src: tuple[Any, ...]
  arg: Any
  tag: Any
  key: bytes

  def toposort(self) -> Any: ...
  def replace(self, **members: Any) -> Any: ...
  def __getattr__(self, name: str) -> Any: ...
