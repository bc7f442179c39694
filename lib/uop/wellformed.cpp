#include "lib/uop/wellformed.h"

#include <algorithm>

#include "lib/support/counted.h"
#include "lib/uop/graph.h"

namespace tgc {
namespace {

constexpr size_t kMany = SIZE_MAX;
constexpr int kMaxElements = 1 << 16;
constexpr int64_t kMaxNumber = INT32_MAX;

// The result of a check: null, or the violated requirement for the message "..., needs REQUIREMENT".
using Requirement = const char*;
constexpr Requirement unless(bool fits, Requirement wanted) { return fits ? nullptr : wanted; }

bool all_of(Arg a, auto is) { return a.is_tuple() && std::all_of(a.items().begin(), a.items().end(), is); }
bool is_str(Arg a) { return a.is_str(); }
bool is_size(Arg a) { return a.is_uop() || (a.is_integral() && a.as_int() >= 0); }
bool is_small(Arg a, int64_t least = 0) {
  return a.is_int() && a.as_int() >= Int(least) && a.as_int() <= Int(kMaxNumber);
}
bool is_pair_of_sizes(Arg a) { return all_of(a, [](Arg i) { return is_small(i); }) && a.items().size() == 2; }
bool is_reduction(Arg a) { return a.is(Op::ADD) || a.is(Op::MUL) || a.is(Op::MAX); }
bool is_axis(Arg a) { return is_small(a, -kMaxNumber); }

constexpr Requirement (*any_arg)(Arg) = nullptr;
Requirement number(Arg a) { return unless(a.is_const(), "a number"); }
Requirement numbers(Arg a) {
  return unless(all_of(a, [](Arg i) { return i.is_const(); }) && !a.items().empty(), "a tuple of numbers");
}
Requirement variable(Arg a) {
  auto is_bound = [](Arg b) { return b.is_const() && !b.is_invalid() && b == b; };
  return unless(a.is_tuple() && a.items().size() >= 3 && a[0].is_str() && is_bound(a[1]) && is_bound(a[2]) &&
                !py_less(a[2].to_const(), a[1].to_const()),
                "a name, a minimum and a maximum");
}
Requirement axis_numbers(Arg a) {
  return unless(a.is_tuple() && a.items().size() >= 2 && a.items().back().kind() == Arg::Kind::AxisType &&
                std::all_of(a.items().begin(), a.items().end() - 1, is_axis),
                "axis numbers and an axis type");
}
Requirement grid_axis(Arg a) {
  if (!a.is_str()) return "the name of a grid axis";
  std::string_view name = a.text();
  char dim = name.empty() ? '?' : name.back();
  std::string_view kind = name.substr(0, name.size() - !name.empty());
  return unless(dim >= '0' && dim <= '2' && (kind == "gidx" || kind == "lidx" || kind == "idx"),
                "the name of a grid axis: gidx0, lidx0 or idx0, with 0, 1 or 2");
}
Requirement picks(Arg a) { return unless(all_of(a, is_axis) && !a.items().empty(), "a tuple of integers"); }
Requirement integers(Arg a) { return unless(all_of(a, is_axis), "a tuple of integers"); }
Requirement device(Arg a) {
  return unless(a.is_str() || (all_of(a, is_str) && !a.items().empty()), "a device or a tuple of devices");
}
Requirement reduction(Arg a) { return unless(is_reduction(a), "Ops.ADD, Ops.MUL or Ops.MAX"); }
Requirement reduction_and_axes(Arg a) {
  return unless(a.is_tuple() && a.items().size() >= 2 && is_reduction(a[0]) && all_of(a[1], is_axis),
                "Ops.ADD, Ops.MUL or Ops.MAX and a tuple of axes");
}
Requirement bools(Arg a) {
  return unless(all_of(a, [](Arg f) { return f.kind() == Arg::Kind::Bool; }), "a tuple of bools");
}
Int product(Arg axes) {
  Int n = 1;
  for (Arg pair : axes.items()) n = n * pair[1].as_int();
  return n;
}
Requirement axis_sizes(Arg a) {
  return unless(all_of(a, [](Arg p) { return is_pair_of_sizes(p) && p[1].small_int() > 0; }) &&
                product(a) <= Int(kMaxElements),
                "a tuple of pairs: an axis and its size");
}
// Checks the arg of a WMMA: (name, (N, M, K), dtype in, dtype out, device, threads, (axes of a, b, c), reduced axes).
Requirement tensor_core(Arg a) {
  return unless(a.is_tuple() && a.items().size() >= 8 && a[0].is_str() && integers(a[1]) == nullptr &&
                a[1].items().size() == 3 && a[2].kind() == Arg::Kind::DType && a[3].kind() == Arg::Kind::DType &&
                a[4].is_str() && is_small(a[5]) && a[6].is_tuple() && a[6].items().size() == 3 &&
                all_of(a[6], [](Arg axes) { return !axis_sizes(axes); }) && all_of(a[7], is_axis),
                "a tuple of the 8 fields of tinygrad's tensor cores");
}
Requirement kernel(Arg a) { return unless(a.is(RecordClass::Kernel), "a Kernel"); }
Requirement bufferize_opts(Arg a) { return unless(a.is(RecordClass::BufferizeOpts), "a BufferizeOpts"); }
Requirement slot(Arg a) { return unless(is_small(a), "a number of 0 or more"); }
Requirement slot_or_name(Arg a) { return unless(is_small(a) || a.is_str(), "a number of 0 or more, or a name"); }
Requirement integer(Arg a) { return unless(a.is_integral(), "an integer"); }
Requirement size(Arg a) { return unless(a.is_int() && a.as_int() >= 0 && a.as_int().is_small(), "a size"); }
Requirement size_and_offset(Arg a) {
  return unless(all_of(a, is_size) && a.items().size() == 2, "a size and an offset");
}
Requirement shape(Arg a) {
  return unless(a.is_tuple() && !a.items().empty() && all_of(a[0], is_size), "a shape");
}

struct Fields {
  DType dtype;
  std::span<const UOp> src;
  Arg arg;
  DType of(size_t i) const { return src[i].dtype(); }
  bool each(size_t from, auto holds) const {
    return std::all_of(src.begin() + ptrdiff_t(std::min(from, src.size())), src.end(), holds);
  }
};

constexpr DTypeSet kIntegers = dtypes::index_like, kBits = dtypes::ints | DTypeSet{Scalar::Bool, Scalar::Index};

bool is_value(DType d) { return d.is_value() && d != dtypes::void_; }
bool is_integer(UOp u) { return kIntegers.contains(u.dtype()); }
bool is_int(DType d) { return kIntegers.contains(d); }
bool is_bool(DType d) { return d.is(Scalar::Bool); }
bool is_address(DType d) { return d.is_ptr() || d == dtypes::int64; }
// Returns true if memory of dtype `address` may hold a value of dtype `value`. WGSL packs small values in a uint32.
bool can_store(DType address, DType value) {
  return address.base().scalar() == value.scalar() || (value == dtypes::uint32 && address.base().itemsize() < 4);
}
bool holds(DType d, Arg number) {
  if (number.is_invalid()) return d.is(Scalar::Index);
  return is_value(d) && (number.is_integral() || dtypes::floats.contains(d));
}
bool is_countable(DType d, Int elements) {
  return elements * Int(int64_t(d.base().itemsize())) <= Int(kMaxBufferBytes);
}

Requirement any_dtype(const Fields&) { return nullptr; }
Requirement custom(const Fields& f) { return unless(f.arg.is_str(), "the text to render as its arg"); }
Requirement void_dtype(const Fields& f) { return unless(f.dtype == dtypes::void_, "dtypes.void"); }
Requirement kernel_end(const Fields& f) {
  return unless(f.dtype == dtypes::void_ && (f.arg.is_none() || f.arg.is(RecordClass::KernelInfo)),
                "dtypes.void, and a KernelInfo or None as its arg");
}
Requirement of_number(const Fields& f) {
  return unless(holds(f.dtype, f.arg) && f.each(0, [](UOp s) { return s.dtype() == dtypes::void_; }),
                "a dtype that holds the number, and no operands");
}
Requirement of_numbers(const Fields& f) {
  auto items = f.arg.items();
  return unless(is_value(f.dtype) && size_t(f.dtype.count()) == items.size() &&
                std::all_of(items.begin(), items.end(), [&](Arg a) { return holds(f.dtype, a); }),
                "a vector dtype with one element for each number");
}
Requirement of_variable(const Fields& f) {
  return unless(f.dtype.count() == 1 && holds(f.dtype, f.arg[1]) && holds(f.dtype, f.arg[2]),
                "a dtype that holds the bounds");
}
template <AddrSpace space>
Requirement points_to(const Fields& f) {
  DType d = f.dtype;
  if (!d.is_ptr() || d.addrspace() != space || d.vcount() != 1) return "a pointer in its address space";
  return unless(d.size() >= -1 && is_countable(d, d.size()), "a size of at most 2**48 bytes");
}
Requirement like_source(const Fields& f) { return unless(f.dtype == f.of(0), "the dtype of its source"); }
Requirement like_all(const Fields& f) {
  return unless(f.each(0, [&](UOp s) { return s.dtype() == f.dtype; }), "sources of its dtype");
}
Requirement grid_size(const Fields& f) {
  return unless(f.dtype == f.of(0) && is_int(f.dtype) && f.dtype.count() == 1, "an integer as its size, of its dtype");
}
Requirement loop(const Fields& f) {
  if (f.dtype != f.of(0) || !is_int(f.dtype) || f.dtype.count() != 1) return "an integer as its size, of its dtype";
  if (!f.src[0].is_const()) return nullptr;
  return unless(f.src[0].arg().is_integral() && f.src[0].arg().as_int().is_small(), "a size of at most 64 bits");
}
Requirement bind_dtypes(const Fields& f) { return unless(is_int(f.dtype) && is_int(f.of(0)), "integers"); }
Requirement math(const Fields& f) {
  return unless(is_value(f.dtype) && f.each(0, [&](UOp s) { return s.dtype() == f.dtype; }),
                "operands of its dtype");
}
Requirement integer_math(const Fields& f) { return is_int(f.dtype) ? math(f) : "integers"; }
Requirement bit_math(const Fields& f) { return kBits.contains(f.dtype) ? math(f) : "integers or bools"; }
// Checks the dtypes of an AND. In WGSL's masks of packed small values, the first operand may have another dtype.
Requirement mask(const Fields& f) {
  bool packed = f.dtype == dtypes::uint32 && f.of(1) == f.dtype && is_value(f.of(0)) && f.of(0).count() == 1;
  return packed ? nullptr : bit_math(f);
}
Requirement shift(const Fields& f) {
  return unless(is_value(f.dtype) && f.of(0) == f.dtype && f.of(1).count() == f.dtype.count() &&
                ((f.of(1) == f.dtype && is_int(f.dtype)) || f.of(1).is(Scalar::UInt32)),
                "an operand of its dtype, shifted by an integer of that dtype or by a uint");
}
Requirement comparison(const Fields& f) {
  return unless(is_bool(f.dtype) && is_value(f.of(0)) && f.of(0) == f.of(1) && f.of(0).count() == f.dtype.count(),
                "two operands of one dtype, and a bool as its own");
}
Requirement choice(const Fields& f) {
  return unless(is_bool(f.of(0)) && is_value(f.dtype) && f.of(1) == f.dtype && f.of(2) == f.dtype &&
                (f.of(0).count() == 1 || f.of(0).count() == f.dtype.count()),
                "a bool and two operands of its dtype");
}
Requirement conversion(const Fields& f) {
  DType to = f.dtype, from = f.of(0);
  if (from.is_ptr()) return unless(to.is_ptr() || to == dtypes::int64, "a pointer");
  bool fits = is_value(to) && (to.count() == from.count() || from.count() == 1);
  return unless(is_value(from) && (to.is_image() || fits), "a number with as many elements as its source");
}
Requirement same_bits(const Fields& f) {
  return unless(is_value(f.dtype) && is_value(f.of(0)) && !f.dtype.is(Scalar::Index) && !f.of(0).is(Scalar::Index),
                "a number");
}
Requirement elements(const Fields& f) {
  DType from = f.of(0);
  auto items = f.arg.items();
  if (f.dtype == dtypes::void_) return unless(from == dtypes::void_, "a vector");
  bool inside = std::all_of(items.begin(), items.end(),
                            [&](Arg i) { return i.small_int() >= 0 && i.small_int() < from.vcount(); });
  return unless(inside && f.dtype.scalar() == from.scalar() && size_t(f.dtype.vcount()) == items.size(),
                "as many indices into its source as its dtype has elements, and the source's scalar dtype");
}
Requirement whole_vector(const Fields& f) {
  return unless(f.src.size() == size_t(f.dtype.vcount()) &&
                f.each(0, [&](UOp s) { return s.dtype() == f.dtype.scalar(); }),
                "as many sources as its dtype has elements, each of the element's dtype");
}
// Returns true if an INDEX of memory, which has one dimension, has one index and, optionally, a gate (the condition of
// the access).
bool indexes_memory(const Fields& f) {
  bool gate = f.src.size() == 3 && is_bool(f.of(2)) && (f.of(2).count() == 1 || f.of(2).count() == f.of(1).count());
  return f.src.size() == 2 || gate;
}
Requirement element_of(const Fields& f) {
  DType from = f.of(0), d = f.dtype;
  if (from.is_ptr() && !f.src[0].in(ops::Movement) && !indexes_memory(f)) return "an index, and optionally a bool gate";
  for (size_t i = 1; i < f.src.size(); i++)
    if (!is_int(f.of(i)) && !(i > 1 && i + 1 == f.src.size() && is_bool(f.of(i))))
      return "integers as its indices, and optionally a bool gate";
  if (d == dtypes::int64 && is_address(from)) return nullptr;
  return unless(d != dtypes::void_ && d.base().scalar() == from.base().scalar(),
                "the dtype of an element, or a pointer to one");
}
// The requirement for the address of a LOAD or STORE, which may not be a DEFINE_GLOBAL, DEFINE_LOCAL or DEFINE_REG.
constexpr Requirement kIndexed = "an Ops.INDEX of the memory as its address";
bool is_memory(UOp u) {
  while (u.is(Op::AFTER)) u = u.src(0);
  return u.in(ops::Defines);
}
Requirement load_dtypes(const Fields& f) {
  if (is_memory(f.src[0])) return kIndexed;
  if (!is_value(f.dtype) || !is_address(f.of(0))) return "an address, and a number as its dtype";
  if (f.of(0).is_ptr() && !can_store(f.of(0), f.dtype)) return "the dtype that its address points to";
  return unless(f.src.size() < 2 || f.of(1) == f.dtype || !is_value(f.of(1)), "an alternative value of its dtype");
}
constexpr OpSet kNumbers = ops::Irreducible | OpSet{Op::VCONST};
Requirement store_dtypes(const Fields& f) {
  if (is_memory(f.src[0])) return kIndexed;
  if (f.src[0].in(kNumbers)) return "an address";
  DType to = f.of(0), value = f.of(1);
  if (f.dtype != dtypes::void_ || to == dtypes::void_ || !is_value(value)) return "an address and a number";
  return unless(to == dtypes::int64 || can_store(to, value), "a number that its address points to");
}
Requirement wmma_dtypes(const Fields& f) {
  return unless(f.src.size() >= 3 && is_value(f.dtype) && f.of(2) == f.dtype && is_value(f.of(0)) && is_value(f.of(1)),
                "two factors and a sum of its dtype");
}
Requirement end_dtypes(const Fields& f) {
  return unless((f.dtype == dtypes::void_ || f.dtype == f.of(0)) && f.each(1, is_integer), "ranges");
}
Requirement if_dtypes(const Fields& f) { return unless(f.dtype == dtypes::void_ && is_bool(f.of(0)), "a bool"); }
Requirement endif_dtypes(const Fields& f) { return unless(f.dtype == dtypes::void_ && f.src[0].is(Op::IF), "an IF"); }
Requirement reduce_dtypes(const Fields& f) {
  DType from = f.of(0), d = f.dtype;
  return unless(is_value(d) && is_value(from) && d.scalar() == from.scalar() && from.count() % d.count() == 0 &&
                f.each(1, is_integer),
                "a source of its dtype or with a multiple of its elements, and ranges");
}
Requirement unroll_dtypes(const Fields& f) {
  if (f.dtype == dtypes::void_) return unless(f.of(0) == dtypes::void_, "a source without a value");
  return unless(f.dtype.scalar() == f.of(0).scalar() &&
                Int(int64_t(f.of(0).vcount())) == product(f.arg) * Int(int64_t(f.dtype.vcount())),
                "a source with its dtype's elements times the product of its axis sizes");
}
Requirement contract_dtypes(const Fields& f) {
  if (f.dtype == dtypes::void_) return unless(f.of(0) == dtypes::void_, "a source without a value");
  return unless(f.dtype.scalar() == f.of(0).scalar() && Int(int64_t(f.dtype.vcount())) == product(f.arg),
                "a dtype with as many elements as the product of its axis sizes");
}
Requirement cat_dtypes(const Fields& f) {
  int64_t n = 0;
  for (UOp s : f.src) n += s.dtype().vcount();
  return unless(f.dtype.vcount() == n && f.each(0, [&](UOp s) { return s.dtype().scalar() == f.dtype.scalar(); }),
                "sources of its scalar dtype with as many elements in total as its dtype");
}
Requirement ptrcat_dtypes(const Fields& f) {
  int64_t n = 0;
  for (UOp s : f.src) n += s.dtype().base().count();
  return unless(f.dtype.is_ptr() && f.dtype.vcount() == n && f.each(0, [](UOp s) { return s.dtype().is_ptr(); }),
                "pointers to as many elements in total as its dtype has");
}
Requirement assign_dtypes(const Fields& f) {
  // a void source is a STORE, or an END or GROUP of stores
  bool is_value_or_void = f.of(1).base() == f.dtype.base() || f.of(1) == dtypes::void_;
  return unless(f.of(0) == f.dtype && is_value_or_void, "a target and a value of its dtype");
}
Requirement bufferize_dtypes(const Fields& f) {
  return unless(f.dtype == f.of(0) && f.each(1, is_integer), "the dtype of its source, and ranges");
}
Requirement movement_dtypes(const Fields& f) {
  return unless(f.dtype == f.of(0) && f.each(1, [](UOp s) { return s.dtype().is(Scalar::Index); }),
                "the dtype of its source, and sizes of dtypes.index");
}
Requirement copy_dtypes(const Fields& f) {
  return unless(f.dtype == f.of(0) && f.src[1].is(Op::DEVICE), "the dtype of its source, and a DEVICE");
}
Requirement buffer_dtypes(const Fields& f) {
  if (!f.src[0].in({Op::UNIQUE, Op::LUNIQUE}) || !f.src[1].is(Op::DEVICE)) return "a UNIQUE and a DEVICE";
  if (f.dtype == dtypes::void_ || (f.dtype.is_ptr() && !f.dtype.is_image())) return "a dtype of numbers";
  return unless(is_countable(f.dtype, f.arg.as_int()), "a size of at most 2**48 bytes");
}

struct Row {
  Op op;
  size_t least, most;
  Requirement (*arg)(Arg);                 // checks the arg; null if any arg is accepted
  Requirement (*dtypes)(const Fields&);
};

// clang-format off
constexpr Row kTable[] = {
  {Op::DEFINE_GLOBAL,   0, kMany, slot,               points_to<AddrSpace::GLOBAL>},
  {Op::DEFINE_VAR,      0, kMany, variable,           of_variable},
  {Op::BIND,            1, 2,     any_arg,            bind_dtypes},
  {Op::SPECIAL,         1, 1,     grid_axis,          grid_size},
  {Op::DEFINE_LOCAL,    0, kMany, slot_or_name,             points_to<AddrSpace::LOCAL>},
  {Op::DEFINE_REG,      0, kMany, slot,               points_to<AddrSpace::REG>},
  {Op::NOOP,            0, kMany, any_arg,            any_dtype},
  {Op::REWRITE_ERROR,   0, kMany, any_arg,            any_dtype},
  {Op::PROGRAM,         0, kMany, any_arg,            void_dtype},
  {Op::LINEAR,          0, kMany, any_arg,            void_dtype},
  {Op::SOURCE,          0, 0,     any_arg,            void_dtype},
  {Op::BINARY,          0, 0,     any_arg,            void_dtype},
  {Op::SINK,            0, kMany, any_arg,            kernel_end},
  {Op::AFTER,           1, kMany, any_arg,            like_source},
  {Op::GROUP,           0, kMany, any_arg,            void_dtype},
  {Op::GEP,             1, 1,     picks,              elements},
  {Op::VECTORIZE,       0, kMany, any_arg,            whole_vector},
  {Op::INDEX,           1, kMany, any_arg,            element_of},
  {Op::LOAD,            1, kMany, any_arg,            load_dtypes},
  {Op::STORE,           2, kMany, any_arg,            store_dtypes},
  {Op::WMMA,            3, kMany, tensor_core,        wmma_dtypes},
  {Op::CAST,            1, 1,     any_arg,            conversion},
  {Op::BITCAST,         1, 1,     any_arg,            same_bits},
  {Op::EXP2,            1, 1,     any_arg,            math},
  {Op::LOG2,            1, 1,     any_arg,            math},
  {Op::SIN,             1, 1,     any_arg,            math},
  {Op::SQRT,            1, 1,     any_arg,            math},
  {Op::RECIPROCAL,      1, 1,     any_arg,            math},
  {Op::NEG,             1, 1,     any_arg,            math},
  {Op::TRUNC,           1, 1,     any_arg,            math},
  {Op::ADD,             2, 2,     any_arg,            math},
  {Op::MUL,             2, 2,     any_arg,            math},
  {Op::SHL,             2, 2,     any_arg,            shift},
  {Op::SHR,             2, 2,     any_arg,            shift},
  {Op::IDIV,            2, 2,     any_arg,            integer_math},
  {Op::MAX,             2, 2,     any_arg,            math},
  {Op::MOD,             2, 2,     any_arg,            integer_math},
  {Op::CMPLT,           2, 2,     any_arg,            comparison},
  {Op::CMPNE,           2, 2,     any_arg,            comparison},
  {Op::CMPEQ,           2, 2,     any_arg,            comparison},
  {Op::XOR,             2, 2,     any_arg,            bit_math},
  {Op::OR,              2, 2,     any_arg,            bit_math},
  {Op::AND,             2, 2,     any_arg,            mask},
  {Op::THREEFRY,        2, 2,     any_arg,            integer_math},
  {Op::SUB,             2, 2,     any_arg,            math},
  {Op::FDIV,            2, 2,     any_arg,            math},
  {Op::POW,             2, 2,     any_arg,            math},
  {Op::WHERE,           3, 3,     any_arg,            choice},
  {Op::MULACC,          3, 3,     any_arg,            math},
  {Op::BARRIER,         0, kMany, any_arg,            void_dtype},
  {Op::RANGE,           1, kMany, axis_numbers,       loop},
  {Op::IF,              1, kMany, any_arg,            if_dtypes},
  {Op::END,             1, kMany, any_arg,            end_dtypes},
  {Op::ENDIF,           1, kMany, any_arg,            endif_dtypes},
  {Op::VCONST,          0, kMany, numbers,            of_numbers},
  {Op::CONST,           0, kMany, number,             of_number},
  {Op::CUSTOM,          0, kMany, any_arg,            custom},
  {Op::CUSTOMI,         0, kMany, any_arg,            custom},
  {Op::UNIQUE,          0, 0,     integer,            void_dtype},
  {Op::DEVICE,          0, 0,     device,             void_dtype},
  {Op::KERNEL,          0, kMany, kernel,             void_dtype},
  {Op::ASSIGN,          2, kMany, any_arg,            assign_dtypes},
  {Op::CUSTOM_KERNEL,   0, kMany, any_arg,            any_dtype},
  {Op::LUNIQUE,         0, 0,     integer,            void_dtype},
  {Op::CONTIGUOUS,      1, kMany, any_arg,            like_source},
  {Op::CONTIGUOUS_BACKWARD, 1, kMany, any_arg,        like_source},
  {Op::DETACH,          1, kMany, any_arg,            like_source},
  {Op::BUFFERIZE,       1, kMany, bufferize_opts,     bufferize_dtypes},
  {Op::COPY,            2, 2,     any_arg,            copy_dtypes},
  {Op::BUFFER,          2, kMany, size,               buffer_dtypes},
  {Op::BUFFER_VIEW,     1, kMany, size_and_offset,    any_dtype},
  {Op::MSELECT,         1, 1,     slot,               like_source},
  {Op::MSTACK,          1, kMany, any_arg,            like_all},
  {Op::ENCDEC,          1, kMany, shape,              any_dtype},
  {Op::RESHAPE,         2, 2,     any_arg,            movement_dtypes},
  {Op::PERMUTE,         1, 1,     integers,           like_source},
  {Op::EXPAND,          2, 2,     any_arg,            movement_dtypes},
  {Op::PAD,             3, 3,     any_arg,            movement_dtypes},
  {Op::SHRINK,          3, 3,     any_arg,            movement_dtypes},
  {Op::FLIP,            1, 1,     bools,              like_source},
  {Op::MULTI,           1, 1,     slot,               like_source},
  {Op::REDUCE_AXIS,     1, 1,     reduction_and_axes, like_source},
  {Op::REDUCE,          1, kMany, reduction,          reduce_dtypes},
  {Op::ALLREDUCE,       2, 2,     reduction,          copy_dtypes},
  {Op::UNROLL,          1, 1,     axis_sizes,         unroll_dtypes},
  {Op::CONTRACT,        1, 1,     axis_sizes,         contract_dtypes},
  {Op::CAT,             1, kMany, any_arg,            cat_dtypes},
  {Op::PTRCAT,          1, kMany, any_arg,            ptrcat_dtypes},
};
// clang-format on

constexpr bool has_every_op() {
  if (std::size(kTable) != kNumOps) return false;
  for (int i = 0; i < kNumOps; i++)
    if (kTable[i].op != Op(i)) return false;
  return true;
}
static_assert(has_every_op(), "the table has a row for each op, in the order of ops.def");

std::string op_text(Op op) { return "Ops." + std::string(name_of(op)); }

std::string shortened(std::string text) {
  constexpr size_t kMaxLength = 60;
  return text.size() > kMaxLength ? text.substr(0, kMaxLength - 3) + "..." : text;
}

Requirement wanted_dtypes(UOp u) {
  DType d = u.dtype();
  if (d.count() > kMaxElements || d.vcount() > kMaxElements) return "vectors of at most 65536 elements";
  return kTable[size_t(u.op())].dtypes({d, u.src(), u.arg()});
}

}  // namespace

bool has_structure(Op op, std::span<const UOp> src, Arg arg) {
  if (int(op) >= kNumOps) return false;
  const Row& row = kTable[size_t(op)];
  return src.size() >= row.least && src.size() <= row.most && !(row.arg && row.arg(arg));
}

std::string structure_error(Op op, std::span<const UOp> src, Arg arg) {
  if (has_structure(op, src, arg)) return {};
  if (int(op) >= kNumOps) return op_text(op) + ", which tinygrad 0.12.0 does not have";
  const Row& row = kTable[size_t(op)];
  if (src.size() < row.least || src.size() > row.most) {
    std::string needs = row.most == kMany   ? std::to_string(row.least) + " or more"
                        : row.most == row.least ? std::to_string(row.least)
                                            : std::to_string(row.least) + " to " + std::to_string(row.most);
    return op_text(op) + " with " + counted(src.size(), "source") + ", needs " + needs;
  }
  return op_text(op) + " with the arg " + shortened(arg.repr()) + ", needs " + row.arg(arg);
}

std::string dtype_error(UOp u) {
  Requirement wanted = wanted_dtypes(u);
  if (!wanted) return {};
  constexpr size_t kShown = 4;
  std::string out = op_text(u.op()) + " " + std::string(u.dtype().repr());
  for (size_t i = 0; i < std::min(u.num_src(), kShown); i++)
    out.append(i ? ", " : " of ").append(u.src(i).dtype().repr());
  if (u.num_src() > kShown) out += ", ...";
  return out + ", needs " + wanted;
}

std::optional<MalformedNode> first_malformed_below(UOp root) {
  const Graph& graph = root.graph();
  if (graph.is_foreign()) return std::nullopt;
  uint32_t id = 0;
  while (id <= root.id() && !wanted_dtypes(graph.at(id))) id++;
  if (id > root.id()) return std::nullopt;
  std::vector<UOp> roots{root};
  UOpSet seen(root.graph());
  for (size_t i = 0; i < roots.size(); i++) {
    auto nodes = toposort(roots[i]);
    if (auto malformed = first_malformed_node(nodes)) return malformed;
    for (UOp u : nodes)
      if (u.is(Op::KERNEL) && u.arg()[0].is_uop() && seen.insert(u.arg()[0].uop())) roots.push_back(u.arg()[0].uop());
  }
  return std::nullopt;
}

std::optional<MalformedNode> first_malformed_node(std::span<const UOp> nodes) {
  if (!nodes.empty() && nodes[0].graph().is_foreign()) return std::nullopt;
  for (UOp u : nodes)
    if (wanted_dtypes(u)) return MalformedNode{u, dtype_error(u)};
  return std::nullopt;
}

}  // namespace tgc
