from __future__ import annotations

import itertools
import os
import pathlib
from collections.abc import Sequence

OUTPUTS = (".jsonl", ".jsonl.gz", ".html", ".repro")


class AccessRefused(Exception):
  """The server refuses an input, an output or a device."""


class AllowedFolders:
  """The folders of the server. A relative path is looked up in each of them, in order."""

  def __init__(self, folders: Sequence[str | os.PathLike[str]]) -> None:
    self.roots = [pathlib.Path(f).resolve(strict=True) for f in folders]
    self.written: set[pathlib.Path] = set()

  def contains(self, path: pathlib.Path) -> bool: return any(path.is_relative_to(root) for root in self.roots)

  def resolve_path(self, name: str) -> pathlib.Path:
    """Returns the path of a name; follows symbolic links. Raises AccessRefused if it is no path or outside the folders."""
    if "\0" in name or not name: raise AccessRefused(f"{name!r} is no path")
    paths = [(root / name).resolve() for root in self.roots]
    path = next((p for p in paths if p.exists()), paths[0])
    if not self.contains(path): raise AccessRefused(f"'{name}' is outside the folders of this server: {self.names()}")
    return path

  def names(self) -> str: return ", ".join(map(str, self.roots))

  def file(self, name: str) -> pathlib.Path:
    """Returns an existing file. Raises AccessRefused if it is outside the folders or no regular file. tgc also
    reads files beside it whose names begin alike, and the files in such folders NAME.inputs: raises AccessRefused if
    one of these is a link that leads outside."""
    path = self.resolve_path(name)
    if not path.is_file(): raise AccessRefused(f"there is no file '{name}' in {self.names()}")
    self.check_neighbours(path)
    return path

  def input(self, name: str) -> str:
    """Returns an INPUT of tgc's commands, FILE or FILE#ID, with the file's full path. Raises AccessRefused as file(), and if
    a file has the name FILE#ID."""
    file, mark, record = name.partition("#")
    path = self.file(file)
    whole = f"{path}{mark}{record}"
    if mark and os.path.exists(whole): raise AccessRefused(f"'{name}' is a file and a record; rename the file")
    return whole

  def output(self, name: str) -> pathlib.Path:
    """Returns the path of a file to write. Raises AccessRefused if this server may not write it."""
    path = self.resolve_path(name)
    if not path.name.endswith(OUTPUTS): raise AccessRefused(f"'{name}' must end with one of {', '.join(OUTPUTS)}")
    if not path.parent.is_dir(): raise AccessRefused(f"the folder of '{name}' does not exist")
    if path.exists() and path not in self.written: raise AccessRefused(f"'{name}' exists already; choose another name")
    self.check_neighbours(path)
    self.written.add(path)
    return path

  def new_output_path(self, stem: str, ending: str) -> pathlib.Path:
    """Returns the path of a new file in the first folder: out.html for "out" and ".html", or out-2.html if that exists.
    """
    names = itertools.chain([stem], (f"{stem}-{n}" for n in itertools.count(2)))
    return self.output(next(name + ending for name in names if not (self.roots[0] / (name + ending)).exists()))

  def recordings(self) -> list[str]:
    """Returns the names of the .jsonl and .jsonl.gz files in the folders, the newest first."""
    files = (p for root in self.roots for p in root.rglob("*.jsonl*") if p.name.endswith((".jsonl", ".jsonl.gz")))
    found = [p for p in files if p.is_file() and self.contains(p.resolve())]
    return [self.short(p) for p in sorted(found, key=lambda p: -p.stat().st_mtime)]

  def check_neighbours(self, path: pathlib.Path) -> None:
    stem = path.name.split(".")[0]
    for beside in path.parent.iterdir():
      if not beside.name.startswith(stem): continue
      inside = beside.rglob("*") if beside.is_dir() and beside.name.endswith(".inputs") else ()
      for link in (beside, *inside):
        if link.is_symlink() and not self.contains(link.resolve()):
          raise AccessRefused(f"'{link}' is a link that leads outside the folders of this server")

  def short(self, path: str | os.PathLike[str]) -> str:
    text = os.fspath(path)
    root = next((root for root in self.roots if text.startswith(f"{root}{os.sep}")), None)
    return text[len(str(root)) + 1:] if root and self.roots[0] == root else text
