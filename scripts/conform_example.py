#!/usr/bin/env python3
"""A port of one stage of tinygrad's compiler, to begin one's own with:

  tgc conform testdata/golden/kernels.jsonl.gz --with=scripts/conform_example.py

The stage is "** add loads (code)". Until then an INDEX of a value's dtype stands for what lies there; now it becomes the
address, and a LOAD of it the value. A store goes to an address: it takes the LOAD's own source. Each question is a line
of JSON, each answer another; of any other stage it says that it does not know it."""
import json, sys


def is_address(dtype): return ".ptr(" in dtype or dtype.startswith("dtypes.image")


class Graph:
  """Nodes in order, each once: what is equal is the same node."""

  def __init__(self): self.nodes, self.numbers = [], {}

  def add(self, node):
    key = json.dumps(node, sort_keys=True)
    if key not in self.numbers:
      self.numbers[key] = len(self.nodes)
      self.nodes.append(node)
    return self.numbers[key]


def add_loads(nodes):
  out, now = Graph(), []  # `now`: what each node has become
  for node in nodes:
    node = dict(node)
    if "src" in node: node["src"] = [now[s] for s in node["src"]]
    if node["op"] == "STORE" and out.nodes[node["src"][0]]["op"] == "LOAD":
      node["src"][0] = out.nodes[node["src"][0]]["src"][0]
    if node["op"] == "INDEX" and not is_address(node["dtype"]):
      address = out.add({**node, "dtype": out.nodes[node["src"][0]]["dtype"]})
      now.append(out.add({"op": "LOAD", "dtype": node["dtype"], "src": [address]}))
    else: now.append(out.add(node))
  return out.nodes, now[-1]


def below(nodes, root):
  """The nodes that the root is made of, in the same order, and it is the last one."""
  wanted, todo = {root}, [root]
  while todo:
    for s in nodes[todo.pop()].get("src", ()):
      if s not in wanted: wanted.add(s), todo.append(s)
  number = {old: new for new, old in enumerate(sorted(wanted))}
  return [{**n, "src": [number[s] for s in n["src"]]} if "src" in n else n for i, n in enumerate(nodes) if i in wanted]


for line in sys.stdin:
  question = json.loads(line)
  if question["stage"] == "** add loads (code)":
    answer = {"graph": {**question["graph"], "nodes": below(*add_loads(question["graph"]["nodes"]))}}
  else: answer = {"not_supported": True}
  print(json.dumps(answer), flush=True)
