#include "lib/prove/instance_of.h"

#include <set>
#include <unordered_map>

#include "lib/prove/rule_sides.h"
#include "lib/uop/graph.h"

namespace tgc {
namespace {

class SideMatcher {
 public:
  // Returns true if `instance` is `general` with expressions in place of unknown values. Unless `binds` is set, the
  // unknown values must be bound already.
  bool match(UOp general, UOp instance, bool binds) {
    if (const UOp element = unknown_element_of(general)) return bind(general, element, instance, binds);
    const bool is_same = general.op() == instance.op() && general.dtype() == instance.dtype() &&
                         general.num_src() == instance.num_src() && general.arg() == instance.arg();
    if (!is_same) return false;
    if (!matched_pairs_.insert({general.id(), instance.id()}).second) return true;
    for (size_t i = 0; i < general.num_src(); i++)
      if (!match(general.src(i), instance.src(i), binds)) return false;
    return true;
  }

 private:
  // Returns the INDEX that is the unknown value `u` or that `u` casts to the dtype of indices; null if `u` is no
  // unknown value. Only casts of int64 elements count, because narrower elements do not have the values of all indices.
  static UOp unknown_element_of(UOp u) {
    if (u.is(Op::INDEX)) return u;
    const bool is_cast = u.is(Op::CAST) && u.src(0).is(Op::INDEX) && is_index_dtype(u.dtype());
    return is_cast && u.src(0).dtype() == dtypes::int64 ? u.src(0) : UOp();
  }
  static bool is_index_dtype(DType dtype) { return dtype.name() == "weakint" || dtype.name() == "index"; }

  bool bind(UOp unknown, UOp element, UOp instance, bool binds) {
    if (const auto known = bound_exprs_.find(unknown.id()); known != bound_exprs_.end())
      return known->second == instance;
    // an element may be unknown by itself or by its cast, not both
    if (!binds || !bound_elements_.insert(element.id()).second || unknown.dtype() != instance.dtype()) return false;
    if (has_node_where(instance, is_invalid_constant)) return false;
    bound_exprs_[unknown.id()] = instance;
    return true;
  }

  std::unordered_map<uint32_t, UOp> bound_exprs_;  // by the id of an unknown value: the expression in its place
  std::set<uint32_t> bound_elements_;
  std::set<std::pair<uint32_t, uint32_t>> matched_pairs_;
};

}  // namespace

bool is_instance_of(const Rewrite& instance, const Rewrite& general) {
  SideMatcher matcher;
  return matcher.match(general.before, instance.before, true) && matcher.match(general.after, instance.after, false);
}

}  // namespace tgc
