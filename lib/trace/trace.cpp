#include "lib/trace/trace.h"

namespace tgc {

void TraceReplay::begin(const TraceRewrite& rewrite, int depth, UOp input) {
  pending_.resize(size_t(depth));
  pending_.push_back({input, rewrite.bottom_up, {}, {}});
}

void TraceReplay::rewrite(int depth, const TraceRule&, UOp before, UOp after, TraceCost) {
  pending_[size_t(depth)].rewrites.emplace_back(before, after);
}

void TraceReplay::gated(int depth, UOp node) { pending_[size_t(depth)].gates.push_back(node); }

void TraceReplay::end(int depth, UOp result) {
  Pending p = std::move(pending_[size_t(depth)]);
  pending_.resize(size_t(depth));
  if (!result) return;
  (apply_rewrites(p.input, p.bottom_up, p.rewrites, p.gates) == result ? same_ : different_)++;
}

std::string TraceReplay::text() const {
  return std::to_string(same_ + different_) + " graph rewrites replayed from their lists of rewrites, " +
         std::to_string(same_) + " give the same graph\n";
}

}  // namespace tgc
