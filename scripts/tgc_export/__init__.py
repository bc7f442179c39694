"""What tinygrad_export.py is made of, from the bottom up: golden (files), records (of one kernel, of one schedule),
recorder (all that a process compiles), processes (the program, and those that it starts)."""
from tgc_export.recorder import tgc_export
