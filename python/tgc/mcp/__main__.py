"""Serves tgc's commands to a coding agent, as a server of the Model Context Protocol on standard input and output.

  python -P -m tgc.mcp --folder=PROJECT            what a client's configuration starts; needs 'tinygrad-tgc[mcp]'

Inputs and outputs are files in the folders that the server is given; symbolic links are followed first. The server does
not run a program, compiled kernels, or tinygrad on smaller kernels (reduce) without consent: it asks the client's user
(elicitation), or --allow-run allows it. It records with the tinygrad of the Python that runs the server.
"""
from __future__ import annotations

import argparse
import sys


def main(arguments: list[str] | None = None) -> int:
  parser = argparse.ArgumentParser(prog="python -m tgc.mcp", description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--folder", action="append", metavar="DIR",
                      help="a folder for inputs and outputs; repeat it for more; default: the working folder")
  parser.add_argument("--allow-run", action="store_true", help="run programs and kernels without asking")
  parser.add_argument("--seconds", type=float, default=60, metavar="S",
                      help="limit of each command that a call runs; default: 60")
  options = parser.parse_args(arguments)
  try:
    from tgc.mcp.server import make_server
  except ModuleNotFoundError as e:
    print(f"tgc.mcp: {e}; run pip install 'tinygrad-tgc[mcp]'", file=sys.stderr)
    return 2
  try: server = make_server(options.folder or ["."], options.allow_run, options.seconds)
  except OSError as e:
    print(f"tgc.mcp: --folder: {e}", file=sys.stderr)
    return 2
  server.run("stdio")
  return 0


if __name__ == "__main__": sys.exit(main())
