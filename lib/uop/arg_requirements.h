// The requirements that wellformed.cpp checks for the args of ops.
#pragma once

#include <algorithm>
#include <string_view>

#include "lib/uop/graph.h"

namespace tgc::wellformed {

constexpr int kMaxElements = 1 << 16;
constexpr int64_t kMaxNumber = INT32_MAX;

// The result of a check: null, or the violated requirement for the message "..., needs REQUIREMENT".
using Requirement = const char*;
constexpr Requirement require(bool fits, Requirement wanted) { return fits ? nullptr : wanted; }

inline bool all_of(Arg a, auto is) { return a.is_tuple() && std::all_of(a.items().begin(), a.items().end(), is); }
inline bool is_str(Arg a) { return a.is_str(); }
inline bool is_size(Arg a) { return a.is_uop() || (a.is_integral() && a.as_int() >= 0); }
inline bool is_small_int(Arg a, int64_t least = 0) {
  return a.is_int() && a.as_int() >= Int(least) && a.as_int() <= Int(kMaxNumber);
}
inline bool is_pair_of_sizes(Arg a) {
  return all_of(a, [](Arg i) { return is_small_int(i); }) && a.items().size() == 2;
}
inline bool is_reduction(Arg a) { return a.is(Op::ADD) || a.is(Op::MUL) || a.is(Op::MAX); }
inline bool is_axis(Arg a) { return is_small_int(a, -kMaxNumber); }

constexpr Requirement (*any_arg)(Arg) = nullptr;
inline Requirement number_arg(Arg a) { return require(a.is_const(), "a number"); }
inline Requirement numbers_arg(Arg a) {
  return require(all_of(a, [](Arg i) { return i.is_const(); }) && !a.items().empty(), "a tuple of numbers");
}
inline Requirement variable_arg(Arg a) {
  auto is_bound = [](Arg b) { return b.is_const() && !b.is_invalid() && b == b; };
  return require(a.is_tuple() && a.items().size() >= 3 && a[0].is_str() && is_bound(a[1]) && is_bound(a[2]) &&
                 !py_less(a[2].to_const(), a[1].to_const()),
                 "a name, a minimum and a maximum");
}
inline Requirement range_arg(Arg a) {
  return require(a.is_tuple() && a.items().size() >= 2 && a.items().back().kind() == Arg::Kind::AxisType &&
                 std::all_of(a.items().begin(), a.items().end() - 1, is_axis),
                 "axis numbers and an axis type");
}
inline Requirement special_arg(Arg a) {
  if (!a.is_str()) return "the name of a grid axis";
  std::string_view name = a.text();
  char dim = name.empty() ? '?' : name.back();
  std::string_view kind = name.substr(0, name.size() - !name.empty());
  return require(dim >= '0' && dim <= '2' && (kind == "gidx" || kind == "lidx" || kind == "idx"),
                 "the name of a grid axis: gidx0, lidx0 or idx0, with 0, 1 or 2");
}
inline Requirement gep_arg(Arg a) { return require(all_of(a, is_axis) && !a.items().empty(), "a tuple of integers"); }
inline Requirement integers_arg(Arg a) { return require(all_of(a, is_axis), "a tuple of integers"); }
inline Requirement device_arg(Arg a) {
  return require(a.is_str() || (all_of(a, is_str) && !a.items().empty()), "a device or a tuple of devices");
}
inline Requirement reduction_arg(Arg a) { return require(is_reduction(a), "Ops.ADD, Ops.MUL or Ops.MAX"); }
inline Requirement reduce_axis_arg(Arg a) {
  return require(a.is_tuple() && a.items().size() >= 2 && is_reduction(a[0]) && all_of(a[1], is_axis),
                 "Ops.ADD, Ops.MUL or Ops.MAX and a tuple of axes");
}
inline Requirement bools_arg(Arg a) {
  return require(all_of(a, [](Arg f) { return f.kind() == Arg::Kind::Bool; }), "a tuple of bools");
}
inline Int product_of_sizes(Arg axes) {
  Int n = 1;
  for (Arg pair : axes.items()) n = n * pair[1].as_int();
  return n;
}
inline Requirement axis_sizes_arg(Arg a) {
  return require(all_of(a, [](Arg p) { return is_pair_of_sizes(p) && p[1].small_int() > 0; }) &&
                 product_of_sizes(a) <= Int(kMaxElements),
                 "a tuple of pairs: an axis and its size");
}
// Checks the arg of a WMMA: (name, (N, M, K), dtype in, dtype out, device, threads, (axes of a, b, c), reduced axes).
inline Requirement wmma_arg(Arg a) {
  return require(a.is_tuple() && a.items().size() >= 8 && a[0].is_str() && integers_arg(a[1]) == nullptr &&
                 a[1].items().size() == 3 && a[2].kind() == Arg::Kind::DType && a[3].kind() == Arg::Kind::DType &&
                 a[4].is_str() && is_small_int(a[5]) && a[6].is_tuple() && a[6].items().size() == 3 &&
                 all_of(a[6], [](Arg axes) { return !axis_sizes_arg(axes); }) && all_of(a[7], is_axis),
                 "a tuple of the 8 fields of tinygrad's tensor cores");
}
inline Requirement kernel_arg(Arg a) { return require(a.is(RecordClass::Kernel), "a Kernel"); }
inline Requirement bufferize_arg(Arg a) { return require(a.is(RecordClass::BufferizeOpts), "a BufferizeOpts"); }
inline Requirement slot_arg(Arg a) { return require(is_small_int(a), "a number of 0 or more"); }
inline Requirement slot_or_name_arg(Arg a) {
  return require(is_small_int(a) || a.is_str(), "a number of 0 or more, or a name");
}
inline Requirement integer_arg(Arg a) { return require(a.is_integral(), "an integer"); }
inline Requirement size_arg(Arg a) { return require(a.is_int() && a.as_int() >= 0 && a.as_int().is_small(), "a size"); }
inline Requirement buffer_view_arg(Arg a) {
  return require(all_of(a, is_size) && a.items().size() == 2, "a size and an offset");
}
inline Requirement shape_arg(Arg a) {
  return require(a.is_tuple() && !a.items().empty() && all_of(a[0], is_size), "a shape");
}

}  // namespace tgc::wellformed
