from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Sequence
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

from tgc.mcp.access import AllowedFolders
from tgc.mcp.answers import CommandRunner
from tgc.mcp.consent import SessionState
from tgc.mcp.tools import READ_ONLY, TOOLS

INSTRUCTIONS = """Finds what tinygrad's compiler does wrong. Order of calls for a wrong result: record (a program) or
records (a file), run, bisect, trace. Each answer ends with the next call to make; `more` is the call for the next page.
`unresolved`, `unknown`, `sampled` and `ran` decide nothing. Inputs are FILE or FILE#ID, relative to the server's
folders."""


def make_server(folders: Sequence[str | os.PathLike[str]], allow_run: bool = False,
                seconds: float = 60) -> MCPServer[SessionState]:
  """Returns a server for files in `folders`. `seconds` limits each command that a call runs. Raises OSError if a folder
  does not exist."""
  access = AllowedFolders(folders)

  @contextlib.asynccontextmanager
  async def lifespan(_: MCPServer[SessionState]) -> AsyncIterator[SessionState]:
    yield SessionState(access, CommandRunner(str(access.roots[0]), seconds), allow_run)

  server: MCPServer[SessionState] = MCPServer("tgc", instructions=INSTRUCTIONS, lifespan=lifespan, log_level="WARNING")
  for tool in TOOLS:
    hints: dict[str, Any] = {"read_only_hint": tool in READ_ONLY, "destructive_hint": False, "open_world_hint": False}
    server.add_tool(tool, annotations=ToolAnnotations(**hints), structured_output=False)
  return server
