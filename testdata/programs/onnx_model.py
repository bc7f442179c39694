import sys
from tinygrad import Tensor
from tinygrad.nn.onnx import OnnxRunner

model = OnnxRunner(sys.argv[1])
sizes = {name: [n if isinstance(n, int) else 2 for n in spec.shape] for name, spec in model.graph_inputs.items()}
inputs = {name: Tensor.ones(*sizes[name], dtype=spec.dtype).contiguous() for name, spec in model.graph_inputs.items()}
for name, out in model(inputs).items(): print(name, out.realize().shape)
