import tinygrad.codegen as codegen
from dataclasses import replace
from tinygrad.codegen.opt import Opt, OptOps
from tinygrad.helpers import ansistrip
from tinygrad.uop.ops import KernelInfo
OPTS = {
  "r_4_4": [Opt(op=OptOps.UPCAST, axis=0, arg=4), Opt(op=OptOps.UNROLL, axis=0, arg=2)],
}
def apply_opts(ast, *args, plain=codegen.apply_opts, **kwargs):
  made = plain(ast, *args, **kwargs)
  if ast.tag is not None or (opts := OPTS.get(ansistrip(made.arg.name))) is None: return made
  info = replace(ast.arg or KernelInfo(), opts_to_apply=tuple(opts))
  return plain(ast.replace(arg=info), *args, **kwargs)
codegen.apply_opts = apply_opts
