#include "lib/uop/facts.h"

#include <algorithm>
#include <array>
#include <limits>

#include "lib/uop/bottom_up.h"
#include "lib/uop/graph.h"

namespace tgc {

namespace {

bool is_zero_or_more(Const c) { return !py_less(c, 0); }
bool is_single_value(const Bounds& b) { return py_equal(b.min, b.max); }

Bounds bounds_of_values(std::initializer_list<Const> values) {
  Bounds out{*values.begin(), *values.begin()};
  for (Const v : values) out = {py_min(out.min, v), py_max(out.max, v)};
  return out;
}

// The fast path of binary_bounds for some ops and small integers. Returns nullopt where this path does not apply.
std::optional<Bounds> small_int_bounds(Op op, const Bounds& a, const Bounds& b) {
  if (!are_small_ints(a.min, a.max) || !are_small_ints(b.min, b.max)) return std::nullopt;
  auto a0 = int64_t(a.min.raw_bits()), a1 = int64_t(a.max.raw_bits()), b0 = int64_t(b.min.raw_bits()),
       b1 = int64_t(b.max.raw_bits());
  auto of_four = [](int64_t w, int64_t x, int64_t y, int64_t z) {
    return Bounds{std::min({w, x, y, z}), std::max({w, x, y, z})};
  };
  switch (op) {
    case Op::ADD: {
      int64_t low, high;
      if (__builtin_add_overflow(a0, b0, &low) || __builtin_add_overflow(a1, b1, &high)) return std::nullopt;
      return Bounds{low, high};
    }
    case Op::MUL: {
      int64_t w, x, y, z;
      if (__builtin_mul_overflow(a0, b0, &w) || __builtin_mul_overflow(a0, b1, &x) ||
          __builtin_mul_overflow(a1, b0, &y) || __builtin_mul_overflow(a1, b1, &z))
        return std::nullopt;
      return of_four(w, x, y, z);
    }
    case Op::IDIV:
      if (b0 <= 0 || b1 <= 0) return std::nullopt;  // check both: a range of negative size has vmax < vmin
      return of_four(a0 / b0, a0 / b1, a1 / b0, a1 / b1);
    case Op::MOD:
      if (b0 <= 0 || b0 != b1) return std::nullopt;
      return Bounds{a0 > 0 ? 0 : a0 > -b0 ? a0 : -(b0 - 1), a1 < 0 ? 0 : a1 < b0 ? a1 : b0 - 1};
    case Op::CMPLT: return Bounds{a1 < b0, a0 < b1};
    default: return std::nullopt;
  }
}

// Returns the bounds of a binary op whose dtype is not a float, computed from its operands' bounds; nullopt if unknown.
std::optional<Bounds> binary_bounds(UOp u, const Bounds& a, const Bounds& b) {
  if (auto small = small_int_bounds(u.op(), a, b)) return small;
  switch (u.op()) {
    case Op::ADD: return Bounds{py_add(a.min, b.min), py_add(a.max, b.max)};
    case Op::SUB: return Bounds{py_sub(a.min, b.max), py_sub(a.max, b.min)};
    case Op::MUL:
      return bounds_of_values({py_mul(a.min, b.min), py_mul(a.min, b.max), py_mul(a.max, b.min), py_mul(a.max, b.max)});
    case Op::MAX: return Bounds{py_max(a.min, b.min), py_max(a.max, b.max)};
    case Op::CMPLT: return Bounds{py_less(a.max, b.min), py_less(a.min, b.max)};
    case Op::CMPNE: {
      bool all_one = is_single_value(a) && py_equal(a.max, b.min) && is_single_value(b);
      return Bounds{py_less(a.max, b.min) || py_less(b.max, a.min), !all_one};
    }
    case Op::AND:
      if (dtypes::is_int(u.dtype()) && is_single_value(b) && is_zero_or_more(b.max) && is_zero_or_more(a.min))
        return Bounds{py_min(0, a.min), py_min(a.max, b.max)};
      if (u.dtype() == dtypes::bool_) return Bounds{a.min.truthy() ? b.min : a.min, a.max.truthy() ? b.max : a.max};
      return std::nullopt;
    case Op::OR:
      if (u.dtype() == dtypes::bool_) return Bounds{a.min.truthy() ? a.min : b.min, a.max.truthy() ? a.max : b.max};
      return std::nullopt;
    case Op::SHL:
    case Op::SHR: {
      if (!is_single_value(b) || !a.min.is_integral() || !a.max.is_integral() || !b.min.is_integral())
        return std::nullopt;
      if (b.min.as_int() < 0) throw Failure("negative shift count");
      auto by = uint32_t(std::min(b.min.as_int(), Int(UINT32_MAX)).small_value());
      if (u.is(Op::SHL)) return Bounds{a.min.as_int() << by, a.max.as_int() << by};
      return Bounds{a.min.as_int() >> by, a.max.as_int() >> by};
    }
    case Op::MOD: {
      Int a0 = a.min.to_int(), a1 = a.max.to_int(), b0 = b.min.to_int(), b1 = b.max.to_int();
      if (b0 == b1 && b1 > 0)
        return Bounds{a0 > 0 ? Int(0) : a0 > -b0 ? a0 : -(b1 - 1), a1 < 0 ? Int(0) : a1 < b0 ? a1 : b0 - 1};
      if (b0 > 0) return a0 >= 0 ? Bounds{0, b1 - 1} : a1 <= 0 ? Bounds{-(b1 - 1), 0} : Bounds{-(b1 - 1), b1 - 1};
      if (b1 < 0) return a0 >= 0 ? Bounds{0, -b0 - 1} : a1 <= 0 ? Bounds{b0 + 1, 0} : Bounds{b0 + 1, -b0 - 1};
      return std::nullopt;
    }
    case Op::IDIV: {
      Int a0 = a.min.to_int(), a1 = a.max.to_int(), b0 = b.min.to_int(), b1 = b.max.to_int();
      if (b0.sign() * b1.sign() > 0) return bounds_of_values({cdiv(a0, b0), cdiv(a0, b1), cdiv(a1, b0), cdiv(a1, b1)});
      return std::nullopt;
    }
    default: return std::nullopt;
  }
}

std::optional<Bounds> infer_bounds(UOp u) {
  auto src = [&](size_t i) -> const Bounds& { return *u.src(i).node()->bounds; };
  if (u.in(ops::Binary) && !dtypes::is_float(u.dtype())) return binary_bounds(u, src(0), src(1));
  switch (u.op()) {
    case Op::WHERE:
      if (dtypes::is_int(u.dtype())) return Bounds{py_min(src(1).min, src(2).min), py_max(src(1).max, src(2).max)};
      return std::nullopt;
    case Op::DEFINE_VAR:
      if (u.arg().is_tuple() && u.arg().items().size() >= 3)
        return Bounds{u.arg()[1].to_const(), u.arg()[2].to_const()};
      return std::nullopt;
    case Op::RANGE:
    case Op::SPECIAL:
      if (dtypes::is_float(u.src(0).dtype())) return Bounds{0, dtypes::max(u.src(0).dtype())};
      return Bounds{0, py_sub(src(0).max, 1)};
    case Op::BIND:
    case Op::GEP: return src(0);
    case Op::UNROLL:
    case Op::VECTORIZE: {
      if (u.num_src() == 0) return std::nullopt;
      Bounds out = src(0);
      for (size_t i = 1; i < u.num_src(); i++) out = {py_min(out.min, src(i).min), py_max(out.max, src(i).max)};
      return out;
    }
    case Op::CONST:
      if (!u.is_invalid()) return Bounds{u.arg().to_const(), u.arg().to_const()};
      return std::nullopt;
    case Op::VCONST: {
      auto items = u.arg().items();
      if (std::any_of(items.begin(), items.end(), [](Arg a) { return a.is_invalid(); })) return std::nullopt;
      Bounds out{items[0].to_const(), items[0].to_const()};
      for (Arg a : items) out = {py_min(out.min, a.to_const()), py_max(out.max, a.to_const())};
      return out;
    }
    case Op::CAST:  // casts to bool and to unsigned ints are excluded because they are not monotone
      if (u.dtype().count() == 1 && (dtypes::floats | dtypes::sints | DTypeSet{Scalar::Index}).contains(u.dtype()))
        return Bounds{py_max(dtypes::min(u.dtype()), src(0).min), py_min(src(0).max, dtypes::max(u.dtype()))};
      return std::nullopt;
    default: return std::nullopt;
  }
}

bool needs_source_bounds(UOp u) {
  static constexpr OpSet kNeed =
      ops::Binary | OpSet{Op::WHERE, Op::RANGE, Op::SPECIAL, Op::BIND, Op::GEP, Op::UNROLL, Op::VECTORIZE, Op::CAST};
  return u.in(kNeed) && !(u.in(ops::Binary) && dtypes::is_float(u.dtype()));
}

// Throws Failure for a dtype that tinygrad 0.12.0 does not have.
const Bounds& bounds_of_dtype(DType d) {
  static const auto kTable = [] {
    std::array<Bounds, kNumScalars> table;
    for (int i = 0; i < kNumScalars; i++)
      table[size_t(i)] = {dtypes::min(dtypes::of(Scalar(i))), dtypes::max(dtypes::of(Scalar(i)))};
    return table;
  }();
  const Scalar scalar = d.is_image() ? Scalar::Float32 : d.is_ptr() ? Scalar::Void : d.scalar_kind();
  if (scalar == Scalar::Other) throw Failure("tgc has no " + std::string(d.repr()));
  return kTable[size_t(scalar)];
}

}  // namespace

const Bounds& UOp::compute_bounds() const {
  static const Bounds kUnknown{-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  if (graph().is_foreign()) return kUnknown;
  compute_bottom_up(
      *this, [](UOp u) { return u.node()->bounds != nullptr; }, needs_source_bounds,
      [](UOp u) {
        auto bounds = infer_bounds(u);
        u.node()->bounds = bounds ? u.graph().arena().make<Bounds>(*bounds) : &bounds_of_dtype(u.dtype());
      });
  return *node()->bounds;
}

struct alignas(UOp) RangeList {  // a header; `size` UOps follow the header in memory
  uint32_t size;
};

namespace {

constexpr RangeList kNoRanges{0};

const RangeList* make_range_list(Graph& graph, std::span<const UOp> ranges) {
  if (ranges.empty()) return &kNoRanges;
  auto* list = static_cast<RangeList*>(graph.arena().allocate(sizeof(RangeList) + ranges.size_bytes(), alignof(UOp)));
  list->size = uint32_t(ranges.size());
  std::copy(ranges.begin(), ranges.end(), reinterpret_cast<UOp*>(list + 1));
  return list;
}

std::span<const UOp> ranges_view(const RangeList* list) { return {reinterpret_cast<const UOp*>(list + 1), list->size}; }

bool contains_node(std::span<const UOp> list, UOp u) { return std::find(list.begin(), list.end(), u) != list.end(); }

// The counterpart of range_start (ops.h) for graphs of releases other than 0.12.0.
int foreign_range_start(Op op) {
  switch (op) {
    case Op::LINEAR: return 0;
    case Op::STAGE:
    case Op::CALL:
    case Op::FUNCTION:
    case Op::UNSHARD:
    case Op::BUFFER_VIEW: return 1;
    case Op::COPY: return 2;
    case Op::STORE: return -1;
    default: return range_start(op);
  }
}

template <int (*range_start)(Op)>
void collect_ended_ranges(UOp u, std::vector<UOp>& out) {
  std::vector<UOp> stack{u};
  while (!stack.empty()) {
    UOp x = stack.back();
    stack.pop_back();
    if (int start = range_start(x.op()); start >= 0) {
      if (size_t(start) < x.num_src()) out.insert(out.end(), x.src().begin() + start, x.src().end());
    } else if (x.is(Op::AFTER)) {
      for (size_t i = x.num_src(); i-- > 1;) stack.push_back(x.src(i));
    }
  }
}

template <int (*range_start)(Op)>
bool may_end_ranges(UOp u) {
  return range_start(u.op()) >= 0 || u.is(Op::AFTER);
}

// Returns the range list of the first source of `u` that has ranges, or null if the list lacks a range of another
// source. Returns the empty list if no source has ranges.
const RangeList* shared_source_ranges(UOp u) {
  const RangeList* shared = &kNoRanges;
  for (UOp s : u.src()) {
    const RangeList* list = s.node()->ranges;
    if (list == shared || list->size == 0) continue;
    if (shared->size == 0) {
      shared = list;
      continue;
    }
    for (UOp r : ranges_view(list))
      if (!contains_node(ranges_view(shared), r)) return nullptr;
  }
  return shared;
}

template <int (*range_start)(Op) = tgc::range_start>
void compute_ranges(UOp u) {
  const Node* n = u.node();
  std::vector<UOp> ended;
  if (may_end_ranges<range_start>(u)) collect_ended_ranges<range_start>(u, ended);
  if (!u.is(Op::RANGE) && ended.empty())
    if (const RangeList* shared = shared_source_ranges(u)) {
      n->ranges = shared;
      return;
    }

  std::vector<UOp> out;
  constexpr size_t kUsual = 8;
  out.reserve(kUsual);
  if (u.is(Op::RANGE)) out.push_back(u);
  auto add = [&](UOp r) {
    if (!contains_node(out, r)) out.push_back(r);
  };
  for (UOp s : u.src())
    for (UOp r : ranges_view(s.node()->ranges)) add(r);
  auto remove = [&](UOp r) {
    if (auto it = std::find(out.begin(), out.end(), r); it != out.end()) out.erase(it);
  };
  for (UOp e : ended) {
    if (e.is(Op::RANGE)) remove(e);  // only `e` itself: the ranges that enclose `e` do not end
    else for (UOp r : ranges_of(e)) remove(r);
  }
  n->ranges = make_range_list(u.graph(), out);
}

}  // namespace

std::vector<UOp> ended_ranges(UOp u) {
  std::vector<UOp> out;
  collect_ended_ranges<range_start>(u, out);
  return out;
}

std::span<const UOp> ranges_of(UOp u) {
  if (!u.node()->ranges)
    compute_bottom_up(
        u, [](UOp x) { return x.node()->ranges != nullptr; }, [](UOp) { return true; },
        u.graph().is_foreign() ? compute_ranges<foreign_range_start> : compute_ranges<>);
  return ranges_view(u.node()->ranges);
}

std::span<const UOp> UOp::ranges() const { return ranges_of(*this); }

bool is_inside_range(UOp u, UOp range) { return contains_node(ranges_of(u), range); }

namespace {

UOp mstack_of_buffers(UOp mstack, UOp (*buffer)(UOp)) {
  std::vector<UOp> src;
  for (UOp s : mstack.src()) src.push_back(buffer(s));
  return mstack.graph().node(Op::MSTACK, mstack.dtype(), src);
}

UOp mselect_of_buffer(UOp mselect, UOp (*buffer)(UOp)) {
  return mselect.graph().node(Op::MSELECT, mselect.dtype(), buffer(mselect.src(0)), mselect.arg());
}

}  // namespace

UOp buf_uop(UOp u) {
  if (u.is(Op::BUFFER)) return u;
  if (u.is(Op::MSELECT)) return mselect_of_buffer(u, buf_uop);
  if (u.is(Op::MSTACK)) return mstack_of_buffers(u, buf_uop);
  UOp base = base_of(u);
  if (!base.is(Op::AFTER)) throw Failure("Ops." + std::string(name_of(base.op())) + " does not stand for a buffer");
  return base_of(buf_uop(base.src(0)));
}

UOp as_buf(UOp u) {
  if (u.is(Op::MSELECT)) return mselect_of_buffer(u, as_buf);
  if (u.is(Op::MSTACK)) return mstack_of_buffers(u, as_buf);
  while (u.num_src() && !u.in({Op::BUFFER, Op::BUFFERIZE, Op::MSTACK})) u = u.src(0);
  return u;
}

}  // namespace tgc
