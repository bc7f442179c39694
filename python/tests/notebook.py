"""Runs the first example of the package's README and further cells in Jupyter's kernel, and saves them as a page.

  notebook.py OUT.html     run with a Python that has nbclient, ipykernel and tinygrad
"""
from __future__ import annotations

import html
import pathlib
import re
import sys
from typing import Any

import nbclient
import nbformat

README = pathlib.Path(__file__).parents[1] / "tgc/README.md"
EXAMPLE = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)[0]
CELLS = [EXAMPLE, """
assert k.stages["expander"].changed and k.source and k.rewrites
assert tgc.run(k).passed
assert tgc.bisect(k).passed and tgc.bisect(k).rule is None and tgc.prove(k).verdict in ("proven", "sampled")
assert tgc.diff(rec, "golden.jsonl.gz").same
assert tgc.lint(rec) == []
rec
""", "tgc.view(k)", """
shown = tgc.debug((a @ b).sum(0).softmax())
print(shown)
assert len(shown.schedule.kernels) > 1
"""]


def run() -> nbformat.NotebookNode:
  """Raises CellExecutionError if a cell fails."""
  made: Any = nbformat.v4  # its functions have no types
  notebook = made.new_notebook(cells=[made.new_code_cell(cell.strip()) for cell in CELLS])
  return nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()


def page_of(notebook: nbformat.NotebookNode) -> str:
  out = ["<!doctype html><meta charset=utf-8><body style='font: 14px sans-serif; max-width: 1100px; margin: auto'>"]
  for cell in notebook.cells:
    out.append(f"<pre style='background: #f4f4f4; padding: 8px; overflow: auto'>{html.escape(cell.source)}</pre>")
    for output in cell.outputs:
      data = output.get("data", {"text/plain": output.get("text", "")})
      out.append(data.get("text/html") or f"<pre style='overflow: auto'>{html.escape(data['text/plain'])}</pre>")
  return "\n".join(out)


if __name__ == "__main__":
  pathlib.Path(sys.argv[1]).write_text(page_of(run()))
