// Memory accesses of a kernel (tinygrad codegen/late/devectorizer.py), and the stage "early movement ops".

#include "passes/kernel/stages.h"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>

#include "lib/rewrite/rewrite.h"
#include "lib/target/target.h"
#include "lib/uop/graph.h"
#include "lib/uop/integer_math.h"
#include "passes/symbolic/symbolic.h"
#include "passes/tensor/movement_index.h"

namespace tgc {

using namespace pat;

const RuleSet& pm_add_loads() {
  static const RuleSet set("pm_add_loads",
                           {
                               rule("load-index", node(Op::INDEX).as(idx),
                                    with(idx,
                                         [](UOp idx) {
                                           if (idx.dtype().is_ptr()) return UOp();
                                           return idx.with_dtype(idx.src(0).dtype()).load({}, idx.dtype().base());
                                         })),
      // store(load(p), ...) -> store(p, ...), because load-index also loads the address of a store
                               rule("store-to-pointer", any_len(Op::STORE, node(Op::LOAD)).as(s),
                                    with(s, [](UOp s) { return with_first_source(s, s.src(0).src(0)); })),
                           });
  return set;
}

// Splits accesses into the widths that the target supports, and accesses images by pixel (tinygrad
// codegen/late/devectorizer.py: split_load_store, image_fixup, correct_load_store).

using namespace pat;

namespace {

// Returns the access widths in elements that the target supports for this buffer, greatest first, ending with 1.
std::vector<int64_t> access_widths(const Target& target, UOp buf) {
  DType p = buf.dtype();
  const Settings& settings = buf.graph().settings();
  if (p.is_image()) return {4, 1};
  bool wide = p.base() == dtypes::float32 || p.base() == dtypes::float16 || p.base() == dtypes::fp8e4m3 ||
              p.base() == dtypes::fp8e5m2;
  if (!wide || p.addrspace() == AddrSpace::REG || !target.supports_float4) return {1};
  if (p.base() == dtypes::float16 && settings.ALLOW_HALF8) return {8, 4, 2, 1};
  if (settings.AMX) return {16, 8, 4, 2, 1};
  return {4, 2, 1};
}

UOp split_load_store(const Target& target, UOp ls, UOp idx) {
  Graph& graph = ls.graph();
  int64_t size = ls.src(0).dtype().count();
  if (size == 1) return {};
  UOp buf = idx.src(0), offset = idx.src(1).get_idx(), mask = idx.src(1).get_valid();
  auto widths = access_widths(target, buf);
  std::erase_if(widths, [&](int64_t w) { return !is_divisible(offset, w); });

  std::vector<UOp> parts, src(ls.src().begin(), ls.src().end());
  for (int64_t done = 0; done < size;) {
    int64_t width = *std::find_if(widths.begin(), widths.end(), [&](int64_t w) { return done + w <= size; });
    UOp pointer = buf.index_ptr((offset + Const(done)).valid(mask));
    if (width > 1)
      pointer = pointer.cast(buf.dtype().base().vec(width).ptr(buf.dtype().size(), buf.dtype().addrspace()));
    src[0] = pointer;
    if (ls.is(Op::STORE)) src[1] = ls.src(1).gep(consecutive_numbers(done, width));
    parts.push_back(ls.is(Op::STORE) ? ls.with_src(src)
                                     : ls.replace({.dtype = ls.dtype().scalar().vec(width), .src = src}));
    done += width;
  }
  if (parts.size() <= 1) return {};
  return ls.is(Op::LOAD) ? graph.node(Op::CAT, ls.dtype(), parts) : graph.group(parts);
}

// Returns the access `ls` as an access of the whole pixel, which is indexed by its coordinates (x, y).
UOp access_whole_pixel(UOp ls, UOp idx, DType result) {
  UOp x = idx.src(1).get_idx(), valid = idx.src(1).get_valid();
  int64_t width = idx.dtype().image_shape()[1];
  UOp coordinates =
      ls.graph().node(Op::VECTORIZE, dtypes::index.vec(2), {(x / Const(4)) % Const(width), x / Const(4 * width)});
  std::vector<UOp> src(ls.src().begin(), ls.src().end());
  src[0] = idx.with_src({idx.src(0), coordinates.valid(valid)});
  return ls.replace({.dtype = result, .src = src});
}

// Loads the whole pixel and selects element x % 4, where x is the flat index.
UOp load_channel(UOp ls, UOp idx) {
  if (!ls.is(Op::LOAD)) throw Failure("a store to an image must write all four channels of a pixel");
  UOp pixel = access_whole_pixel(ls, idx, ls.dtype().vec(4)), channel = idx.src(1).get_idx() % Const(4);
  int64_t first = 0, last = 3;
  UOp value = ls.const_like(std::numeric_limits<double>::quiet_NaN());
  if (!py_less(channel.vmin(), 0)) {  // x % 4 is never negative here, so its first value needs no test
    first = channel.vmin().to_int().small_value();
    last = channel.vmax().to_int().small_value();
    value = pixel.gep(first++);
  }
  for (int64_t i = first; i <= last; i++) value = channel.ne(i).where(value, pixel.gep(i));
  return value;
}

UOp image_fixup(UOp ls) {
  UOp pointer = ls.src(0);
  if (pointer.is(Op::CAST) && pointer.src(0).dtype().is_image()) {
    if (pointer.dtype().count() != 4) throw Failure("an image is accessed by " + std::string(pointer.dtype().repr()));
    return access_whole_pixel(ls, pointer.src(0), ls.dtype());
  }
  if (pointer.dtype().is_image() && pointer.src(1).get_idx().dtype() != dtypes::index.vec(2))
    return load_channel(ls, pointer);
  return {};
}

}  // namespace

const RuleSet& correct_load_store() {
  static const RuleSet set(
      "correct_load_store",
      {
          rule("split-load-store", any_len({Op::LOAD, Op::STORE}, cast(node(Op::INDEX).as(idx))).as(l),
               with<split_load_store>(l, idx)),
          rule("image-by-pixel", node({Op::LOAD, Op::STORE}).as(l), with<image_fixup>(l)),
      });
  return set;
}

// Makes vector accesses: groups the elements of a vector index into runs of neighbours, and makes each run one wide
// pointer (tinygrad codegen/late/devectorizer.py: expand_index, fold_expanded_index, load_store_folding).

using namespace pat;

namespace {

UOp expand_index(UOp buf, UOp vec) {
  if (buf.graph().settings().UNSAFE_DISABLE_MASK) vec = vec.get_idx();
  std::vector<UOp> src;
  for (int64_t i = 0; i < vec.dtype().count(); i++) src.push_back(buf.index_ptr(vec.gep(i)));
  return buf.graph().node(Op::VECTORIZE, buf.dtype(), src);
}

// An index as base + offset, under the gate `valid`. The base of a constant index is the empty UOp.
struct SplitIndex {
  UOp valid, base;
  bool is_invalid;
  Int offset;
};

Int integer_offset(UOp constant) {
  if (!constant.arg().is_integral()) throw Failure("an index has the non-integer offset " + constant.arg().repr());
  return constant.arg().as_int();
}

SplitIndex split_index(UOp gated) {
  UOp idx = gated.get_idx(), valid = gated.get_valid();
  if (idx.is(Op::ADD) && idx.src(1).is_const()) return {valid, idx.src(0), false, integer_offset(idx.src(1))};
  if (idx.is(Op::ADD) && idx.src(0).is_const()) return {valid, idx.src(1), false, integer_offset(idx.src(0))};
  if (idx.is_const() && idx.is_invalid()) return {valid, {}, true, 0};
  if (idx.is_const()) return {valid, {}, false, integer_offset(idx)};
  return {valid, idx, false, 0};
}

struct Lane {
  Int offset;
  size_t lane_number;
};

// Groups the lanes (elements) of a vector index that share gate and base, in the order of their first lanes. The lanes
// of each group are sorted by offset.
std::vector<std::vector<Lane>> group_lanes(UOp midx) {
  std::vector<std::vector<Lane>> groups;
  std::unordered_map<uint64_t, size_t> group_of;
  for (size_t i = 0; i < midx.num_src(); i++) {
    SplitIndex split = split_index(midx.src(i).src(1));
    uint64_t base = split.base ? uint64_t(split.base.id()) + 2 : split.is_invalid;
    auto [at, is_new] = group_of.try_emplace(uint64_t(split.valid.id()) << 32 | base, groups.size());
    if (is_new) groups.emplace_back();
    groups[at->second].push_back({split.offset, i});
  }
  for (auto& lanes : groups)
    std::stable_sort(lanes.begin(), lanes.end(), [](const Lane& a, const Lane& b) { return a.offset < b.offset; });
  return groups;
}

UOp widen_pointer(UOp pointer, UOp buf, int64_t count) {
  DType p = buf.dtype();
  return pointer.cast(p.base().vec(count).ptr(p.size(), p.addrspace()));
}

UOp fold_expanded_index(UOp midx) {
  UOp buf = midx.src(0).src(0);
  for (UOp s : midx.src())
    if (!(s.src(0) == buf) || !s.dtype().is_ptr()) return {};

  std::vector<UOp> pointers;
  std::vector<int64_t> position(midx.num_src());
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
        position[lanes[end].lane_number] = total + length - 1;
      }
      UOp first = midx.src(lanes[begin].lane_number);
      pointers.push_back(length > 1 ? widen_pointer(first, buf, length) : first);
      total += length;
      begin = end;
    }
  }
  // the PTRCAT consists of pointers to the base dtype, also if the buffer is an image
  DType element = buf.dtype().base().ptr(buf.dtype().size(), buf.dtype().addrspace());
  return midx.graph().node(Op::PTRCAT, element.vec(total), pointers).gep(position);
}

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
    stores.push_back(p.store(data.gep(consecutive_numbers(offset, p.dtype().count())), sto.src().subspan(2)));
    offset += p.dtype().count();
  }
  return sto.graph().group(stores);
}

}  // namespace

