#include "apps/tgc/help_faults.h"

#include "lib/driver/environment.h"

namespace tgc {

std::string faults_text() {
  std::string renderers;
  for (std::string_view name : renderer_names()) renderers.append(" ").append(name);
  return "Faults on demand, to test what finds faults. TGC_FAULT=RULE[@N]: in each kernel the N-th application of a\n"
         "rule (default 1), inner ones counted, makes something else: of an integer that plus one, of a float twice\n"
         "that, of a bool its negation, of a STORE so what it stores; of what has no value nothing. Elsewhere:\n"
         "  tensor:RULE[@N]           the same in each tensor graph\n"
         "  endless:RULE[@N]          from then on that rule undoes what it does: the rewrite does not end\n"
         "  shortcut:NAME[@N]         the N-th time that shortcut is taken it makes something else\n"
         "  renderer:NAME.OP[@N]      that renderer (without NAME: each) prints the N-th node of an op as another:\n"
         "    ADD MUL MAX AND OR XOR CMPNE CMPEQ        of a and b: a + a for a + b\n"
         "    SUB IDIV FDIV MOD POW SHL SHR CMPLT       of a and b: b - a for a - b; so THREEFRY\n"
         "    VECTORIZE MULACC                          its first two change places; of WHERE what it chooses from\n"
         "    NEG SQRT RECIPROCAL EXP2 LOG2 SIN TRUNC   of a: a + a\n"
         "    CONST                                     another number\n"
         "    where a and b are of one dtype; NAME:" + renderers + "\n"
         "  llvm:NAME                 LLVM: subtract, compare, select, constant, xor, wide-slp (passes), intrinsic\n"
         "Several: A,B. All in order: `tgc trace INPUT --nested --quiet`. Who is to blame: `tgc bisect INPUT`.\n";
}

}  // namespace tgc
