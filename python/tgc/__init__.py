"""tgc: see what tinygrad's compiler does to a graph, stage by stage.

This package installs the command `tgc`. To record what a program compiles with the installed tinygrad, run:
  python -m tgc.export -o run.jsonl.gz -- program.py arguments
"""