const RuleSet& load_store_folding() {
  static const RuleSet set(
      "load_store_folding",
      {
          rule("expand-index", node(Op::INDEX, each(Op::VECTORIZE, or_after(node(ops::Defines), buf)), vec),
               with<expand_index>(buf, vec)),
          rule("fold-expanded-index", each(Op::VECTORIZE, node(Op::INDEX)).as(i), with<fold_expanded_index>(i)),
          rule("load-gep", any_len(Op::LOAD, node(Op::GEP).as(g)).as(l), with<load_of_gep>(g, l)),
          rule("store-gep", any_len(Op::STORE, node(Op::GEP).as(g), v).as(s), with<store_to_gep>(g, v, s)),
          rule("load-cat", any_len(Op::LOAD, node(Op::PTRCAT).as(cat)).as(l), with<load_of_cat>(cat, l)),
          rule("store-cat", any_len(Op::STORE, node(Op::PTRCAT).as(cat), data).as(s), with<store_to_cat>(cat, data, s)),
      });
  return set;
}

// Simplifies the index of an access under the assumption that its gate holds. For images, drops clauses of the gate
// that the hardware's bounds check makes redundant (tinygrad codegen/late/devectorizer.py: simplify_valid_load,
// load_store_indexing).

using namespace pat;

namespace {

bool is_negative(Const v) { return py_less(v, 0); }

// Returns true if the clause is x0 + x1 + ... >= 1 with irreducible xi of minimum 0, and a coordinate is negative if
// all xi are 0. Then the clause is redundant, because it excludes only positions outside the image.
bool simplex_is_outside(const BoundClause& clause, UOp idx) {
  if (clause.is_upper || clause.bound != 1) return false;
  auto terms = split_uop(clause.expr, Op::ADD);
  if (!std::all_of(terms.begin(), terms.end(), [](UOp u) { return u.in(ops::Irreducible) && py_equal(u.vmin(), 0); }))
    return false;
  UOp test = idx;
  for (UOp u : terms) test = substitute(test, {{u, u.const_like(0)}});
  return is_negative(test.gep(0).vmax()) || is_negative(test.gep(1).vmax());
}

// Returns true if a coordinate that is_increasing() lies outside the image for the first value that the clause
// excludes. Then the clause is redundant.
bool neighbour_is_outside(const BoundClause& clause, UOp idx, std::span<const int64_t> image_shape) {
  Int excluded = clause.is_upper ? clause.bound + 1 : clause.bound - 1;
  const int64_t sizes[] = {image_shape[1], image_shape[0]};
  for (size_t k = 0; k < std::min<size_t>(2, idx.num_src()); k++) {
    UOp i = idx.src(k);
    if (!is_increasing(i)) continue;
    UOp at = substitute(i, {{clause.expr, clause.expr.const_like(excluded)}});
    if (!py_less(at.vmin(), sizes[k]) || is_negative(at.vmax())) return true;
  }
  return false;
}

UOp simplify_valid_load(UOp buf, UOp start, UOp valid) {
  UOp idx = uop_given_valid(valid, start);
  if (!buf.dtype().is_image()) return idx == start ? UOp() : buf.index_ptr(idx.valid(valid));
  if (start.dtype().count() != 2) return {};  // the index is not (x, y) yet

  UOp kept;
  bool dropped = false;
  for (UOp clause : split_uop(valid, Op::AND)) {
    auto bound = parse_valid(clause);
    if (bound && (simplex_is_outside(*bound, idx) || neighbour_is_outside(*bound, idx, buf.dtype().image_shape())))
      dropped = true;
    else kept = kept ? kept & clause : clause;
  }
  if (!dropped && idx == start) return {};
  return buf.index_ptr(kept ? idx.valid(kept) : idx);
}

}  // namespace

