"""The modules behind `python -m tgc.export`. Modules do not import each other in a circle (scripts/check_includes).

  kinds, names, versions   types; names that differ between releases; which tinygrad is installed
  golden, graphs, graph_text, graph_reader
                           files; graphs as JSON; reading pyrender's text and JSON
  hooks                    replacing tinygrad's functions; finding lines of the program
  metadata, origins, matches, boundaries, late_reads
                           where a kernel comes from; matches of rules; why a kernel ends; late reads of assigned
                           tensors
  arrays, watch_nan        what kernels read and store; the first NaN
  records                  one record of a kernel or a schedule, as tinygrad 0.12.0 prints it
  recorder                 the base of the two recorders
  reachable, jit, jit_*    calls of TinyJits
  text_recorder            records a process that uses tinygrad 0.12.0
  graph_recorder           records a process that uses any release from 0.11 on
  start                    chooses the recorder; tgc_export()
  live                     answers the questions of a live pipeline
  rules, rule_*, general_rules   instances of rules, for `tgc prove --rules --live`; programs that show a wrong rule
  processes, viz, answers  the recorded program and its children; VIZ traces; questions of tgc
"""
from tgc.export.start import tgc_export as tgc_export
