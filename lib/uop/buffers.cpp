// Finds the buffer that a node stands for (uop/ops.py: buf_uop, as_buf).
#include "lib/uop/facts.h"
#include "lib/uop/graph.h"

namespace tgc {
namespace {

UOp stack_of(UOp mstack, UOp (*buffer)(UOp)) {
  std::vector<UOp> src;
  for (UOp s : mstack.src()) src.push_back(buffer(s));
  return mstack.graph().node(Op::MSTACK, mstack.dtype(), src);
}

UOp choice_of(UOp mselect, UOp (*buffer)(UOp)) {
  return mselect.graph().node(Op::MSELECT, mselect.dtype(), buffer(mselect.src(0)), mselect.arg());
}

}  // namespace

UOp buf_uop(UOp u) {
  if (u.is(Op::BUFFER)) return u;
  if (u.is(Op::MSELECT)) return choice_of(u, buf_uop);
  if (u.is(Op::MSTACK)) return stack_of(u, buf_uop);
  UOp base = base_of(u);
  if (!base.is(Op::AFTER)) throw Failure("Ops." + std::string(name_of(base.op())) + " does not stand for a buffer");
  return base_of(buf_uop(base.src(0)));
}

UOp as_buf(UOp u) {
  if (u.is(Op::MSELECT)) return choice_of(u, as_buf);
  if (u.is(Op::MSTACK)) return stack_of(u, as_buf);
  while (u.num_src() && !u.in({Op::BUFFER, Op::BUFFERIZE, Op::MSTACK})) u = u.src(0);
  return u;
}

}  // namespace tgc
