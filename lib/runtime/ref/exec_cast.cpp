// Casts between register types.
#include "lib/runtime/ref/exec_lanes.h"
#include "lib/runtime/ref/numeric.h"

namespace tgc::ref {
namespace {

template <class To>
struct OpCast {
  template <class From>
  static To apply(From v, RefNotes& notes) {
    if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
      if (fits<To>(v)) return To(v);
      notes.unfit_casts++;
      return low_bits_of<To>(v);
    } else {
      return To(v);
    }
  }
};
struct OpToBool {
  template <class From>
  static uint8_t apply(From v, RefNotes&) { return v != 0; }
};

template <class From>
Fn cast_from(const Selector& s) {
  switch (Type(s.type)) {
    case Type::Bool: return pick1<uint8_t, From, OpToBool>(s);
#define X(name, ctype) \
  case Type::name: return pick1<ctype, From, OpCast<ctype>>(s);
      X(I8, int8_t)
      X(U8, uint8_t) X(I16, int16_t) X(U16, uint16_t) X(I32, int32_t) X(U32, uint32_t) X(I64, int64_t) X(U64, uint64_t)
          X(F32, float) X(F64, double)
#undef X
  }
  return nullptr;
}

}  // namespace

Fn select_cast(const Selector& s) {
  switch (Type(s.type2)) {
#define X(name, ctype) \
  case Type::name: return cast_from<ctype>(s);
    TGC_REF_TYPES(X)
#undef X
  }
  return nullptr;
}

}  // namespace tgc::ref
