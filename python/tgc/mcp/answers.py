"""Runs tgc's commands, and makes the answers of the tools: short texts in pages, which end with the next call to make.
"""
from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Sequence
from typing import Any

import anyio

from tgc.process import TgcError, binary, diagnostics_of, visible

PAGE = 3600  # characters; in ASCII, six pages with their last lines are less than 24 kB
OUTPUT_LIMIT = 1 << 26
MOST_KEPT_OUTPUTS = 8  # outputs that are kept, so that further pages need no further run


def printable(text: str) -> str:
  """Returns a text with escapes for characters that are not printable, except line breaks; a tab becomes two spaces."""
  return "\n".join(visible(line.replace("\t", "  ")) for line in text.split("\n"))


def split_pages(text: str, size: int = PAGE) -> list[str]:
  """Splits a text into pages of at most `size` characters, at ends of lines if there are any."""
  out: list[str] = []
  while len(text) > size:
    end = text.rfind("\n", 1, size) + 1 or size
    out.append(text[:end])
    text = text[end:]
  return [*out, text]


def call_text(tool: str, **arguments: Any) -> str:
  return f"{tool} {json.dumps({k: v for k, v in arguments.items() if v not in (None, '', [])})}"


def answer_page(text: str, page: int, here: tuple[str, dict[str, Any]], following: str) -> str:
  """Returns a page of a text, the call for the next page if there is one, and the call to make next."""
  parts = split_pages(printable(text).rstrip() or "(nothing)")
  number = min(max(page, 1), len(parts))
  lines = [parts[number - 1].rstrip()]
  if len(parts) > 1: lines.append(f"page {number} of {len(parts)}")
  if number < len(parts): lines.append(f"more: {call_text(here[0], **{**here[1], 'page': number + 1})}")
  return "\n".join([*lines, f"next: {following}"])


class CommandOutput:
  def __init__(self, text: str, errors: str, code: int) -> None: self.text, self.errors, self.code = text, errors, code

  def json_objects(self) -> list[dict[str, Any]]:
    try: return [json.loads(self.text)]
    except ValueError: return [json.loads(line) for line in self.text.splitlines() if line.startswith("{")]


def changed_at(word: str) -> int:
  """Returns when the file of an INPUT, FILE or FILE#ID, was changed, in nanoseconds; 0 for other words of a command."""
  try: return os.stat(word.partition("#")[0]).st_mtime_ns
  except (OSError, ValueError): return 0


class CommandRunner:

  def __init__(self, folder: str, seconds: float) -> None:
    self.folder, self.seconds = folder, seconds
    self.kept_outputs: dict[tuple[object, ...], CommandOutput] = {}

  async def run(self, *words: str, allowed: Sequence[int] = (0, 1), keep: bool = True) -> CommandOutput:
    """Runs tgc. Raises TgcError if the exit code is none of `allowed`, or the time is over. `keep`: returns the last
    output of the same words, if it is still kept and the files that the words name have not changed."""
    key = (*words, *map(changed_at, words))
    if keep and key in self.kept_outputs: return self.kept_outputs[key]
    done = await self.execute([binary(), *words])
    if done.code not in allowed: raise TgcError(diagnostics_of(done.errors) or [done.text[:1000]], words, done.code)
    if keep:
      self.kept_outputs[key] = done
      if len(self.kept_outputs) > MOST_KEPT_OUTPUTS: del self.kept_outputs[next(iter(self.kept_outputs))]
    return done

  async def execute(self, command: Sequence[str], environment: dict[str, str] | None = None) -> CommandOutput:
    """Runs a program. Kills it when the time is over, which raises TgcError, and if the host cancels the request."""
    out: dict[str, bytes] = {}

    async def read(name: str, stream: Any) -> None:
      data = bytearray()
      async for chunk in stream:
        if len(data) < OUTPUT_LIMIT: data += chunk
      out[name] = bytes(data)

    started = anyio.open_process(list(command), stdin=subprocess.DEVNULL, cwd=self.folder, env=environment,
                                 start_new_session=True)
    async with await started as process:
      try:
        with anyio.fail_after(self.seconds):
          async with anyio.create_task_group() as group:
            group.start_soon(read, "stdout", process.stdout)
            group.start_soon(read, "stderr", process.stderr)
          code = await process.wait()
      except BaseException as e:
        end_session(process.pid)
        if isinstance(e, TimeoutError):
          limit = f"not done within {self.seconds:g} seconds; ask for less, or start the server with more `--seconds`"
          raise TgcError([limit]) from None
        raise
    return CommandOutput(out["stdout"].decode(errors="replace"), out["stderr"].decode(errors="replace"), code)


def end_session(pid: int) -> None:
  with contextlib.suppress(ProcessLookupError, PermissionError): os.killpg(pid, signal.SIGKILL)
