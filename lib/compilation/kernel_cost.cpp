#include "lib/compilation/kernel_cost.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lib/uop/graph.h"

namespace tgc {
namespace {

double extent_of(UOp range) { return std::max(1.0, range.vmax().to_double() + 1); }

class CostCounter {
 public:
  KernelCost count(UOp ast) {
    for (UOp u : toposort(ast)) {
      if (!u.is(Op::STORE) || u.num_src() < 2) continue;
      add_access(u.src(0), written_);
      values_.push_back(u.src(1));
    }
    while (!values_.empty()) {
      UOp u = values_.back();
      values_.pop_back();
      if (seen_.insert(u).second) visit(u);
    }
    KernelCost out{.num_operations = ops_};
    for (auto& [buffer, bytes] : read_) out.bytes_read += std::min(bytes, size_of(buffer));
    for (auto& [buffer, bytes] : written_) out.bytes_written += std::min(bytes, size_of(buffer));
    return out;
  }

 private:
  static double times(UOp u, std::span<const UOp> more = {}) {
    std::unordered_set<UOp> all(u.ranges().begin(), u.ranges().end());
    all.insert(more.begin(), more.end());
    double out = double(u.dtype().vcount());
    for (UOp r : all)
      if (r.is(Op::RANGE)) out *= extent_of(r);
    return out;
  }
  static bool is_index(UOp u) { return u.dtype().scalar() == dtypes::index; }
  static double size_of(UOp buffer) {
    const int64_t size = buffer.dtype().size();
    return size > 0 ? double(size) * buffer.dtype().base().itemsize() : INFINITY;
  }

  void add_access(UOp index, std::unordered_map<UOp, double>& to) {
    while (index.is(Op::CAST) && index.num_src()) index = index.src(0);
    if (!index.is(Op::INDEX) || index.num_src() < 2 || !index.src(0).is(Op::DEFINE_GLOBAL)) return;
    to[index.src(0)] += times(index.src(1)) * index.src(0).dtype().base().itemsize();
  }

  void visit(UOp u) {
    if (u.is(Op::LOAD) || u.is(Op::INDEX)) {
      UOp index = u.is(Op::LOAD) ? u.src(0) : u;
      add_access(index, read_);
      for (size_t i = 1; u.is(Op::LOAD) && i < u.num_src(); i++) values_.push_back(u.src(i));
      return;
    }
    if (u.is(Op::RANGE) || u.is(Op::STORE) || is_index(u)) return;
    if (u.is(Op::REDUCE)) {
      ops_ += times(u.src(0), u.src().subspan(1));
    } else if (ops::ALU.contains(u.op())) {
      const bool is_gate = std::ranges::any_of(u.src(), is_index);
      if (is_gate) return;
      ops_ += times(u) * (u.is(Op::MULACC) ? 2 : 1);
    }
    for (UOp s : u.src()) values_.push_back(s);
  }

  std::vector<UOp> values_;  // the nodes that are still to be visited; they compute values, and not addresses
  std::unordered_set<UOp> seen_;
  std::unordered_map<UOp, double> read_, written_;
  double ops_ = 0;
};

}  // namespace

KernelCost cost_of_ast(UOp ast) { return CostCounter().count(ast); }

}  // namespace tgc
