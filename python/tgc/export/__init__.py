"""The modules behind tinygrad_export.py. Each imports only modules of rows above its own (scripts/check_includes):

  names                    what differs between releases by name: functions, stages, settings, renderers
  versions, golden, graphs, graph_text, graph_reader, hooks
                           which tinygrad is installed; files; graphs as JSON; reading pyrender's text and JSON;
                           replacing tinygrad's functions
  arrays                   what kernels read and store
  metadata, matches        where a kernel comes from; matches of rules
  records                  one record of a kernel or a schedule, as tinygrad 0.12.0 prints it
  recorder                 the base of the two recorders
  reachable, jit_kernels, jit    calls of TinyJits
  text_recorder            records a process that uses tinygrad 0.12.0
  graph_recorder           records a process that uses any release from 0.11 on
  live                     answers the questions of a live pipeline
  start                    chooses the recorder; tgc_export()
  processes, viz, answers  the recorded program and its children; VIZ traces; questions of tgc
"""
from tgc.export.start import tgc_export as tgc_export
