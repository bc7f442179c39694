import atexit
import tinygrad.codegen as codegen
from dataclasses import replace
from tinygrad import helpers
from tinygrad.codegen.opt import Opt, OptOps
from tinygrad.uop.ops import KernelInfo
def use_opts(opts, plain=codegen.apply_opts):
  unused = set(opts)
  def apply_opts(ast, *args, **kwargs):
    made = plain(ast, *args, **kwargs)
    name = helpers.ansistrip(made.arg.name)
    if ast.tag is not None or name not in opts: return made
    unused.discard(name)
    info = replace(ast.arg or KernelInfo(), opts_to_apply=tuple(opts[name]))
    return plain(ast.replace(arg=info), *args, **kwargs)
  codegen.apply_opts = apply_opts
  if hasattr(helpers, 'PARALLEL'): helpers.PARALLEL.value = 0  # compile here
  atexit.register(lambda: unused and print('opts not used: no kernel is named', *sorted(unused)))
use_opts({
  "r_4_4": [Opt(op=OptOps.UPCAST, axis=0, arg=4), Opt(op=OptOps.UNROLL, axis=0, arg=2)],
})
