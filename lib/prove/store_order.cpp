#include "lib/prove/store_order.h"

#include <algorithm>
#include <optional>

#include "lib/uop/facts.h"
#include "lib/uop/graph.h"

namespace tgc {
namespace {

// The elements that a store writes. `elements` is empty if they are not constant.
struct StoredElements {
  UOp store, memory;
  std::vector<int64_t> elements = {};

  bool overlaps(const StoredElements& other) const {
    if (memory != other.memory) return false;
    if (elements.empty() || other.elements.empty()) return true;
    auto is_common = [&](int64_t e) { return std::ranges::find(other.elements, e) != other.elements.end(); };
    return std::ranges::any_of(elements, is_common);
  }
};

std::optional<int64_t> number(UOp u) {
  if (!u.is_const() || !u.arg().is_int()) return {};
  return u.arg().as_int().to_int64();
}

// Returns the constant lanes of an index; empty if one is not constant.
std::vector<int64_t> lanes_of(UOp index) {
  std::vector<int64_t> out;
  if (auto one = number(index)) out.assign(size_t(index.dtype().count()), *one);
  if (index.is(Op::VCONST))
    for (Arg v : index.arg().items()) {
      if (!v.is_int() || !v.as_int().to_int64()) return {};
      out.push_back(*v.as_int().to_int64());
    }
  if (index.is(Op::VECTORIZE))
    for (UOp s : index.src()) {
      auto one = number(s);
      if (!one) return {};
      out.push_back(*one);
    }
  return out;
}

// Returns what a store to a register or to shared memory writes.
std::optional<StoredElements> stored_by(UOp store) {
  UOp memory = store.src(0), index;
  constexpr OpSet kOfPointers{Op::INDEX, Op::CAST, Op::AFTER, Op::GEP, Op::VECTORIZE, Op::PTRCAT, Op::LOAD};
  while (memory.in(kOfPointers) && memory.num_src()) {
    if (memory.is(Op::INDEX) && !index) index = memory;
    memory = memory.src(0);
  }
  if (!memory.dtype().is_ptr() || memory.dtype().addrspace() == AddrSpace::GLOBAL) return {};
  StoredElements out{store, memory};
  const bool is_plain = store.src(0).is(Op::INDEX) || (store.src(0).is(Op::CAST) && store.src(0).src(0).is(Op::INDEX));
  if (!is_plain || index.num_src() < 2 || !index.dtype().is_ptr()) return out;
  const std::vector<int64_t> lanes = lanes_of(index.src(1));
  if (lanes.empty()) return out;
  const int64_t unit = index.dtype().base().count();  // elements of one index
  const int64_t width = std::max(unit, store.src(1).dtype().count() / int64_t(lanes.size()));
  for (int64_t lane : lanes)
    for (int64_t k = 0; k < width; k++) out.elements.push_back(lane * unit + k);
  return out;
}

std::vector<StoredElements> stores_in(UOp root) {
  std::vector<StoredElements> out;
  for (UOp u : toposort(root))
    if (u.is(Op::STORE) && u.num_src() > 1)
      if (auto stored = stored_by(u)) out.push_back(std::move(*stored));
  return out;
}

// Returns whether a store of `after` does not wait for a store to the same elements that the store `before` waits for.
bool loses_order(UOp before, UOp after) {
  if (!before.is(Op::STORE) || before.num_src() < 2 || !stored_by(before)) return false;
  std::vector<StoredElements> earlier = stores_in(before);
  std::erase_if(earlier, [&](const StoredElements& s) { return s.store == before; });
  for (const StoredElements& s : stores_in(after)) {
    if (in_backward_slice_with_self(before, s.store)) continue;
    for (const StoredElements& e : earlier)
      if (e.overlaps(s) && !in_backward_slice_with_self(s.store, e.store)) return true;
  }
  return false;
}

}  // namespace

bool has_unordered_stores(UOp root) {
  const std::vector<StoredElements> stores = stores_in(root);
  for (size_t i = 0; i < stores.size(); i++)
    for (size_t k = 0; k < i; k++) {
      const StoredElements &a = stores[k], &b = stores[i];  // b is not below a
      if (a.overlaps(b) && !in_backward_slice_with_self(b.store, a.store)) return true;
    }
  return false;
}

void check_store_order(std::span<RewriteProof* const> proofs, std::span<const Application> list, UOp input,
                       UOp result) {
  if (proofs.empty() || !input || !result || !has_unordered_stores(result) || has_unordered_stores(input)) return;
  auto guilty = std::ranges::find_if(proofs, [&](const RewriteProof* r) {
    const Application& a = list[r->application];
    return a.after && loses_order(a.before, a.after);
  });
  RewriteProof& r = guilty == proofs.end() ? *proofs.back() : **guilty;
  if (r.kind != RewriteProof::Kind::Proven && r.kind != RewriteProof::Kind::Sampled) return;
  r.kind = RewriteProof::Kind::Unknown, r.by = {};
  r.why = "a store does not wait for another store to the same memory";
}

}  // namespace tgc
