"""Finds the program tgc, runs it, and turns its errors into exceptions."""
from __future__ import annotations

import json
import keyword as keyword_module
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

JSON = dict[str, Any]
PACKAGE = pathlib.Path(__file__).resolve().parent


# Options of the exporter, which tgc's messages name, as tgc.record() spells them.
RECORD = {"--rewrites": "rewrites=True", "--save-inputs": "inputs=True", "--watch-nan": "watch_nan=True"}

OPTION = re.compile(r"(?<![\w-])(--[a-z][a-z-]*[a-z])(?:=([\w:./#%+{}*-]*[\w}*/])| (\w+=\w+))?")


def in_python(text: str) -> str:
  """Returns a message of tgc with Python's keyword arguments for its options: --each-stage is each_stage=True. Quoted
  commands stay as they are."""
  def keyword(match: re.Match[str]) -> str:
    option, value = match[1], match[2] or match[3]
    if option in RECORD: return f"tgc.record({RECORD[option]})"
    name = option[2:].replace("-", "_")
    name += "_" * keyword_module.iskeyword(name)
    if value is None: return f"{name}=True"
    return f"{name}={value}" if re.fullmatch(r"-?[0-9.]+|[A-Z]+", value) else f'{name}="{value}"'
  pieces = re.split(r"(`[^`]*`)", text)
  return "".join(p if p.startswith("`") else OPTION.sub(keyword, p) for p in pieces)


class TgcError(Exception):
  """tgc could not do what was asked.

  `diagnostics` holds tgc's messages, with options as Python spells them; `command` is the command line, `exit_code` its
  result.
  """

  def __init__(self, diagnostics: Sequence[str], command: Sequence[str] = (), exit_code: int = 2) -> None:
    self.diagnostics, self.command, self.exit_code = tuple(map(in_python, diagnostics)), tuple(command), exit_code
    super().__init__("\n".join(self.diagnostics) or f"tgc ended with exit code {exit_code}")


def binary() -> str:
  """Returns the path of the program tgc.

  If the environment variable TGC is set, returns its value. Otherwise looks at the scripts of this Python's
  environment, the installation or checkout that holds this package, and PATH, in this order. Raises TgcError if there
  is no such program.
  """
  if named := os.environ.get("TGC"):
    if pathlib.Path(named).is_file() and os.access(named, os.X_OK): return named
    raise TgcError([f"the environment variable TGC names '{visible(named)}', which is not an executable file; set TGC to the path of tgc, or unset it"])
  # the scripts of a wheel; the programs of a PREFIX, if this package is PREFIX/share/tgc/tgc; the build of a checkout
  places = [pathlib.Path(sysconfig.get_path("scripts")), PACKAGE.parents[2] / "bin",
            PACKAGE.parents[1] / "build/release/bin"]
  for folder in places:
    if os.access(folder / "tgc", os.X_OK): return str(folder / "tgc")
  if found := shutil.which("tgc"): return found
  raise TgcError(["the program tgc is not installed; install the wheel of a release, or set TGC to its path"])


def diagnostics_of(stderr: str) -> list[str]:
  """Returns tgc's messages in a text of standard error, without notes. A line that does not begin with `tgc: `
  continues the message before it."""
  out: list[str] = []
  for line in stderr.splitlines():
    if line.startswith("tgc: "): out.append(line.removeprefix("tgc: "))
    elif line.strip() and out: out[-1] += "\n" + line
    elif line.strip(): out.append(line)
  return [text for text in out if not text.startswith("note: ")]


def visible(text: str) -> str:
  """Returns a text of a file as one line, with escapes for line breaks and for other characters that are not printable.
  """
  return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def call(*arguments: str, allowed: Sequence[int] = (0, 1), stdin: str | None = None) -> subprocess.CompletedProcess[str]:
  """Runs tgc with arguments. Raises TgcError unless the exit code is one of `allowed`."""
  command = [binary(), *arguments]
  done = subprocess.run(command, input=stdin, stdin=None if stdin is not None else subprocess.DEVNULL, capture_output=True,
                        text=True, errors="replace", check=False)
  if done.returncode not in allowed: raise TgcError(diagnostics_of(done.stderr), command, done.returncode)
  return done


def call_json(*arguments: str, allowed: Sequence[int] = (0, 1)) -> Any:
  """Runs tgc with arguments and --json. Returns the object that it prints. Raises TgcError as call() does, and if it
  prints no JSON."""
  done = call(*arguments, "--json", allowed=allowed)
  try: return json.loads(done.stdout)
  except json.JSONDecodeError as e: raise TgcError(diagnostics_of(done.stderr) or [f"tgc printed no JSON: {e}"], done.args) from e


def call_json_lines(*arguments: str, total: int | None = None, label: str = "tgc") -> Iterator[JSON]:
  """Runs tgc with arguments and --json. Yields the objects that it prints, one a line, and shows the progress. Raises
  TgcError at the end if the exit code is not 0 or 1."""
  command = [binary(), *arguments, "--json"]
  last: JSON = {}
  with tempfile.TemporaryFile("w+", errors="replace") as stderr:
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr, text=True) as process:
      assert process.stdout is not None
      try:
        for line in progress(process.stdout, total, label):
          if not line.startswith("{"): continue
          yield (last := json.loads(line))
      finally:
        if sys.exc_info()[0] is not None: process.kill()
    stderr.seek(0)
    if process.returncode not in (0, 1):
      raise TgcError(diagnostics_of(stderr.read()) or [last["error"]] * ("error" in last), command, process.returncode)


def progress(items: Iterator[str] | Any, total: int | None, label: str) -> Iterator[str]:
  """Shows a bar of tqdm, if tqdm is installed, while items are iterated; not if their number is unknown or below 2."""
  if total is None or total < 2: return iter(items)
  try:
    from tqdm.auto import tqdm
  except ImportError: return iter(items)
  return iter(tqdm(items, total=total, desc=label, leave=False))
