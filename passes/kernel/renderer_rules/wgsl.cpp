// The rules of WGSL (tinygrad renderer/wgsl.py): memory consists of 32-bit words, so loads and stores of narrower
// elements mask and shift words; bools have neither < nor ^; shifts are by uint32.
#include "lib/uop/graph.h"
#include "passes/kernel/renderer_rules/renderer_rules_internal.h"

namespace tgc {

using namespace pat;

namespace {

constexpr DTypeSet kBool{Scalar::Bool};

// Returns true if elements of `dtype` share 32-bit words. float16 (WGSL has f16) and elements in registers do not.
bool is_packed(DType dtype, DType pointer) {
  return dtype.itemsize() < 4 && dtype.base() != dtypes::float16 &&
         (!pointer.is_ptr() || pointer.addrspace() != AddrSpace::REG);
}

// The position of an element: the index of its word, its bit offset in the word, and the mask of its size.
struct PackedPosition {
  UOp word, shift;
  int64_t mask;
};

PackedPosition packed_position_of(UOp index, DType dtype) {
  int64_t size = dtype.itemsize();
  if (size < 1 || size > 2 || index.num_src() < 2)
    throw Failure("cannot access part of a word as " + std::string(dtype.repr()));
  UOp i = index.src(1);
  int64_t elements = 4 / size;
  return {i / Const(elements), (i.cast(dtypes::uint32) % Const(elements)) * Const(8 * size), size == 1 ? 0xFF : 0xFFFF};
}

// Returns an INDEX of word number `word`, with the gate of `index` if `gated` is true (Failure if `index` has no gate).
UOp word_index(UOp index, UOp word, bool gated) {
  std::vector<UOp> src{index.src(0), word};
  if (gated && index.num_src() < 3) throw Failure("a load with an alternative value but no gate");
  if (gated) src.push_back(index.src(2));
  return index.graph().node(Op::INDEX, index.dtype(), src);
}

UOp packed_store(UOp index, UOp value) {
  if (!is_packed(value.dtype(), index.dtype())) return {};
  PackedPosition place = packed_position_of(index, value.dtype());
  UOp bits = (value & Const(place.mask)).cast(dtypes::uint32) << place.shift;
  UOp others = ((Const(place.mask) << place.shift) ^ Const(int64_t(0xFFFFFFFF))).cast(dtypes::uint32);
  UOp pointer = word_index(index, place.word, index.num_src() > 2);
  return pointer.store((pointer.load({}, dtypes::uint32) & others) | bits);
}

UOp sign_extend(UOp value, int bits) {
  Graph& graph = value.graph();
  UOp ones = graph.constant(dtypes::uint32, int64_t(0xFFFFFFFF)) << graph.constant(dtypes::uint32, bits);
  UOp upper = (value >> Const(bits - 1)).gt(0).where(ones, graph.constant(dtypes::uint32, 0));
  return (upper | value.bitcast(dtypes::uint32)).bitcast(dtypes::int32);
}

// Loads the word and extracts the element's bits. If `alt` is not empty, it is the value of the word if the gate is
// false.
UOp packed_load(UOp load, UOp index, UOp alt) {
  DType dtype = load.dtype();
  if (!is_packed(dtype, index.dtype())) return {};
  PackedPosition place = packed_position_of(index, dtype);
  std::vector<UOp> src{word_index(index, place.word, bool(alt))};
  if (alt) src.push_back(alt.cast(dtypes::uint32));
  else src.insert(src.end(), load.src().begin() + 1, load.src().end());
  UOp word = load.graph().node(Op::LOAD, dtypes::uint32, src, load.arg());
  UOp value = (word >> place.shift) & Const(place.mask);
  bool is_signed = dtype == dtypes::int8 || dtype == dtypes::int16;
  return (is_signed ? sign_extend(value, 8 * dtype.itemsize()) : value).cast(dtype);
}

}  // namespace

const RuleSet& wgsl_rules() {
  static const RuleSet own("wgsl", {
      rule("bool-as-int", node({Op::CMPLT, Op::XOR}, a.of(kBool), b).as(alu_node), with(a, b, alu_node, [](UOp a, UOp b, UOp alu) {
             return a.cast(dtypes::int32).alu(alu.op(), b.cast(dtypes::int32)).cast(dtypes::bool_);
           })),
      rule("packed-load-alt", any_len(Op::LOAD, b, c).as(l), with<packed_load>(l, b, c)),
      rule("packed-load", any_len(Op::LOAD, b).as(l), with(l, b, [](UOp l, UOp b) { return packed_load(l, b, {}); })),
      rule("packed-store", any_len(Op::STORE, b, v), with<packed_store>(b, v)),
      rule("shl-of-uint", a << b, with(a, b, [](UOp a, UOp b) {
             if (b.dtype() == dtypes::uint32) return UOp();
             return (a.bitcast(dtypes::uint32) << b.cast(dtypes::uint32)).bitcast(a.dtype());
           })),
      rule("shr-by-uint", x >> y, with(x, y, [](UOp x, UOp y) {
             if (y.dtype() == dtypes::uint32) return UOp();
            return x.graph().node(Op::SHR, x.dtype(), {x, y.cast(dtypes::uint32)});
           })),
  });
  static const RuleSet set("wgsl", {&own, &extra_pm()});
  return set;
}

}  // namespace tgc