const RuleSet& load_store_indexing() {
  static const RuleSet set(
      "load_store_indexing",
      {
          rule("index-given-valid", node(Op::INDEX, buf, where(cond, x, node(Op::CONST).arg(Const::invalid()))),
               with<simplify_valid_load>(buf, x, cond)),
          // buf[x, cond] -> buf[cond ? y : invalid], if the int64 x simplifies to y under the assumption cond
          rule("long-index-given-gate", node(Op::INDEX, buf, x.of(dtypes::int64), cond.of(dtypes::bool_)),
               with<simplify_valid_load>(buf, x, cond)),
          rule("drop-true-gate", node(Op::INDEX, buf, x, constant(true, dtypes::bool_)),
               with(buf, x, [](UOp buf, UOp x) { return buf.index_ptr(x); })),
      });
  return set;
}

using namespace pat;

namespace {
UOp index_of_index(UOp inner, UOp outer) {
  if (!inner.dtype().is_ptr() || outer.dtype().is_ptr()) return {};
  std::vector<UOp> src(inner.src().begin(), inner.src().end());
  src.insert(src.end(), outer.src().begin() + 1, outer.src().end());
  return outer.with_src(src);
}
}  // namespace

const RuleSet& pm_syntactic_sugar() {
  static const RuleSet set("pm_syntactic_sugar", {
      rule("index-of-index", any_len(Op::INDEX, node(Op::INDEX).as(x)).as(y), with<index_of_index>(x, y)),
  });
  return set;
}

const RuleSet& early_movement_ops() {
  static const RuleSet set("early movement ops", {&pm_mops(), &pm_syntactic_sugar()});
  return set;
}

}  // namespace tgc
