// Casts between register types.
#include "lib/runtime/ref/exec_lanes.h"
#include "lib/runtime/ref/numeric.h"

namespace tgc::ref {
namespace {

template <class To>
struct OpCast {
  template <class From>
  To operator()(From v, RefNotes& notes) const {
    if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
      if (fits<To>(v)) return To(v);
      notes.unfit_casts++;
      return low_bits_of<To>(v);
    } else {
      return To(v);
    }
  }
};
using OpToBool = decltype([](auto v, RefNotes&) { return uint8_t(v != 0); });

template <class From>
Fn cast_from(const Selector& s) {
  if (Type(s.type) == Type::Bool) return pick1<uint8_t, From, OpToBool>(s);
  return with_type(Type(s.type), [&]<class To>(To) { return pick1<To, From, OpCast<To>>(s); });
}

}  // namespace

Fn select_cast(const Selector& s) {
  return with_type(Type(s.type2), [&]<class From>(From) { return cast_from<From>(s); });
}

}  // namespace tgc::ref
