#include "lib/run/emulated_dtypes.h"

#include <algorithm>

namespace tgc {
namespace {

// Returns the bytes of `array` as elements of `dtype`.
Array with_dtype(const Array& array, DType dtype, std::vector<int64_t> shape) {
  Array out(dtype, std::move(shape));
  std::copy_n(array.data(), std::min(array.nbytes(), out.nbytes()), out.data());
  return out;
}

}  // namespace

Arrays with_dtypes_of(const Arrays& arrays, const std::vector<BufferSpec>& buffers) {
  Arrays out;
  for (const NamedArray& a : arrays) {
    auto spec = std::ranges::find_if(buffers, [&](const BufferSpec& b) { return b.name() == a.name; });
    const bool changes = spec != buffers.end() && !(spec->dtype == a.array.dtype()) && spec->size >= 0 &&
                         size_t(spec->size * spec->dtype.itemsize()) == a.array.nbytes();
    out.push_back({a.name, changes ? with_dtype(a.array, spec->dtype, {spec->size}) : a.array.copy()});
  }
  return out;
}

}  // namespace tgc
