// Splits accesses into the widths that the target supports, and accesses images by pixel (tinygrad
// codegen/late/devectorizer.py: split_load_store, image_fixup, correct_load_store).
#include <algorithm>
#include <limits>

#include "lib/target/target.h"
#include "lib/uop/graph.h"
#include "lib/uop/integer_math.h"
#include "passes/kernel/loads.h"

namespace tgc {

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
    if (ls.is(Op::STORE)) src[1] = ls.src(1).gep(consecutive(done, width));
    parts.push_back(ls.is(Op::STORE) ? ls.with_src(src)
                                     : ls.replace({.dtype = ls.dtype().scalar().vec(width), .src = src}));
    done += width;
  }
  if (parts.size() <= 1) return {};
  return ls.is(Op::LOAD) ? graph.node(Op::CAT, ls.dtype(), parts) : graph.group(parts);
}

// ---- images: a pixel has four channels

// Returns the access `ls` widened to the whole pixel, which is indexed by its coordinates (x, y).
UOp pixel_access(UOp ls, UOp idx, DType result) {
  UOp x = idx.src(1).get_idx(), valid = idx.src(1).get_valid();
  int64_t width = idx.dtype().image_shape()[1];
  UOp coordinates =
      ls.graph().node(Op::VECTORIZE, dtypes::index.vec(2), {(x / Const(4)) % Const(width), x / Const(4 * width)});
  std::vector<UOp> src(ls.src().begin(), ls.src().end());
  src[0] = idx.with_src({idx.src(0), coordinates.valid(valid)});
  return ls.replace({.dtype = result, .src = src});
}

// Loads a single channel of a pixel: loads the whole pixel and selects element x % 4, where x is the flat index.
UOp channel_load(UOp ls, UOp idx) {
  if (!ls.is(Op::LOAD)) throw Failure("a store to an image must write all four channels of a pixel");
  UOp pixel = pixel_access(ls, idx, ls.dtype().vec(4)), channel = idx.src(1).get_idx() % Const(4);
  int64_t first = 0, last = 3;
  UOp value = ls.const_like(std::numeric_limits<double>::quiet_NaN());
  if (!py_less(channel.vmin(), 0)) {  // the channel is one of vmin to vmax, so the default can be vmin, not NaN
    first = channel.vmin().to_int().small();
    last = channel.vmax().to_int().small();
    value = pixel.gep(first++);
  }
  for (int64_t i = first; i <= last; i++) value = channel.ne(i).where(value, pixel.gep(i));
  return value;
}

UOp image_fixup(UOp ls) {
  UOp pointer = ls.src(0);
  if (pointer.is(Op::CAST) && pointer.src(0).dtype().is_image()) {
    if (pointer.dtype().count() != 4) throw Failure("an image is accessed by " + std::string(pointer.dtype().repr()));
    return pixel_access(ls, pointer.src(0), ls.dtype());
  }
  if (pointer.dtype().is_image() && pointer.src(1).get_idx().dtype() != dtypes::index.vec(2))
    return channel_load(ls, pointer);
  return {};
}

}  // namespace

const RuleSet& correct_load_store() {
  static const RuleSet set("correct_load_store", {
      // load(wide pointer) -> cat(load(pointer), load(pointer), ...), and the same for stores
      rule("split-load-store", any_len({Op::LOAD, Op::STORE}, cast(node(Op::INDEX).as(idx))).as(l), with<split_load_store>(l, idx)),
      // load(&image[x]) -> load(&image[{x / 4 % width, x / (4 * width)}])
      rule("image-by-pixel", node({Op::LOAD, Op::STORE}).as(l), with<image_fixup>(l)),
  });
  return set;
}

}  // namespace tgc
