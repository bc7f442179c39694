#include "lib/compilation/kernel_cost.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lib/uop/graph.h"

namespace tgc {
namespace {

double range_extent(UOp range) { return std::max(1.0, range.vmax().to_double() + 1); }

class CostCounter {
 public:
  KernelCost count_cost(UOp ast) {
    for (UOp u : toposort(ast)) {
      if (!u.is(Op::STORE) || u.num_src() < 2) continue;
      add_access(u.src(0), bytes_written_);
      pending_values_.push_back(u.src(1));
    }
    while (!pending_values_.empty()) {
      UOp u = pending_values_.back();
      pending_values_.pop_back();
      if (visited_values_.insert(u).second) visit_value(u);
    }
    KernelCost out{.num_operations = num_operations_};
    for (auto& [buffer, bytes] : bytes_read_) out.bytes_read += std::min(bytes, buffer_bytes(buffer));
    for (auto& [buffer, bytes] : bytes_written_) out.bytes_written += std::min(bytes, buffer_bytes(buffer));
    return out;
  }

 private:
  static double num_executions(UOp u, std::span<const UOp> more = {}) {
    std::unordered_set<UOp> all(u.ranges().begin(), u.ranges().end());
    all.insert(more.begin(), more.end());
    double out = double(u.dtype().vcount());
    for (UOp r : all)
      if (r.is(Op::RANGE)) out *= range_extent(r);
    return out;
  }
  static bool is_index_value(UOp u) { return u.dtype().scalar() == dtypes::index; }
  static double buffer_bytes(UOp buffer) {
    const int64_t size = buffer.dtype().size();
    return size > 0 ? double(size) * buffer.dtype().base().itemsize() : INFINITY;
  }

  void add_access(UOp index, std::unordered_map<UOp, double>& to) {
    while (index.is(Op::CAST) && index.num_src()) index = index.src(0);
    if (!index.is(Op::INDEX) || index.num_src() < 2 || !index.src(0).is(Op::DEFINE_GLOBAL)) return;
    to[index.src(0)] += num_executions(index.src(1)) * index.src(0).dtype().base().itemsize();
  }

  void visit_value(UOp u) {
    if (u.is(Op::LOAD) || u.is(Op::INDEX)) {
      UOp index = u.is(Op::LOAD) ? u.src(0) : u;
      add_access(index, bytes_read_);
      for (size_t i = 1; u.is(Op::LOAD) && i < u.num_src(); i++) pending_values_.push_back(u.src(i));
      return;
    }
    if (u.is(Op::RANGE) || u.is(Op::STORE) || is_index_value(u)) return;
    if (u.is(Op::REDUCE)) {
      num_operations_ += num_executions(u.src(0), u.src().subspan(1));
    } else if (ops::ALU.contains(u.op())) {
      const bool is_gate = std::ranges::any_of(u.src(), is_index_value);
      if (is_gate) return;
      num_operations_ += num_executions(u) * (u.is(Op::MULACC) ? 2 : 1);
    }
    for (UOp s : u.src()) pending_values_.push_back(s);
  }

  std::vector<UOp> pending_values_;  // nodes still to visit
  std::unordered_set<UOp> visited_values_;
  std::unordered_map<UOp, double> bytes_read_, bytes_written_;
  double num_operations_ = 0;
};

}  // namespace

KernelCost cost_of_ast(UOp ast) { return CostCounter().count_cost(ast); }

}  // namespace tgc
