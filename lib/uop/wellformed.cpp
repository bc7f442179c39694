#include "lib/uop/wellformed.h"

#include <algorithm>

#include "lib/support/counted.h"
#include "lib/uop/arg_requirements.h"
#include "lib/uop/graph.h"

namespace tgc {
namespace {

using namespace wellformed;

constexpr size_t kUnlimited = SIZE_MAX;

struct NodeFields {
  DType dtype;
  std::span<const UOp> src;
  Arg arg;
  DType src_dtype(size_t i) const { return src[i].dtype(); }
  bool all_sources(size_t from, auto holds) const {
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
bool can_hold(DType d, Arg number) {
  if (number.is_invalid()) return d.is(Scalar::Index);
  return is_value(d) && (number.is_integral() || dtypes::floats.contains(d));
}
bool fits_max_buffer(DType d, Int elements) {
  return elements * Int(int64_t(d.base().itemsize())) <= Int(kMaxBufferBytes);
}

Requirement any_dtype(const NodeFields&) { return nullptr; }
Requirement custom_fields(const NodeFields& f) { return require(f.arg.is_str(), "the text to render as its arg"); }
Requirement void_dtype(const NodeFields& f) { return require(f.dtype == dtypes::void_, "dtypes.void"); }
Requirement sink_fields(const NodeFields& f) {
  return require(f.dtype == dtypes::void_ && (f.arg.is_none() || f.arg.is(RecordClass::KernelInfo)),
                 "dtypes.void, and a KernelInfo or None as its arg");
}
Requirement const_dtypes(const NodeFields& f) {
  return require(can_hold(f.dtype, f.arg) && f.all_sources(0, [](UOp s) { return s.dtype() == dtypes::void_; }),
                 "a dtype that holds the number, and no operands");
}
Requirement vconst_dtypes(const NodeFields& f) {
  auto items = f.arg.items();
  return require(is_value(f.dtype) && size_t(f.dtype.count()) == items.size() &&
                 std::all_of(items.begin(), items.end(), [&](Arg a) { return can_hold(f.dtype, a); }),
                 "a vector dtype with one element for each number");
}
Requirement variable_dtypes(const NodeFields& f) {
  return require(f.dtype.count() == 1 && can_hold(f.dtype, f.arg[1]) && can_hold(f.dtype, f.arg[2]),
                 "a dtype that holds the bounds");
}
template <AddrSpace space>
Requirement pointer_dtype(const NodeFields& f) {
  DType d = f.dtype;
  if (!d.is_ptr() || d.addrspace() != space || d.vcount() != 1) return "a pointer in its address space";
  return require(d.size() >= -1 && fits_max_buffer(d, d.size()), "a size of at most 2**48 bytes");
}
Requirement dtype_of_source(const NodeFields& f) {
  return require(f.dtype == f.src_dtype(0), "the dtype of its source");
}
Requirement dtype_of_all_sources(const NodeFields& f) {
  return require(f.all_sources(0, [&](UOp s) { return s.dtype() == f.dtype; }), "sources of its dtype");
}
Requirement special_dtypes(const NodeFields& f) {
  return require(f.dtype == f.src_dtype(0) && is_int(f.dtype) && f.dtype.count() == 1,
                 "an integer as its size, of its dtype");
}
Requirement range_dtypes(const NodeFields& f) {
  if (f.dtype != f.src_dtype(0) || !is_int(f.dtype) || f.dtype.count() != 1)
    return "an integer as its size, of its dtype";
  if (!f.src[0].is_const()) return nullptr;
  return require(f.src[0].arg().is_integral() && f.src[0].arg().as_int().is_small(), "a size of at most 64 bits");
}
Requirement bind_dtypes(const NodeFields& f) { return require(is_int(f.dtype) && is_int(f.src_dtype(0)), "integers"); }
Requirement alu_dtypes(const NodeFields& f) {
  return require(is_value(f.dtype) && f.all_sources(0, [&](UOp s) { return s.dtype() == f.dtype; }),
                 "operands of its dtype");
}
Requirement integer_alu_dtypes(const NodeFields& f) { return is_int(f.dtype) ? alu_dtypes(f) : "integers"; }
Requirement bitwise_dtypes(const NodeFields& f) {
  return kBits.contains(f.dtype) ? alu_dtypes(f) : "integers or bools";
}
// Checks the dtypes of an AND. In WGSL's masks of packed small values, the first operand may have another dtype.
Requirement and_dtypes(const NodeFields& f) {
  bool packed =
      f.dtype == dtypes::uint32 && f.src_dtype(1) == f.dtype && is_value(f.src_dtype(0)) && f.src_dtype(0).count() == 1;
  return packed ? nullptr : bitwise_dtypes(f);
}
Requirement shift_dtypes(const NodeFields& f) {
  return require(is_value(f.dtype) && f.src_dtype(0) == f.dtype && f.src_dtype(1).count() == f.dtype.count() &&
                 ((f.src_dtype(1) == f.dtype && is_int(f.dtype)) || f.src_dtype(1).is(Scalar::UInt32)),
                 "an operand of its dtype, shifted by an integer of that dtype or by a uint");
}
Requirement comparison_dtypes(const NodeFields& f) {
  return require(is_bool(f.dtype) && is_value(f.src_dtype(0)) && f.src_dtype(0) == f.src_dtype(1) &&
                     f.src_dtype(0).count() == f.dtype.count(),
                 "two operands of one dtype, and a bool as its own");
}
Requirement where_dtypes(const NodeFields& f) {
  return require(is_bool(f.src_dtype(0)) && is_value(f.dtype) && f.src_dtype(1) == f.dtype &&
                     f.src_dtype(2) == f.dtype &&
                     (f.src_dtype(0).count() == 1 || f.src_dtype(0).count() == f.dtype.count()),
                 "a bool and two operands of its dtype");
}
Requirement cast_dtypes(const NodeFields& f) {
  DType to = f.dtype, from = f.src_dtype(0);
  if (from.is_ptr()) return require(to.is_ptr() || to == dtypes::int64, "a pointer");
  bool fits = is_value(to) && (to.count() == from.count() || from.count() == 1);
  return require(is_value(from) && (to.is_image() || fits), "a number with as many elements as its source");
}
Requirement bitcast_dtypes(const NodeFields& f) {
  return require(
      is_value(f.dtype) && is_value(f.src_dtype(0)) && !f.dtype.is(Scalar::Index) && !f.src_dtype(0).is(Scalar::Index),
      "a number");
}
Requirement gep_dtypes(const NodeFields& f) {
  DType from = f.src_dtype(0);
  auto items = f.arg.items();
  if (f.dtype == dtypes::void_) return require(from == dtypes::void_, "a vector");
  bool inside = std::all_of(items.begin(), items.end(),
                            [&](Arg i) { return i.small_int() >= 0 && i.small_int() < from.vcount(); });
  return require(inside && f.dtype.scalar() == from.scalar() && size_t(f.dtype.vcount()) == items.size(),
                 "as many indices into its source as its dtype has elements, and the source's scalar dtype");
}
Requirement vectorize_dtypes(const NodeFields& f) {
  return require(f.src.size() == size_t(f.dtype.vcount()) &&
                 f.all_sources(0, [&](UOp s) { return s.dtype() == f.dtype.scalar(); }),
                 "as many sources as its dtype has elements, each of the element's dtype");
}
// Returns true if an INDEX of memory, which has one dimension, has one index and, optionally, a gate (the condition of
// the access).
bool is_memory_index(const NodeFields& f) {
  bool gate = f.src.size() == 3 && is_bool(f.src_dtype(2)) &&
              (f.src_dtype(2).count() == 1 || f.src_dtype(2).count() == f.src_dtype(1).count());
  return f.src.size() == 2 || gate;
}
Requirement index_dtypes(const NodeFields& f) {
  DType from = f.src_dtype(0), d = f.dtype;
  if (from.is_ptr() && !f.src[0].in(ops::Movement) && !is_memory_index(f))
    return "an index, and optionally a bool gate";
  for (size_t i = 1; i < f.src.size(); i++)
    if (!is_int(f.src_dtype(i)) && !(i > 1 && i + 1 == f.src.size() && is_bool(f.src_dtype(i))))
      return "integers as its indices, and optionally a bool gate";
  if (d == dtypes::int64 && is_address(from)) return nullptr;
  return require(d != dtypes::void_ && d.base().scalar() == from.base().scalar(),
                 "the dtype of an element, or a pointer to one");
}
// The requirement for the address of a LOAD or STORE, which may not be a DEFINE_GLOBAL, DEFINE_LOCAL or DEFINE_REG.
constexpr Requirement kIndexed = "an Ops.INDEX of the memory as its address";
bool is_memory_definition(UOp u) {
  while (u.is(Op::AFTER)) u = u.src(0);
  return u.in(ops::Defines);
}
Requirement load_dtypes(const NodeFields& f) {
  if (is_memory_definition(f.src[0])) return kIndexed;
  if (!is_value(f.dtype) || !is_address(f.src_dtype(0))) return "an address, and a number as its dtype";
  if (f.src_dtype(0).is_ptr() && !can_store(f.src_dtype(0), f.dtype)) return "the dtype that its address points to";
  return require(f.src.size() < 2 || f.src_dtype(1) == f.dtype || !is_value(f.src_dtype(1)),
                 "an alternative value of its dtype");
}
constexpr OpSet kNumbers = ops::Irreducible | OpSet{Op::VCONST};
Requirement store_dtypes(const NodeFields& f) {
  if (is_memory_definition(f.src[0])) return kIndexed;
  if (f.src[0].in(kNumbers)) return "an address";
  DType to = f.src_dtype(0), value = f.src_dtype(1);
  if (f.dtype != dtypes::void_ || to == dtypes::void_ || !is_value(value)) return "an address and a number";
  return require(to == dtypes::int64 || can_store(to, value), "a number that its address points to");
}
Requirement wmma_dtypes(const NodeFields& f) {
  return require(f.src.size() >= 3 && is_value(f.dtype) && f.src_dtype(2) == f.dtype && is_value(f.src_dtype(0)) &&
                     is_value(f.src_dtype(1)),
                 "two factors and a sum of its dtype");
}
Requirement end_dtypes(const NodeFields& f) {
  return require((f.dtype == dtypes::void_ || f.dtype == f.src_dtype(0)) && f.all_sources(1, is_integer), "ranges");
}
Requirement if_dtypes(const NodeFields& f) {
  return require(f.dtype == dtypes::void_ && is_bool(f.src_dtype(0)), "a bool");
}
Requirement endif_dtypes(const NodeFields& f) {
  return require(f.dtype == dtypes::void_ && f.src[0].is(Op::IF), "an IF");
}
Requirement reduce_dtypes(const NodeFields& f) {
  DType from = f.src_dtype(0), d = f.dtype;
  return require(is_value(d) && is_value(from) && d.scalar() == from.scalar() && from.count() % d.count() == 0 &&
                 f.all_sources(1, is_integer),
                 "a source of its dtype or with a multiple of its elements, and ranges");
}
Requirement unroll_dtypes(const NodeFields& f) {
  if (f.dtype == dtypes::void_) return require(f.src_dtype(0) == dtypes::void_, "a source without a value");
  return require(f.dtype.scalar() == f.src_dtype(0).scalar() &&
                 Int(int64_t(f.src_dtype(0).vcount())) == product_of_sizes(f.arg) * Int(int64_t(f.dtype.vcount())),
                 "a source with its dtype's elements times the product of its axis sizes");
}
Requirement contract_dtypes(const NodeFields& f) {
  if (f.dtype == dtypes::void_) return require(f.src_dtype(0) == dtypes::void_, "a source without a value");
  return require(
      f.dtype.scalar() == f.src_dtype(0).scalar() && Int(int64_t(f.dtype.vcount())) == product_of_sizes(f.arg),
      "a dtype with as many elements as the product of its axis sizes");
}
Requirement cat_dtypes(const NodeFields& f) {
  int64_t n = 0;
  for (UOp s : f.src) n += s.dtype().vcount();
  return require(
      f.dtype.vcount() == n && f.all_sources(0, [&](UOp s) { return s.dtype().scalar() == f.dtype.scalar(); }),
      "sources of its scalar dtype with as many elements in total as its dtype");
}
Requirement ptrcat_dtypes(const NodeFields& f) {
  int64_t n = 0;
  for (UOp s : f.src) n += s.dtype().base().count();
  return require(
      f.dtype.is_ptr() && f.dtype.vcount() == n && f.all_sources(0, [](UOp s) { return s.dtype().is_ptr(); }),
      "pointers to as many elements in total as its dtype has");
}
Requirement assign_dtypes(const NodeFields& f) {
  // a void source is a STORE, or an END or GROUP of stores
  bool is_value_or_void = f.src_dtype(1).base() == f.dtype.base() || f.src_dtype(1) == dtypes::void_;
  return require(f.src_dtype(0) == f.dtype && is_value_or_void, "a target and a value of its dtype");
}
Requirement bufferize_dtypes(const NodeFields& f) {
  return require(f.dtype == f.src_dtype(0) && f.all_sources(1, is_integer), "the dtype of its source, and ranges");
}
Requirement movement_dtypes(const NodeFields& f) {
  return require(f.dtype == f.src_dtype(0) && f.all_sources(1, [](UOp s) { return s.dtype().is(Scalar::Index); }),
                 "the dtype of its source, and sizes of dtypes.index");
}
Requirement copy_dtypes(const NodeFields& f) {
  return require(f.dtype == f.src_dtype(0) && f.src[1].is(Op::DEVICE), "the dtype of its source, and a DEVICE");
}
Requirement buffer_dtypes(const NodeFields& f) {
  if (!f.src[0].in({Op::UNIQUE, Op::LUNIQUE}) || !f.src[1].is(Op::DEVICE)) return "a UNIQUE and a DEVICE";
  if (f.dtype == dtypes::void_ || (f.dtype.is_ptr() && !f.dtype.is_image())) return "a dtype of numbers";
  return require(fits_max_buffer(f.dtype, f.arg.as_int()), "a size of at most 2**48 bytes");
}

struct OpRequirements {
  Op op;
  size_t min_sources, max_sources;
  Requirement (*arg)(Arg);                 // checks the arg; null if any arg is accepted
  Requirement (*dtypes)(const NodeFields&);
};

// clang-format off
constexpr OpRequirements kTable[] = {
  {Op::DEFINE_GLOBAL,   0, kUnlimited, slot_arg,               pointer_dtype<AddrSpace::GLOBAL>},
  {Op::DEFINE_VAR,      0, kUnlimited, variable_arg,           variable_dtypes},
  {Op::BIND,            1, 2,     any_arg,            bind_dtypes},
  {Op::SPECIAL,         1, 1,     special_arg,          special_dtypes},
  {Op::DEFINE_LOCAL,    0, kUnlimited, slot_or_name_arg,             pointer_dtype<AddrSpace::LOCAL>},
  {Op::DEFINE_REG,      0, kUnlimited, slot_arg,               pointer_dtype<AddrSpace::REG>},
  {Op::NOOP,            0, kUnlimited, any_arg,            any_dtype},
  {Op::REWRITE_ERROR,   0, kUnlimited, any_arg,            any_dtype},
  {Op::PROGRAM,         0, kUnlimited, any_arg,            void_dtype},
  {Op::LINEAR,          0, kUnlimited, any_arg,            void_dtype},
  {Op::SOURCE,          0, 0,     any_arg,            void_dtype},
  {Op::BINARY,          0, 0,     any_arg,            void_dtype},
  {Op::SINK,            0, kUnlimited, any_arg,            sink_fields},
  {Op::AFTER,           1, kUnlimited, any_arg,            dtype_of_source},
  {Op::GROUP,           0, kUnlimited, any_arg,            void_dtype},
  {Op::GEP,             1, 1,     gep_arg,              gep_dtypes},
  {Op::VECTORIZE,       0, kUnlimited, any_arg,            vectorize_dtypes},
  {Op::INDEX,           1, kUnlimited, any_arg,            index_dtypes},
  {Op::LOAD,            1, kUnlimited, any_arg,            load_dtypes},
  {Op::STORE,           2, kUnlimited, any_arg,            store_dtypes},
  {Op::WMMA,            3, kUnlimited, wmma_arg,        wmma_dtypes},
  {Op::CAST,            1, 1,     any_arg,            cast_dtypes},
  {Op::BITCAST,         1, 1,     any_arg,            bitcast_dtypes},
  {Op::EXP2,            1, 1,     any_arg,            alu_dtypes},
  {Op::LOG2,            1, 1,     any_arg,            alu_dtypes},
  {Op::SIN,             1, 1,     any_arg,            alu_dtypes},
  {Op::SQRT,            1, 1,     any_arg,            alu_dtypes},
  {Op::RECIPROCAL,      1, 1,     any_arg,            alu_dtypes},
  {Op::NEG,             1, 1,     any_arg,            alu_dtypes},
  {Op::TRUNC,           1, 1,     any_arg,            alu_dtypes},
  {Op::ADD,             2, 2,     any_arg,            alu_dtypes},
  {Op::MUL,             2, 2,     any_arg,            alu_dtypes},
  {Op::SHL,             2, 2,     any_arg,            shift_dtypes},
  {Op::SHR,             2, 2,     any_arg,            shift_dtypes},
  {Op::IDIV,            2, 2,     any_arg,            integer_alu_dtypes},
  {Op::MAX,             2, 2,     any_arg,            alu_dtypes},
  {Op::MOD,             2, 2,     any_arg,            integer_alu_dtypes},
  {Op::CMPLT,           2, 2,     any_arg,            comparison_dtypes},
  {Op::CMPNE,           2, 2,     any_arg,            comparison_dtypes},
  {Op::CMPEQ,           2, 2,     any_arg,            comparison_dtypes},
  {Op::XOR,             2, 2,     any_arg,            bitwise_dtypes},
  {Op::OR,              2, 2,     any_arg,            bitwise_dtypes},
  {Op::AND,             2, 2,     any_arg,            and_dtypes},
  {Op::THREEFRY,        2, 2,     any_arg,            integer_alu_dtypes},
  {Op::SUB,             2, 2,     any_arg,            alu_dtypes},
  {Op::FDIV,            2, 2,     any_arg,            alu_dtypes},
  {Op::POW,             2, 2,     any_arg,            alu_dtypes},
  {Op::WHERE,           3, 3,     any_arg,            where_dtypes},
  {Op::MULACC,          3, 3,     any_arg,            alu_dtypes},
  {Op::BARRIER,         0, kUnlimited, any_arg,            void_dtype},
  {Op::RANGE,           1, kUnlimited, range_arg,       range_dtypes},
  {Op::IF,              1, kUnlimited, any_arg,            if_dtypes},
  {Op::END,             1, kUnlimited, any_arg,            end_dtypes},
  {Op::ENDIF,           1, kUnlimited, any_arg,            endif_dtypes},
  {Op::VCONST,          0, kUnlimited, numbers_arg,            vconst_dtypes},
  {Op::CONST,           0, kUnlimited, number_arg,             const_dtypes},
  {Op::CUSTOM,          0, kUnlimited, any_arg,            custom_fields},
  {Op::CUSTOMI,         0, kUnlimited, any_arg,            custom_fields},
  {Op::UNIQUE,          0, 0,     integer_arg,            void_dtype},
  {Op::DEVICE,          0, 0,     device_arg,             void_dtype},
  {Op::KERNEL,          0, kUnlimited, kernel_arg,             void_dtype},
  {Op::ASSIGN,          2, kUnlimited, any_arg,            assign_dtypes},
  {Op::CUSTOM_KERNEL,   0, kUnlimited, any_arg,            any_dtype},
  {Op::LUNIQUE,         0, 0,     integer_arg,            void_dtype},
  {Op::CONTIGUOUS,      1, kUnlimited, any_arg,            dtype_of_source},
  {Op::CONTIGUOUS_BACKWARD, 1, kUnlimited, any_arg,        dtype_of_source},
  {Op::DETACH,          1, kUnlimited, any_arg,            dtype_of_source},
  {Op::BUFFERIZE,       1, kUnlimited, bufferize_arg,     bufferize_dtypes},
  {Op::COPY,            2, 2,     any_arg,            copy_dtypes},
  {Op::BUFFER,          2, kUnlimited, size_arg,               buffer_dtypes},
  {Op::BUFFER_VIEW,     1, kUnlimited, buffer_view_arg,    any_dtype},
  {Op::MSELECT,         1, 1,     slot_arg,               dtype_of_source},
  {Op::MSTACK,          1, kUnlimited, any_arg,            dtype_of_all_sources},
  {Op::ENCDEC,          1, kUnlimited, shape_arg,              any_dtype},
  {Op::RESHAPE,         2, 2,     any_arg,            movement_dtypes},
  {Op::PERMUTE,         1, 1,     integers_arg,           dtype_of_source},
  {Op::EXPAND,          2, 2,     any_arg,            movement_dtypes},
  {Op::PAD,             3, 3,     any_arg,            movement_dtypes},
  {Op::SHRINK,          3, 3,     any_arg,            movement_dtypes},
  {Op::FLIP,            1, 1,     bools_arg,              dtype_of_source},
  {Op::MULTI,           1, 1,     slot_arg,               dtype_of_source},
  {Op::REDUCE_AXIS,     1, 1,     reduce_axis_arg, dtype_of_source},
  {Op::REDUCE,          1, kUnlimited, reduction_arg,          reduce_dtypes},
  {Op::ALLREDUCE,       2, 2,     reduction_arg,          copy_dtypes},
  {Op::UNROLL,          1, 1,     axis_sizes_arg,         unroll_dtypes},
  {Op::CONTRACT,        1, 1,     axis_sizes_arg,         contract_dtypes},
  {Op::CAT,             1, kUnlimited, any_arg,            cat_dtypes},
  {Op::PTRCAT,          1, kUnlimited, any_arg,            ptrcat_dtypes},
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

std::string shorten_text(std::string text) {
  constexpr size_t kMaxLength = 60;
  return text.size() > kMaxLength ? text.substr(0, kMaxLength - 3) + "..." : text;
}

Requirement dtype_requirement(UOp u) {
  DType d = u.dtype();
  if (d.count() > kMaxElements || d.vcount() > kMaxElements) return "vectors of at most 65536 elements";
  return kTable[size_t(u.op())].dtypes({d, u.src(), u.arg()});
}

}  // namespace

bool has_structure(Op op, std::span<const UOp> src, Arg arg) {
  if (int(op) >= kNumOps) return false;
  const OpRequirements& row = kTable[size_t(op)];
  return src.size() >= row.min_sources && src.size() <= row.max_sources && !(row.arg && row.arg(arg));
}

std::string structure_error(Op op, std::span<const UOp> src, Arg arg) {
  if (has_structure(op, src, arg)) return {};
  if (int(op) >= kNumOps) return op_text(op) + ", which tinygrad 0.12.0 does not have";
  const OpRequirements& row = kTable[size_t(op)];
  if (src.size() < row.min_sources || src.size() > row.max_sources) {
    std::string needs = row.max_sources == kUnlimited ? std::to_string(row.min_sources) + " or more"
                        : row.max_sources == row.min_sources
                            ? std::to_string(row.min_sources)
                            : std::to_string(row.min_sources) + " to " + std::to_string(row.max_sources);
    return op_text(op) + " with " + count_text(src.size(), "source") + ", needs " + needs;
  }
  return op_text(op) + " with the arg " + shorten_text(arg.repr()) + ", needs " + row.arg(arg);
}

std::string dtype_error(UOp u) {
  Requirement wanted = dtype_requirement(u);
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
  while (id <= root.id() && !dtype_requirement(graph.at(id))) id++;
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
    if (dtype_requirement(u)) return MalformedNode{u, dtype_error(u)};
  return std::nullopt;
}

}  // namespace tgc
