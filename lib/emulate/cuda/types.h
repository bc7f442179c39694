// PTX's fundamental types. Registers have 16 to 128 bits. An 8-bit type uses 16 bits, a predicate one bit per lane.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace tgc::ptx {

enum class Kind : uint8_t { Bits, Unsigned, Signed, Float, BFloat, Tf32, E4m3, E5m2, Pred };

// calls X(name, PTX text, kind, bits per element, number of elements) for each type
#define TGC_PTX_TYPES(X)                                                                                              \
  X(B8, "b8", Bits, 8, 1)                                                                                             \
  X(B16, "b16", Bits, 16, 1)                                                                                          \
  X(B32, "b32", Bits, 32, 1) X(B64, "b64", Bits, 64, 1) X(B128, "b128", Bits, 128, 1) X(U8, "u8", Unsigned, 8, 1)     \
      X(U16, "u16", Unsigned, 16, 1) X(U32, "u32", Unsigned, 32, 1) X(U64, "u64", Unsigned, 64, 1)                    \
          X(S8, "s8", Signed, 8, 1) X(S16, "s16", Signed, 16, 1) X(S32, "s32", Signed, 32, 1)                         \
              X(S64, "s64", Signed, 64, 1) X(F16, "f16", Float, 16, 1) X(F16x2, "f16x2", Float, 16, 2)                \
                  X(F32, "f32", Float, 32, 1) X(F64, "f64", Float, 64, 1) X(BF16, "bf16", BFloat, 16, 1)              \
                      X(BF16x2, "bf16x2", BFloat, 16, 2) X(TF32, "tf32", Tf32, 32, 1) X(E4M3, "e4m3", E4m3, 8, 1)     \
                          X(E5M2, "e5m2", E5m2, 8, 1) X(E4M3x2, "e4m3x2", E4m3, 8, 2) X(E5M2x2, "e5m2x2", E5m2, 8, 2) \
                              X(Pred, "pred", Pred, 1, 1)

enum class Type : uint8_t {
#define X(name, text, kind, bits, count) name,
  TGC_PTX_TYPES(X)
#undef X
};

struct TypeInfo {
  std::string_view text;
  Kind kind;
  uint8_t element_bits, count;
};
inline constexpr TypeInfo kTypes[] = {
#define X(name, text, kind, bits, count) {text, Kind::kind, bits, count},
    TGC_PTX_TYPES(X)
#undef X
};

inline constexpr const TypeInfo& info(Type t) { return kTypes[size_t(t)]; }
inline constexpr std::string_view text(Type t) { return info(t).text; }
inline constexpr Kind kind(Type t) { return info(t).kind; }
inline constexpr unsigned bits(Type t) { return unsigned(info(t).element_bits) * info(t).count; }
// Bits of the smallest register that holds a value of the type.
inline constexpr unsigned register_bits(Type t) { return bits(t) == 8 ? 16 : bits(t); }
inline constexpr bool is_signed(Type t) { return kind(t) == Kind::Signed; }
inline constexpr bool is_integer(Type t) { return kind(t) <= Kind::Signed; }

inline std::optional<Type> find_type(std::string_view word) {
  for (size_t i = 0; i < std::size(kTypes); i++)
    if (kTypes[i].text == word) return Type(i);
  return std::nullopt;
}

}  // namespace tgc::ptx
