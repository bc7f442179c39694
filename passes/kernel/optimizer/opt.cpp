#include "passes/kernel/optimizer/opt.h"

namespace tgc {

Arg to_arg(Graph& graph, const Opt& opt) {
  return graph.record(RecordClass::Opt, {opt.op, opt.axis ? Arg(*opt.axis) : Arg(), opt.arg});
}

Opt to_opt(Arg record) {
  if (!record.is(RecordClass::Opt) || record[0].kind() != Arg::Kind::OptOps)
    throw Failure("not an Opt: " + record.repr());
  Opt opt{record[0].opt_op(), {}, record[2]};
  if (record[1].is_integral()) opt.axis = record[1].as_int().int64_or_throw("the axis of an Opt");
  else if (!record[1].is_none()) throw Failure("the axis of an Opt is an integer or None, not " + record[1].repr());
  return opt;
}

}  // namespace tgc
