// Makes vector accesses: groups the elements of a vector index into runs of neighbours, and makes each run one wide
// pointer (tinygrad codegen/late/devectorizer.py: expand_index, fold_expanded_index, load_store_folding).
#include <algorithm>
#include <map>
#include <unordered_map>

#include "lib/uop/graph.h"
#include "passes/kernel/loads.h"

namespace tgc {

using namespace pat;

namespace {

// {buf, buf, ...}[vec] -> {&buf[vec.0], &buf[vec.1], ...}
UOp expand_index(UOp buf, UOp vec) {
  if (buf.graph().settings().UNSAFE_DISABLE_MASK) vec = vec.get_idx();
  std::vector<UOp> src;
  for (int64_t i = 0; i < vec.dtype().count(); i++) src.push_back(buf.index_ptr(vec.gep(i)));
  return buf.graph().node(Op::VECTORIZE, buf.dtype(), src);
}

// ---- the function of the rule fold-expanded-index

// An index as base + offset, under the gate `valid`. The base of a constant index is the empty UOp.
struct SplitIndex {
  UOp valid, base;
  bool invalid;
  Int offset;
};

Int integer(UOp constant) {
  if (!constant.arg().is_integral()) throw Failure("an index has the non-integer offset " + constant.arg().repr());
  return constant.arg().as_int();
}

SplitIndex split_index(UOp gated) {
  UOp idx = gated.get_idx(), valid = gated.get_valid();
  if (idx.is(Op::ADD) && idx.src(1).is_const()) return {valid, idx.src(0), false, integer(idx.src(1))};
  if (idx.is(Op::ADD) && idx.src(0).is_const()) return {valid, idx.src(1), false, integer(idx.src(0))};
  if (idx.is_const() && idx.is_invalid()) return {valid, {}, true, 0};
  if (idx.is_const()) return {valid, {}, false, integer(idx)};
  return {valid, idx, false, 0};
}

struct Lane {
  Int offset;
  size_t number;
};

// Groups the lanes (elements) of a vector index that share gate and base. Groups are in the order of their first lanes,
// and the lanes of each group are sorted by offset.
std::vector<std::vector<Lane>> group_lanes(UOp midx) {
  std::vector<std::vector<Lane>> groups;
  std::unordered_map<uint64_t, size_t> group_of;
  for (size_t i = 0; i < midx.num_src(); i++) {
    SplitIndex split = split_index(midx.src(i).src(1));
    uint64_t base = split.base ? uint64_t(split.base.id()) + 2 : split.invalid;
    auto [at, is_new] = group_of.try_emplace(uint64_t(split.valid.id()) << 32 | base, groups.size());
    if (is_new) groups.emplace_back();
    groups[at->second].push_back({split.offset, i});
  }
  for (auto& lanes : groups)
    std::stable_sort(lanes.begin(), lanes.end(), [](const Lane& a, const Lane& b) { return a.offset < b.offset; });
  return groups;
}

// Casts `pointer` to a pointer to a vector of `count` elements.
UOp widened(UOp pointer, UOp buf, int64_t count) {
  DType p = buf.dtype();
  return pointer.cast(p.base().vec(count).ptr(p.size(), p.addrspace()));
}

UOp fold_expanded_index(UOp midx) {
  UOp buf = midx.src(0).src(0);
  for (UOp s : midx.src())
    if (!(s.src(0) == buf) || !s.dtype().is_ptr()) return {};

  std::vector<UOp> pointers;
  std::vector<int64_t> position(midx.num_src());  // for each lane, the index of its element in the PTRCAT
  int64_t total = 0;
  for (const auto& lanes : group_lanes(midx)) {
    // each run of lanes with consecutive offsets becomes one pointer; several lanes of a run may have the same offset
    for (size_t begin = 0; begin < lanes.size();) {
      int64_t length = 1;
      size_t end = begin;
      for (; end < lanes.size(); end++) {
        Int beyond = lanes[end].offset - lanes[begin].offset;
        if (beyond > length) break;
        if (beyond == length) length++;
        position[lanes[end].number] = total + length - 1;
      }
      UOp first = midx.src(lanes[begin].number);
      pointers.push_back(length > 1 ? widened(first, buf, length) : first);
      total += length;
      begin = end;
    }
  }
  // the PTRCAT consists of pointers to the base dtype, also if the buffer is an image
  DType element = buf.dtype().base().ptr(buf.dtype().size(), buf.dtype().addrspace());
  return midx.graph().node(Op::PTRCAT, element.vec(total), pointers).gep(position);
}

// ---- loads from and stores to a PTRCAT or GEP of pointers

UOp load_of_gep(UOp gep, UOp ld) {
  std::vector<UOp> src(ld.src().begin(), ld.src().end());
  src[0] = gep.src(0);
  UOp wide = ld.replace({.dtype = ld.dtype().scalar().vec(gep.dtype().count()), .src = src});
  std::vector<int64_t> picks;
  for (Arg i : gep.arg().items()) picks.push_back(i.small_int());
  return wide.gep(picks);
}

// Applies the inverse of the GEP to the value. If the GEP selects an element more than once, the last value is stored.
UOp store_to_gep(UOp gep, UOp value, UOp sto) {
  std::map<int64_t, int64_t> lane_of;
  int64_t lane = 0;
  for (Arg i : gep.arg().items()) lane_of[i.small_int()] = lane++;
  std::vector<int64_t> picks;
  for (auto [element, from] : lane_of) picks.push_back(from);
  return gep.src(0).store(value.gep(picks), sto.src().subspan(2));
}

UOp load_of_cat(UOp cat, UOp ld) {
  std::vector<UOp> loads, src(ld.src().begin(), ld.src().end());
  for (UOp p : cat.src()) {
    src[0] = p;
    loads.push_back(ld.replace({.dtype = p.dtype().base(), .src = src}));
  }
  return ld.graph().node(Op::CAT, cat.dtype().base().vec(cat.dtype().vcount()), loads);
}

UOp store_to_cat(UOp cat, UOp data, UOp sto) {
  std::vector<UOp> stores;
  int64_t offset = 0;
  for (UOp p : cat.src()) {
    stores.push_back(p.store(data.gep(consecutive(offset, p.dtype().count())), sto.src().subspan(2)));
    offset += p.dtype().count();
  }
  return sto.graph().group(stores);
}

}  // namespace

const RuleSet& load_store_folding() {
  static const RuleSet set("load_store_folding", {
      // {buf, buf, ...}[vec] -> {&buf[vec.0], &buf[vec.1], ...}
      rule("expand-index", node(Op::INDEX, each(Op::VECTORIZE, or_after(node(ops::Defines), buf)), vec), with<expand_index>(buf, vec)),
      // {&buf[i], &buf[i+1], ...} -> gep(ptrcat(wide pointers))
      rule("fold-expanded-index", each(Op::VECTORIZE, node(Op::INDEX)).as(i), with<fold_expanded_index>(i)),
      // load(p.gep) -> load(p).gep
      rule("load-gep", any_len(Op::LOAD, node(Op::GEP).as(g)).as(l), with<load_of_gep>(g, l)),
      // store(p.gep, x) -> store(p, x.inverse gep)
      rule("store-gep", any_len(Op::STORE, node(Op::GEP).as(g), v).as(s), with<store_to_gep>(g, v, s)),
      // load(ptrcat(p, q)) -> cat(load(p), load(q))
      rule("load-cat", any_len(Op::LOAD, node(Op::PTRCAT).as(cat)).as(l), with<load_of_cat>(cat, l)),
      // store(ptrcat(p, q), x) -> group(store(p, first part of x), store(q, the rest))
      rule("store-cat", any_len(Op::STORE, node(Op::PTRCAT).as(cat), data).as(s), with<store_to_cat>(cat, data, s)),
  });
  return set;
}

}  // namespace tgc
