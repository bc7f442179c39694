// Functions of ExprIsolator that make the memories which isolated expressions read.
#include <algorithm>
#include <set>

#include "lib/uop/facts.h"
#include "lib/validate/isolated_expr.h"

namespace tgc {

static int64_t size_in_scalars(UOp define) {
  DType d = define.dtype();
  return d.is_image() || d.size() < 0 ? -1 : d.size() * d.base().count();
}

IsolatedExpr ExprIsolator::isolate_define(UOp u) {
  int64_t size = size_in_scalars(u);
  int64_t number = kLeafArrayNumber + 2 + int64_t(memories_.size());
  if (u.is(Op::DEFINE_GLOBAL)) {
    number = u.arg().small_int();
    auto it = arrays_.find(number);
    const bool is_of_words = it != arrays_.end() && size == 2 * it->second && u.dtype().base().itemsize() == 4;
    if (it != arrays_.end() && !is_of_words) size = it->second;  // a rewrite may split n longs into 2n words
  }
  if (size <= 0 || u.dtype().is_image()) return {};
  return make_memory_expr(u, u, number, size);
}

// Returns the address of the new memory, which has `size` scalars of the dtype of `define`.
IsolatedExpr ExprIsolator::make_memory_expr(UOp u, UOp define, int64_t number, int64_t size) {
  UOp own = graph_.node(Op::DEFINE_GLOBAL, define.dtype().base().scalar().ptr(size), {}, Arg(number));
  memories_.push_back({own, u, number, size});
  IsolatedExpr out{.value = graph_.constant(dtypes::index, Const(int64_t(0))), .memory = own};
  if (!u.is(Op::DEFINE_GLOBAL)) {
    out.leaf_set = leaf_set_of({uint32_t(leaves_.size())});
    leaves_.push_back({u, -1});
  }
  return out;
}

// Adds a memory for a buffer after the stores on which the AFTER `u` depends, because stores change the content. AFTERs
// of one buffer with the same RANGE, STORE, END, IF and BARRIER nodes among their dependencies share the memory.
// Without such nodes, returns the memory of the buffer itself.
IsolatedExpr ExprIsolator::isolate_after(UOp u, const BoundRanges& bound) {
  const IsolatedExpr base = source(u, 0, bound);
  if (!base.is_address()) return base;
  std::vector<UOp> stack(u.src().begin() + 1, u.src().end());
  std::vector<uint32_t> key;
  std::set<uint32_t> visited;
  UOp define = u.src(0);
  for (; define.in({Op::AFTER, Op::CAST}); define = define.src(0))
    stack.insert(stack.end(), define.src().begin() + 1, define.src().end());
  if (!define.in(ops::Defines)) return {};
  while (!stack.empty()) {
    const UOp s = stack.back();
    stack.pop_back();
    if (!visited.insert(s.id()).second) continue;
    if (s.is(Op::RANGE)) {
      constexpr uint32_t kLoop = 1u << 31;  // marks a loop's leaf set, used instead of the loop's node id
      const IsolatedExpr* loop = known_expr(s, bound);
      key.push_back(loop && loop->leaf_set ? kLoop | loop->leaf_set : s.id());
    } else if (s.in({Op::STORE, Op::END, Op::BARRIER, Op::IF})) {
      key.push_back(s.id());
    } else {
      stack.insert(stack.end(), s.src().begin(), s.src().end());
    }
  }
  if (key.empty()) return *known_expr(define, bound);
  std::ranges::sort(key);
  key.erase(std::unique(key.begin(), key.end()), key.end());
  key.insert(key.begin(), define.id());
  auto [it, is_new] = memory_versions_.try_emplace(key);
  if (!is_new) return it->second;
  const auto memory = std::ranges::find(memories_, base.memory, &IsolatedMemory::define);
  const int64_t number = kLeafArrayNumber + 2 + int64_t(memories_.size()), size = memory->num_scalars;
  return it->second = make_memory_expr(u, define, number, size);
}

}  // namespace tgc
