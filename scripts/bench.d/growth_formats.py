"""Inputs of n items in formats that tgc reads, for growth_inputs.py."""
import copy, gzip, io, json, pathlib, pickle, struct, sys, types

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUFFERS = "c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(64), (), 0)\nc1 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(64), (), 1)\n"


def chain(n):
  """A kernel that is one long expression."""
  lines = [BUFFERS + "c2 = UOp.range(64, 0, AxisType.LOOP)\nc3 = c1.index(c2)"]
  lines += [f"c{i + 4} = c{i + 3}+UOp.const(dtypes.float, {i % 7}.5)*c{max(i, 3)}" for i in range(n // 3)]
  return "\n".join(lines) + f"\nast = c0.index(c2, ptr=True).store(c{n // 3 + 3}).end(c2).sink()\n"


def wide_kernel(n):
  """A kernel of many stores."""
  stores = [f"s{i} = c0.index(UOp.const(dtypes.index, {i % 64}), ptr=True).store(c1.index(UOp.const(dtypes.index, {i * 7 % 64}))*UOp.const(dtypes.float, {i}.0))"
            for i in range(n // 6)]
  return BUFFERS + "\n".join(stores) + "\nast = UOp.sink(" + ", ".join(f"s{i}" for i in range(n // 6)) + ")\n"


def many_loops_kernel(n):
  lines = [f"r{i} = UOp.range(4, {i}, AxisType.LOOP)\ns{i} = c0.index(r{i}, ptr=True).store(c1.index(r{i})).end(r{i})" for i in range(n // 6)]
  return BUFFERS + "\n".join(lines) + "\nast = UOp.sink(" + ", ".join(f"s{i}" for i in range(n // 6)) + ")\n"


def many_arguments_kernel(n):
  lines = [f"b{i} = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(4), (), {i})\ns{i} = b{i}.index(UOp.const(dtypes.index, 0), ptr=True).store(UOp.const(dtypes.float, {i % 9}.0))"
           for i in range(n // 3)]
  return "\n".join(lines) + "\nast = UOp.sink(" + ", ".join(f"s{i}" for i in range(n // 3)) + ")\n"


def constant_vectors_kernel(n):
  """Constant vectors of 1,000 numbers each."""
  rows = [f"c{i} = UOp(Ops.VCONST, dtypes.float.vec(1000), (), ({', '.join(f'{i}.{k}' for k in range(1000))}))" for i in range(max(1, n // 1000))]
  return "\n".join(rows) + "\nast = UOp(Ops.GROUP, dtypes.void, (" + ", ".join(f"c{i}" for i in range(len(rows))) + ",)).sink()\n"


def many_sources_kernel(n):
  return "c0 = UOp.const(dtypes.float, 1.0)\nast = UOp(Ops.VECTORIZE, dtypes.float.vec(%d), (%s)).sink()\n" % (n, "c0, " * n)


def long_shape(n):
  return "c0 = UOp.new_buffer('CPU', 1, dtypes.float, 1)\nast = c0.reshape((%s)).sink()\n" % ("1," * n)


def tensor_chain(n):
  """A tensor graph of one long expression."""
  lines = ["d0 = UOp.new_buffer('CPU', 64, dtypes.float, 1).reshape((8,8))"]
  lines += [f"d{i + 1} = d{i}.permute((1,0))+d{max(i - 3, 0)}" for i in range(n // 2)]
  return "\n".join(lines) + f"\nast = d{n // 2}.sink()\n"


def tensor_kernels(n):
  """A tensor graph of many kernels."""
  lines = ["d0 = UOp.new_buffer('CPU', 64, dtypes.float, 1).reshape((8,8))"]
  lines += [f"d{i + 1} = (d{i}+d{i}.permute((1,0))).contiguous()" for i in range(n // 3)]
  return "\n".join(lines) + f"\nast = d{n // 3}.sink()\n"


def json_node(op, dtype, src=(), **more): return {"op": op, "dtype": dtype, "src": list(src), **more}


def nested_arg(n):
  """The arg of each node is nested 500 levels deep."""
  deep = "[" * 500 + "]" * 500
  return '{"format":"tgc-graph","version":1,"nodes":[' + ",\n".join('{"op":"NOOP","dtype":"dtypes.void","arg":%s}' % deep for _ in range(max(1, n // 500))) + "]}"


def repro(n, arrays={}):
  """A repro bundle with an array of n bytes, and other arrays."""
  nodes = [json_node("DEFINE_GLOBAL", "dtypes.char.ptr(%d)" % n, arg=0), json_node("CONST", "dtypes.index", arg=0), json_node("CONST", "dtypes.char", arg=1),
           json_node("INDEX", "dtypes.char.ptr(%d)" % n, [0, 1]), json_node("STORE", "dtypes.void", [3, 2]), json_node("SINK", "dtypes.void", [4])]
  return json.dumps({"format": "tgc-repro", "version": 1, "while": "wrong", "said": "wrong", "device": "REF",
                     "inputs": {"data0": {"dtype": "dtypes.char", "shape": [n], "hex": "01" * n}, **arrays}, "graph": {"format": "tgc-graph", "version": 1, "nodes": nodes}})


def repro_arrays(n):
  """A repro bundle with n arrays that its kernel does not have."""
  return repro(4, {f"other{i}": {"dtype": "dtypes.char", "shape": [0], "hex": ""} for i in range(n)})


def log_of_graphs(n):
  """Many graphs with lines between them, as DEBUG=5 prints."""
  return "\n".join(f"opened device {i}\n{chain(12)}" for i in range(n // 12))


def log_of_lines(n): return "\n".join(f"{i}: a line (of a [log]) = UOp, but {{no}} graph" for i in range(n // 8))


def tensor_graph_of_0_14(n):
  """A tensor graph of 0.14: movement ops and additions in a row."""
  param = {"ParamArg": {"*": [0, {"value": "dtypes.float"}], "device": "CPU"}}
  nodes = [json_node("CONST", "dtypes.weakint", arg=8), json_node("BUFFER", "dtypes.float", [0], arg=param), json_node("CONST", "dtypes.weakint", arg=4),
           json_node("CONST", "dtypes.weakint", arg=2), json_node("STACK", "dtypes.weakint", [2, 3])]
  last = 1
  while len(nodes) < n:
    nodes.append(json_node("RESHAPE", "dtypes.float", [last, 4]))
    nodes.append(json_node("PERMUTE", "dtypes.float", [len(nodes) - 1], arg=[1, 0]))
    nodes.append(json_node("RESHAPE", "dtypes.float", [len(nodes) - 1, 0]))
    nodes.append(json_node("ADD", "dtypes.float", [len(nodes) - 1, 1]))
    last = len(nodes) - 1
  nodes.append(json_node("SINK", "dtypes.void", [last]))
  return {"format": "tgc-graph", "version": 1, "producer": "tinygrad 0.14.0", "nodes": nodes}


def kernel_of_0_14(n):
  """A kernel of 0.14 that is one long expression."""
  def param(slot): return json_node("PARAM", "dtypes.float", [0], arg={"ParamArg": {"*": [slot, {"value": "dtypes.float"}], "device": "CPU"}})
  nodes = [json_node("CONST", "dtypes.weakint", arg=64), param(0), param(1), json_node("RANGE", "dtypes.weakint", [0], arg=[0, {"value": "AxisType.LOOP"}]),
           json_node("INDEX", "dtypes.float", [1, 3]), json_node("INDEX", "dtypes.float", [2, 3]), json_node("CONST", "dtypes.float", arg=1.5)]
  last = 5
  while len(nodes) < n:
    nodes.append(json_node("MUL", "dtypes.float", [last, 6]))
    nodes.append(json_node("ADD", "dtypes.float", [len(nodes) - 1, 5]))
    last = len(nodes) - 1
  nodes += [json_node("STORE", "dtypes.void", [4, last]), json_node("END", "dtypes.void", [len(nodes), 3]), json_node("SINK", "dtypes.void", [len(nodes) + 1])]
  return {"format": "tgc-graph", "version": 1, "producer": "tinygrad 0.14.0", "nodes": nodes}


def golden_header(level): return json.dumps({"format": "tgc-golden", "version": 1, "level": level, "producer": "tinygrad 0.14.0", "settings": {}})


def golden(graph, level):
  return golden_header(level) + "\n" + json.dumps({"id": "g", "what": "x", "device": "CPU", "target": "CPU:CLANG", "nodes": len(graph["nodes"]), "ast": json.dumps(graph),
                                                   "stages": [], "kernels": []}) + "\n"


def many_records(n):
  graph = json.dumps(tensor_graph_of_0_14(12))
  lines = [json.dumps({"id": f"g.{i}", "what": "x", "device": "CPU", "nodes": 13, "ast": graph, "stages": [], "kernels": []}) for i in range(n // 12)]
  return "\n".join([golden_header("tensor"), *lines]) + "\n"


def record_of(name): return gzip.decompress((ROOT / "testdata/import" / name).read_bytes()).decode().splitlines()


def recorded_stages(n):
  first, line = record_of("rewrites.jsonl.gz")[:2]
  record = json.loads(line)
  record["stages"] = record["stages"] * max(1, n // 40 // len(record["stages"]))
  record.pop("rewrites", None)
  return first + "\n" + json.dumps(record) + "\n"


def recorded_rewrites(n):
  first, line = record_of("rewrites.jsonl.gz")[:2]
  record = json.loads(line)
  matches = record["rewrites"]["list"]
  record["rewrites"]["list"] = matches * max(1, n // len(matches))
  return first + "\n" + json.dumps(record) + "\n"


def jit_events(n):
  first, *lines = gzip.decompress((ROOT / "testdata/jit.jsonl.gz").read_bytes()).decode().splitlines()
  out = [first]
  for copy_number in range(max(1, n // 100)): out += [line.replace("lint_programs", f"p{copy_number}") for line in lines]
  return "\n".join(out) + "\n"


def trace_file(n):
  out = ['{"format":"tgc-trace","version":2}', '["graph"]', '{"id":0,"op":"CONST","dtype":"dtypes.int","arg":0}', '["kernel","k","CPU",0]', '["stage","symbolic",0]',
         '["begin",0,"symbolic",0,1,false,"s"]', '["rule","add-zero","simple.cpp",131,"","symbolic.py:42"]']
  for i in range(1, n // 2): out += [f'{{"id":{i},"op":"CONST","dtype":"dtypes.int","arg":{i}}}', f'["rewrite",0,0,{i - 1},{i},{i - 1},{i},5]']
  return "\n".join([*out, f'["end",0,{n // 2 - 1}]', f'["stage_end",{n // 2 - 1}]']) + "\n"


def read_pickle(name):
  """Reads a pickle of testdata/profile with stand-ins for tinygrad's classes."""
  class Reader(pickle.Unpickler):
    def find_class(self, module, name):
      if module.startswith("tinygrad"):  # with its packages, because the pickler imports them
        for end in range(module.count(".") + 1): sys.modules.setdefault(parent := ".".join(module.split(".")[:end + 1]), types.ModuleType(parent))
      inside = sys.modules.get(module) or __import__(module)
      if not hasattr(inside, name):
        def reduced(self): return (type(self), self.args, self.state)
        setattr(inside, name, type(name, (), {"__module__": module, "args": (), "state": None, "__init__": lambda self, *args: setattr(self, "args", args),
                                              "__reduce__": reduced, "__setstate__": lambda self, state: setattr(self, "state", state)}))
      return getattr(inside, name)
  return Reader(io.BytesIO(gzip.decompress((ROOT / "testdata/profile" / name).read_bytes()))).load()


def rewrites_pickle(n):
  trace = read_pickle("rewrites_0.14.pkl.gz")
  for name in ("keys", "rewrites"): trace.state[name] = [copy.deepcopy(item) for _ in range(max(1, n // 400)) for item in trace.state[name]]
  return pickle.dumps(trace)


def profile_pickle(n):
  events = read_pickle("gfx1100_ops_run_0.pkl.gz")
  return pickle.dumps([copy.deepcopy(e) for _ in range(max(1, n // 1500)) for e in events])


def varint(n):
  out = b""
  while n > 127: out, n = out + bytes([n & 127 | 128]), n >> 7
  return out + bytes([n])


def protobuf_field(number, content):
  if isinstance(content, int): return varint(number << 3) + varint(content)
  content = content.encode() if isinstance(content, str) else content
  return varint(number << 3 | 2) + varint(len(content)) + content


def onnx_model(n):
  def value(name): return protobuf_field(1, name) + protobuf_field(2, protobuf_field(1, protobuf_field(1, 1) + protobuf_field(2, protobuf_field(1, protobuf_field(1, 8)))))
  nodes = b"".join(protobuf_field(1, protobuf_field(1, f"x{i}") + protobuf_field(1, "w") + protobuf_field(2, f"x{i + 1}") + protobuf_field(3, f"n{i}") + protobuf_field(4, "Add")) for i in range(max(1, n // 4)))
  weight = protobuf_field(1, 8) + protobuf_field(2, 1) + protobuf_field(8, "w") + protobuf_field(9, struct.pack("<8f", *range(8)))
  graph = nodes + protobuf_field(2, "g") + protobuf_field(5, weight) + protobuf_field(11, value("x0")) + protobuf_field(12, value(f"x{max(1, n // 4)}"))
  return protobuf_field(1, 8) + protobuf_field(7, graph) + protobuf_field(8, protobuf_field(1, "") + protobuf_field(2, 17))


def safetensors_file(n):
  entries = {f"t{i}" if i else "w": {"dtype": "F32", "shape": [8], "data_offsets": [i * 32, i * 32 + 32]} for i in range(n)}
  head = json.dumps(entries).encode()
  return struct.pack("<Q", len(head)) + head + bytes(32 * n)


def npz_file(n):
  import zipfile
  out = io.BytesIO()
  head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (64,), }"
  head += b" " * (-(len(head) + 11) % 64) + b"\n"
  array = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + bytes(256)
  with zipfile.ZipFile(out, "w") as archive:
    for i in range(max(2, n // 4)): archive.writestr(f"data{i}.npy", array)
  return out.getvalue()
