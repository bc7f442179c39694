"""A server of the Model Context Protocol: tgc's commands as tools for a coding agent. `python -m tgc.mcp --help` says
how to start it; `pip install 'tinygrad-tgc[mcp]'` installs the protocol's SDK."""
