#!/usr/bin/env python3
"""Implements one stage of tinygrad's compiler, as an example of a port that `tgc conform` can test:

  tgc conform testdata/golden/kernels.jsonl.gz --with=scripts/tools/conform_example.py

The stage is "** add loads (code)". Before it, an INDEX with a value's dtype stands for the value at that address. The
stage turns the INDEX into an address and puts a LOAD of it in its place. Reads one question per line (JSON) and prints
one answer per line; for other stages it answers "not_supported".
"""
import json, sys


def is_address(dtype): return ".ptr(" in dtype or dtype.startswith("dtypes.image")


class Graph:
  """Nodes in order; adding an equal node returns the first one's number."""

  def __init__(self): self.nodes, self.numbers = [], {}

  def add(self, node):
    key = json.dumps(node, sort_keys=True)
    if key not in self.numbers:
      self.numbers[key] = len(self.nodes)
      self.nodes.append(node)
    return self.numbers[key]


def add_loads(nodes):
  out, replacement = Graph(), []  # replacement[i]: number of the new node for node i
  for node in nodes:
    node = dict(node)
    if "src" in node: node["src"] = [replacement[s] for s in node["src"]]
    if node["op"] == "STORE" and out.nodes[node["src"][0]]["op"] == "LOAD":
      node["src"][0] = out.nodes[node["src"][0]]["src"][0]
    if node["op"] == "INDEX" and not is_address(node["dtype"]):
      address = out.add({**node, "dtype": out.nodes[node["src"][0]]["dtype"]})
      replacement.append(out.add({"op": "LOAD", "dtype": node["dtype"], "src": [address]}))
    else: replacement.append(out.add(node))
  return out.nodes, replacement[-1]


def reachable_nodes(nodes, root):
  """Returns the nodes below the root and the root, in the same order, with sources by their new numbers."""
  wanted, worklist = {root}, [root]
  while worklist:
    for s in nodes[worklist.pop()].get("src", ()):
      if s not in wanted: wanted.add(s), worklist.append(s)
  number = {old: new for new, old in enumerate(sorted(wanted))}
  return [{**n, "src": [number[s] for s in n["src"]]} if "src" in n else n for i, n in enumerate(nodes) if i in wanted]


for line in sys.stdin:
  question = json.loads(line)
  if question["stage"] == "** add loads (code)":
    answer = {"graph": {**question["graph"], "nodes": reachable_nodes(*add_loads(question["graph"]["nodes"]))}}
  else: answer = {"not_supported": True}
  print(json.dumps(answer), flush=True)
