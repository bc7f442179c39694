"""tgc: see what tinygrad's compiler does to a graph, stage by stage.

The work is done by the command `tgc` that this package brings. Records for it of what a program compiles with the tinygrad that
is installed here: python -m tgc.export -o run.jsonl.gz -- program.py arguments
"""
