// Conversion to the narrow types, the integers of four bits and the floats of eight or four bits.
#include <cmath>

#include "lib/model/op.h"

namespace tgc {

Tensor to_narrow(const Tensor& x, onnx::Type type, bool saturate) {
  using Special = onnx::NarrowFloat::Special;
  auto format = onnx::narrow_float(type);
  DType dtype = *onnx::dtype_of(type);
  if (!format) {
    Tensor low = x.cast(dtypes::int32);
    return (type == onnx::Type::Int4 ? (low + 8).bitwise_and(low.number(15)) - 8 : low.bitwise_and(low.number(15)))
        .cast(dtype);
  }
  // The distance of neighbouring values, a power of two, comes from the exponent's bits of a float32.
  Tensor wide = x.cast(dtypes::float32);
  auto bitcast = [](const Tensor& t, DType to) { return Tensor(t.graph().node(Op::BITCAST, to, t.uop())); };
  Tensor bits = bitcast(wide, dtypes::int32), exponent = bits.bitwise_and(bits.number(0x7F800000));
  Tensor step =
      bitcast(exponent.maximum(Const((128 - format->bias) << 23)) - (format->mantissa << 23), dtypes::float32);
  Tensor y = (wide / step).round() * step;
  double beyond = saturate || format->special == Special::None ? format->max
                  : format->special == Special::Ieee           ? HUGE_VAL
                                                               : NAN;
  Tensor over = wide.abs().gt(Const(format->max)) & (y.abs().gt(Const(format->max)) | wide.isinf());
  y = over.where(wide.lt(Const(0)).where(Const(-beyond), y.full_like(beyond)), y);
  return wide.isnan().where(wide, y).cast(dtype);
}

}  // namespace tgc
