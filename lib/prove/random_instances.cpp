#include "lib/prove/random_instances.h"

#include <algorithm>

#include "lib/prove/counterexample.h"
#include "lib/prove/stage_runner.h"
#include "lib/rewrite/matcher.h"
#include "lib/rewrite/rewrite.h"

namespace tgc {
UOp RandomInstances::make_instance(Graph& graph) {
  rule_constants_.clear();
  start_instance(graph);
  return build_root();
}

// Integers are often small, or near a power of two, a limit of the dtype or a multiple of an earlier constant.
Const RandomInstances::make_number(DType d) {
  if (dtypes::is_bool(d)) return Const(draw_one_in(2));
  if (dtypes::is_float(d)) {
    constexpr double kFloats[] = {0, 1, -1, 2, -2, 0.5, 3, -0.5, 4, 8, 0.1, -3, 1.5, 100};
    return Const(kFloats[pick_alternative(std::size(kFloats))]);
  }
  const bool is_index = d.is(Scalar::Index);
  const Int least = is_index ? -Int::pow2(62) : dtypes::min(d).to_int();
  const Int most = is_index ? Int::pow2(62) : dtypes::max(d).to_int();
  Int v;
  switch (pick_alternative(rule_constants_.empty() ? 4 : 6)) {
    case 0:
    case 1: v = Int(int64_t(random_engine_() % 21) - 6); break;
    case 2:
      v = Int::pow2(uint32_t(random_engine_() % 63)) + Int(int64_t(random_engine_() % 3) - 1);
      if (draw_one_in(3)) v = -v;
      break;
    case 3:
      v = draw_one_in(2) ? most - Int(int64_t(random_engine_() % 4)) : least + Int(int64_t(random_engine_() % 4));
      break;
    default: {
      const Int& earlier = rule_constants_[pick_alternative(rule_constants_.size())];
      const Int factor = Int(int64_t(random_engine_() % 5) - 2);
      v = (draw_one_in(3) ? earlier : earlier * factor) + Int(int64_t(random_engine_() % 3) - 1);
    }
  }
  v = std::clamp(v, least, most);
  rule_constants_.push_back(v);
  return v;
}

UOp RandomInstances::make_expression(DType d, int depth) {
  Graph& g = graph();
  auto constant = [&](DType of) { return g.constant(of, make_number(of)); };
  if (depth <= 0) {
    if (d.is(Scalar::Index) && !draw_one_in(4)) {
      const Int least = Int(int64_t(random_engine_() % 40) - 20),
                size = Int(int64_t(1 + random_engine_() % (draw_one_in(2) ? 8 : 300)));
      return make_variable(least, least + size);
    }
    return RuleInstances::make_leaf(d);
  }
  auto part = [&] { return make_expression(d, depth - 1 - int(random_engine_() % 2)); };
  if (draw_one_in(6)) return constant(d);
  if (draw_one_in(6)) return make_expression(dtypes::bool_, 0).where(part(), draw_one_in(2) ? constant(d) : part());
  if (dtypes::is_int(d)) {
    constexpr Op kOps[] = {Op::ADD, Op::ADD, Op::MUL, Op::MUL, Op::IDIV, Op::MOD, Op::AND, Op::MAX, Op::SHL, Op::SHR};
    if (draw_one_in(4)) {
      constexpr DType kFrom[] = {dtypes::int32,  dtypes::uint8, dtypes::int8, dtypes::bool_,
                                 dtypes::uint32, dtypes::int64, dtypes::index};
      DType from = kFrom[pick_alternative(std::size(kFrom))];
      if (from != d) return make_expression(from, depth - 1).cast(d);
    }
    Op op = kOps[pick_alternative(std::size(kOps))];
    if (op == Op::SHL || op == Op::SHR)
      return part().alu(
          op, g.constant(d, Const(int64_t(random_engine_() % uint64_t(d.is(Scalar::Index) ? 8 : d.bitsize())))));
    UOp other = draw_one_in(4) ? part() : constant(d);
    if ((op == Op::IDIV || op == Op::MOD) && other.is_const() && other.arg().to_const().to_int() == 0) op = Op::ADD;
    return part().alu(op, other);
  }
  if (dtypes::is_bool(d)) {
    if (draw_one_in(3)) return part().logical_not();
    DType of = draw_one_in(2) ? dtypes::index : dtypes::int32;
    return make_expression(of, depth - 1).alu(draw_one_in(3) ? Op::CMPNE : Op::CMPLT, constant(of));
  }
  return part().alu(draw_one_in(2) ? Op::ADD : Op::MUL, constant(d));
}

void refute_rule(const Rule& rule, size_t count, RuleProof& out) {
  RandomInstances instances(rule, rule.line);
  const Matcher matcher({&rule});
  constexpr size_t kTries = 60;  // most tries per instance on average, because guards may accept only few nodes
  constexpr size_t kMostNodes = 20'000;
  size_t nodes = 0;
  for (size_t tries = 0, made = 0; tries < kTries * count && made < count && nodes < kMostNodes; tries++) {
    Graph graph;
    (void)catch_failures([&] {
      UOp before = instances.make_instance(graph), after;
      RuleHit hit;
      if (before) after = matcher.rewrite(before, nullptr, nullptr, hit);
      if (!after || after == before) return true;
      made++, nodes += toposort(after).size();
      SideIsolator isolator(graph, memory_sizes(before));
      if (auto found = find_counterexample(isolator, {before, after}, 0)) {
        out.kind = RuleProof::Kind::Refuted;
        out.counterexample = found->point;
        out.before = describe(before), out.after = describe(after), out.reason = "found by a random instance";
      }
      return true;
    });
    if (out.kind == RuleProof::Kind::Refuted) return;
  }
}

}  // namespace tgc
