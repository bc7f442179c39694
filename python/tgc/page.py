from __future__ import annotations

import html
import pathlib
import tempfile
from typing import Any

from tgc.process import call
from tgc.recording import Input, Path, input_of, recorded
from tgc.reports import command_line_options


class Page:
  """A page of `tgc view` as HTML, which needs no network. A notebook shows it in a frame of `height` pixels."""

  def __init__(self, text: str, height: int = 640) -> None: self.html, self.height = text, height

  def save(self, path: Path) -> pathlib.Path:
    """Writes the page to a file. Returns its path."""
    file = pathlib.Path(path)
    file.write_text(self.html)
    return file

  def _repr_html_(self) -> str:
    # The sandbox keeps the page's scripts away from the notebook's own page.
    return (f'<iframe srcdoc="{html.escape(self.html)}" width="100%" height="{self.height}" title="tgc view" '
            'sandbox="allow-scripts allow-downloads allow-popups" style="border: 1px solid #8888; resize: vertical"></iframe>')

  def __repr__(self) -> str: return f"<Page of {len(self.html) // 1024} KiB; show it in a notebook, or save(path)>"


def view(x: Input, other: Input = None, height: int = 640, **options: Any) -> Page:
  """Returns the page of `tgc view` for a kernel, a schedule, a recording, a tensor or a file; with `other`, a
  comparison of two. `options` are those of the command: run=True, bisect=True, ... Raises TgcError if the command
  fails."""
  kept = [recorded(i) for i in (x, other) if i is not None]
  inputs = [input_of(i) for i in kept]
  with tempfile.TemporaryDirectory(prefix="tgc.") as folder:
    file = pathlib.Path(folder, "page.html")
    call("view", *inputs, f"--output={file}", *command_line_options(options))
    return Page(file.read_text(), height)
