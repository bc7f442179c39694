"""Every match of a rule: where the rule stands, what it matched, what it made."""
import os

from tgc_export.graphs import Nodes


def rule_place(pattern):
  file, line = getattr(pattern, "location", None) or ("?", 0)
  parts = file.replace(os.sep, "/").split("/tinygrad/")
  return f"{parts[-1]}:{line}"


def noting_rewrite(note):
  """What takes the place of PatternMatcher.rewrite, and calls note(place, before, after) at each match."""
  def rewrite(self, uop, ctx=None):
    patterns = self.pdict.get(uop.op, ())
    if not patterns: return None
    sources = {s.op for s in uop.src}
    for pattern, match, early_reject in patterns:
      if not early_reject.issubset(sources): continue
      made = match(uop, ctx)
      if made is None or made is uop: continue
      if hasattr(made, "src"):
        place = rule_place(pattern)
        if not place.startswith("uop/upat.py"): note(place, uop, made)
      return made
    return None
  return rewrite


def recorded(matches):
  """Matches, (stage, place, before, after) each, as a record has them: all graphs in one list of nodes."""
  nodes = Nodes()
  made = [[stage, place, nodes.add(before), nodes.add(after)] for stage, place, before, after in matches]
  return {"nodes": nodes.lines, "list": made}
