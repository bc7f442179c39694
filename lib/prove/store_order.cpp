#include "lib/prove/store_order.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "lib/prove/loop_maps.h"
#include "lib/uop/facts.h"
#include "lib/uop/graph.h"
#include "lib/uop/render.h"

namespace tgc {

namespace {

struct StoredElements {
  UOp store, memory;
  std::vector<int64_t> elements = {};  // indices of the stored elements; empty if they are not constant

  bool overlaps(const StoredElements& other) const {
    if (memory != other.memory) return false;
    if (elements.empty() || other.elements.empty()) return true;
    auto is_common = [&](int64_t e) { return std::ranges::find(other.elements, e) != other.elements.end(); };
    return std::ranges::any_of(elements, is_common);
  }
};

std::vector<int64_t> constant_lanes_of(UOp index) {
  std::vector<int64_t> out;
  if (auto one = constant_integer(index)) out.assign(size_t(index.dtype().count()), *one);
  if (index.is(Op::VCONST))
    for (Arg v : index.arg().items()) {
      if (!v.is_int() || !v.as_int().to_int64()) return {};
      out.push_back(*v.as_int().to_int64());
    }
  if (index.is(Op::VECTORIZE))
    for (UOp s : index.src()) {
      auto one = constant_integer(s);
      if (!one) return {};
      out.push_back(*one);
    }
  return out;
}

// Returns the elements that a store to a register or to shared memory writes; nullopt for other stores.
std::optional<StoredElements> stored_elements_of(UOp store) {
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
  const std::vector<int64_t> lanes = constant_lanes_of(index.src(1));
  if (lanes.empty()) return out;
  const int64_t unit = index.dtype().base().count();
  const int64_t width = std::max(unit, store.src(1).dtype().count() / int64_t(lanes.size()));
  for (int64_t lane : lanes)
    for (int64_t k = 0; k < width; k++) out.elements.push_back(lane * unit + k);
  return out;
}

std::vector<StoredElements> stored_elements_in(UOp root) {
  std::vector<StoredElements> out;
  for (UOp u : toposort(root))
    if (u.is(Op::STORE) && u.num_src() > 1)
      if (auto stored = stored_elements_of(u)) out.push_back(std::move(*stored));
  return out;
}

// Returns true if the store `before` waits for a store to some elements, and a store of `after` that may write the same
// elements does not.
bool loses_store_order(UOp before, UOp after) {
  if (!before.is(Op::STORE) || before.num_src() < 2 || !stored_elements_of(before)) return false;
  std::vector<StoredElements> earlier = stored_elements_in(before);
  std::erase_if(earlier, [&](const StoredElements& s) { return s.store == before; });
  for (const StoredElements& s : stored_elements_in(after)) {
    if (in_backward_slice_with_self(before, s.store)) continue;
    for (const StoredElements& e : earlier)
      if (e.overlaps(s) && !in_backward_slice_with_self(s.store, e.store)) return true;
  }
  return false;
}

}  // namespace

bool has_unordered_stores(UOp root) {
  const std::vector<StoredElements> stores = stored_elements_in(root);
  for (size_t i = 0; i < stores.size(); i++)
    for (size_t k = 0; k < i; k++) {
      const StoredElements &a = stores[k], &b = stores[i];  // `b` is later in toposort order: `a` cannot depend on it
      if (a.overlaps(b) && !in_backward_slice_with_self(b.store, a.store)) return true;
    }
  return false;
}

void check_store_order(std::span<RewriteProof* const> proofs, std::span<const Rewrite> list, UOp input,
                       UOp result) {
  if (proofs.empty() || !input || !result || !has_unordered_stores(result) || has_unordered_stores(input)) return;
  auto guilty = std::ranges::find_if(proofs, [&](const RewriteProof* r) {
    const Rewrite& a = list[r->application_index];
    return a.after && loses_store_order(a.before, a.after);
  });
  RewriteProof& r = guilty == proofs.end() ? *proofs.back() : **guilty;
  if (r.kind != RewriteProof::Kind::Proven && r.kind != RewriteProof::Kind::Sampled) return;
  r.kind = RewriteProof::Kind::Unknown, r.proof_method = {};
  r.reason = "a store does not wait for another store to the same memory";
}

namespace {

bool is_parallel(UOp u) {
  if (u.is(Op::SPECIAL)) return true;
  if (u.is(Op::DEFINE_VAR)) return u.arg().is_tuple() && u.arg()[0] == Arg("core_id");
  if (!u.is(Op::RANGE) || !u.arg().is_tuple() || u.arg().items().empty()) return false;
  const Arg type = u.arg().items().back();
  for (AxisType t : {AxisType::GLOBAL, AxisType::THREAD, AxisType::LOCAL, AxisType::WARP, AxisType::GROUP_REDUCE})
    if (type == Arg(t)) return true;
  return false;
}
bool is_loop(UOp u) { return u.in({Op::RANGE, Op::SPECIAL}) || is_parallel(u); }

int64_t loop_size(UOp loop) {
  auto most = loop.vmax().to_int().to_int64();
  auto least = loop.vmin().to_int().to_int64();
  return most && least && *least == 0 ? *most + 1 : -1;
}

// The index of a store as a sum of loops times factors, without its constant.
struct LinearIndex {
  std::map<uint32_t, std::pair<UOp, int64_t>> terms = {};
  bool is_linear = true;
};

void add_terms(UOp u, int64_t factor, LinearIndex& out) {
  std::vector<std::pair<UOp, int64_t>> stack{{u, factor}};
  while (!stack.empty() && out.is_linear) {
    auto [x, by] = stack.back();
    stack.pop_back();
    if (x.is_const()) continue;
    if (x.is(Op::CAST) && dtypes::is_int(x.src(0).dtype())) stack.emplace_back(x.src(0), by);
    else if (x.is(Op::ADD)) stack.emplace_back(x.src(0), by), stack.emplace_back(x.src(1), by);
    else if (is_loop(x)) out.terms.try_emplace(x.id(), x, 0).first->second.second += by;
    else if (x.in({Op::MUL, Op::SHL}) && x.src(1).is_const() && x.src(1).arg().is_int()) {
      auto n = x.src(1).arg().as_int().to_int64();
      if (n && x.is(Op::SHL)) n = *n >= 0 && *n < 62 ? std::optional<int64_t>(int64_t(1) << *n) : std::nullopt;
      int64_t next = 0;
      if (!n || __builtin_mul_overflow(by, *n, &next)) out.is_linear = false;
      else stack.emplace_back(x.src(0), next);
    } else {
      out.is_linear = false;
    }
  }
}

// Returns true if different values of the parallel loops always give different elements, because the factor of each is
// larger than the largest sum of the terms with smaller factors. Serial loops may repeat an index. `width` is the
// number of elements that a store writes at an index.
bool are_indices_disjoint(const LinearIndex& index, int64_t width) {
  std::vector<std::tuple<int64_t, int64_t, bool>> all;
  for (auto& [id, term] : index.terms) {
    const int64_t size = loop_size(term.first), factor = std::abs(term.second);
    if (size == 1) continue;
    if (size < 0) return false;
    all.emplace_back(factor, size, is_parallel(term.first));
  }
  std::ranges::sort(all);
  int64_t span = width - 1;  // the largest difference of elements that the loops with smaller factors make
  for (auto [factor, size, parallel] : all) {
    int64_t more = 0;
    if (parallel && factor <= span) return false;
    if (__builtin_mul_overflow(factor, size - 1, &more) || __builtin_add_overflow(span, more, &span)) return false;
  }
  return true;
}

// `memory` is empty if the store is not to global memory.
struct StoreTarget {
  UOp memory, index;
};
StoreTarget store_target_of(UOp store) {
  StoreTarget out;
  UOp u = store.src(0);
  while (u.num_src() && !u.in(ops::Defines)) {
    if (u.is(Op::INDEX) && u.num_src() > 1 && !out.index) out.index = u.src(1);
    u = u.src(0);
  }
  if (u.is(Op::DEFINE_GLOBAL)) out.memory = u;
  return out;
}

bool depends_on(UOp u, UOp loop) { return in_backward_slice_with_self(u, loop); }

// Enumerates the values of all loops in `index`, also of serial loops. Returns true if different values give different
// indices; false if not, or if there are too many.
bool are_indices_disjoint_by_enumeration(UOp index) {
  UOp at = index;
  while (at.is(Op::WHERE) && at.src(2).is_const() && at.src(2).is_invalid()) at = at.src(1);
  if (std::ranges::any_of(toposort(at), [](UOp u) { return is_parallel(u) && u.is(Op::DEFINE_VAR); })) return false;
  const auto most = at.vmax().to_int().to_int64();
  if (!most || *most < 0 || *most >= 1 << 20) return false;
  return is_injective_index(at, *most + 1);
}

}  // namespace

std::set<std::string> parallel_axes(UOp root) {
  std::set<std::string> out;
  for (UOp u : toposort(root))
    if (is_parallel(u) && loop_size(u) != 1) out.insert(u.arg().repr() + " " + std::to_string(loop_size(u)));
  return out;
}

int64_t num_parallel_iterations(UOp root) {
  int64_t out = 1;
  for (UOp u : toposort(root))
    if (is_parallel(u)) {
      const int64_t size = loop_size(u);
      if (size < 0 || __builtin_mul_overflow(out, size, &out)) return -1;
    }
  return out;
}

UOp find_store_race(UOp root) {
  std::vector<UOp> all = toposort(root), parallel;
  for (UOp u : all)
    if (is_parallel(u) && loop_size(u) != 1) parallel.push_back(u);
  if (parallel.empty()) return {};
  for (UOp store : all) {
    if (!store.is(Op::STORE) || store.num_src() < 2) continue;
    const StoreTarget place = store_target_of(store);
    if (!place.memory || !place.index) continue;
    std::vector<UOp> own;
    bool differs_between_threads = false;
    for (UOp loop : parallel) {
      if (depends_on(place.index, loop)) own.push_back(loop);
      else differs_between_threads |= depends_on(store.src(1), loop);
    }
    if (differs_between_threads) return store;
    if (own.empty()) continue;
    UOp index = place.index;
    while (index.is(Op::WHERE) && index.src(2).is_const() && index.src(2).is_invalid()) index = index.src(1);
    const int64_t width = std::max<int64_t>(store.src(1).dtype().count(), store.src(0).dtype().base().count());
    bool is_apart = index.dtype().count() == 1;
    if (index.is(Op::VECTORIZE) || index.is(Op::VCONST)) continue;  // skip: the stage before vectorizing was checked
    LinearIndex linear;
    add_terms(index, 1, linear);
    is_apart = is_apart && ((linear.is_linear && are_indices_disjoint(linear, width)) ||
                            are_indices_disjoint_by_enumeration(index));
    if (!is_apart) return store;
  }
  return {};
}

UOp find_missing_barrier(UOp root) {
  const std::vector<UOp> all = toposort(root);
  auto is_local_index = [](UOp u) { return u.is(Op::SPECIAL) && u.arg().text().starts_with("l") && loop_size(u) != 1; };
  if (std::ranges::none_of(all, is_local_index)) return {};
  auto memory_of = [](UOp u) {
    while (u.num_src() && !u.in(ops::Defines)) u = u.src(0);
    return u;
  };
  for (UOp after : all) {
    if (!after.is(Op::AFTER) || !memory_of(after).is(Op::DEFINE_LOCAL)) continue;
    for (UOp dependency : after.src().subspan(1))
      for (UOp u : toposort(dependency, [](UOp x) { return !x.is(Op::BARRIER); }))
        if (u.is(Op::STORE) && memory_of(u.src(0)) == memory_of(after)) return after;
  }
  return {};
}

}  // namespace tgc
