"""Rewrites nodes that onnx_draws.py drew for opset 23 as nodes of an older opset.

`at_opset(op, node, opset)` returns the node, or None if the opset cannot express it.
"""
import dataclasses

import onnx
from onnx_draws import Node


def axes_to_attribute(node):
  axes = node.inputs[1] if len(node.inputs) > 1 else None
  known = {} if axes is None or not axes.size else {"axes": [int(a) for a in axes]}
  return dataclasses.replace(node, inputs=node.inputs[:1], attributes=node.attributes | known)


def older_split(node):
  parts = node.attributes.get("num_outputs")
  if parts and node.inputs[0].shape[node.attributes["axis"]] % parts: return None
  return node


def older_pad(node): return None if len(node.inputs) > 3 or node.attributes.get("mode") == "wrap" else node


def older_resize(node):
  sizes = next(v for v in node.inputs[2:] if v is not None)
  return node if len(sizes) == node.inputs[0].ndim and node.attributes.get("axes", []) == sorted(node.attributes.get("axes", [])) else None


def older_dft(node):
  if node.attributes.get("onesided") and node.attributes.get("inverse"): return None  # a complex input has no one-sided result
  axis = {} if len(node.inputs) < 3 else {"axis": int(node.inputs[2])}
  return dataclasses.replace(node, inputs=node.inputs[:2], attributes=({"axis": -2} | node.attributes | axis))


def older_grid_sample(node):
  old = {"linear": "bilinear", "cubic": "bicubic"}
  mode = node.attributes.get("mode")
  return dataclasses.replace(node, attributes=node.attributes | ({"mode": old.get(mode, mode)} if mode else {}))


def older_group_norm(node):
  groups = node.attributes["num_groups"]
  return dataclasses.replace(node, inputs=[node.inputs[0]] + [v[:groups] for v in node.inputs[1:]])


def not_if(condition): return lambda node: None if condition(node) else node


def reduction_in(*names): return lambda node: node if node.attributes.get("reduction", "none") in names else None


REDUCTIONS = [f"Reduce{n}" for n in ("Mean", "Max", "Min", "Prod", "SumSquare", "L1", "L2", "LogSum", "LogSumExp")]
OLDER = [  # ops, the opset that changed them, and a function that makes an older node, or None
  (REDUCTIONS, 18, axes_to_attribute),
  (["Split"], 18, older_split),
  (["Pad"], 19, not_if(lambda n: n.attributes.get("mode") == "wrap")),
  (["Pad"], 18, older_pad),
  (["Resize"], 19, not_if(lambda n: n.attributes["coordinate_transformation_mode"] == "half_pixel_symmetric")),
  (["Resize"], 18, older_resize),
  (["DFT"], 20, older_dft),
  (["GridSample"], 20, older_grid_sample),
  (["GroupNormalization"], 21, older_group_norm),
  (["ScatterND", "ScatterElements"], 18, reduction_in("none", "add", "mul")),
  (["ScatterND", "ScatterElements"], 16, reduction_in("none")),
  (["QuantizeLinear", "DequantizeLinear"], 21, not_if(lambda n: "block_size" in n.attributes or "output_dtype" in n.attributes)),
  (["RNN", "GRU", "LSTM"], 14, not_if(lambda n: n.attributes["layout"])),
  (["BatchNormalization"], 14, not_if(lambda n: n.attributes.get("training_mode"))),
  (["Reshape"], 14, not_if(lambda n: "allowzero" in n.attributes)),
]


def at_opset(op, node, opset):
  """Leaves out attributes and inputs that the opset lacks. None: the opset cannot express the node."""
  try: schema = onnx.defs.get_schema(op, opset)
  except onnx.defs.SchemaError: return None
  for ops, since, older in OLDER:
    if node and op in ops and opset < since: node = older(node)
  if node is None: return None
  attributes = {k: v for k, v in node.attributes.items() if k in schema.attributes}
  return Node(node.inputs[: schema.max_input], attributes, node.outputs, opset, node.random)
