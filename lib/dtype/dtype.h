// DType: tinygrad's data types (dtype.py): scalars, vectors of them, pointers and images. A DType is a pointer to an
// immutable description that exists once per process, so two are the same exactly when the handles are equal.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "lib/support/result.h"

namespace tgc {

// X(enumerator, tinygrad's attribute name, short attribute name or the same, C name, priority, bits,
// struct format or 0)
#define TGC_SCALARS(X)                                      \
  X(Void, "void", "void", "void", -1, 0, 0)                 \
  X(Index, "index", "index", "index", -1, 800, 0)           \
  X(Bool, "bool", "bool", "bool", 0, 1, '?')                \
  X(Int8, "int8", "char", "signed char", 1, 8, 'b')         \
  X(UInt8, "uint8", "uchar", "unsigned char", 2, 8, 'B')    \
  X(Int16, "int16", "short", "short", 3, 16, 'h')           \
  X(UInt16, "uint16", "ushort", "unsigned short", 4, 16, 'H') \
  X(Int32, "int32", "int", "int", 5, 32, 'i')               \
  X(UInt32, "uint32", "uint", "unsigned int", 6, 32, 'I')   \
  X(Int64, "int64", "long", "long", 7, 64, 'q')             \
  X(UInt64, "uint64", "ulong", "unsigned long", 8, 64, 'Q') \
  X(FP8E4M3, "fp8e4m3", "fp8e4m3", "float8_e4m3", 9, 8, 0)  \
  X(FP8E5M2, "fp8e5m2", "fp8e5m2", "float8_e5m2", 10, 8, 0) \
  X(Float16, "float16", "half", "half", 11, 16, 'e')        \
  X(BFloat16, "bfloat16", "bfloat16", "__bf16", 12, 16, 0)  \
  X(Float32, "float32", "float", "float", 13, 32, 'f')      \
  X(Float64, "float64", "double", "double", 14, 64, 'd')

enum class Scalar : uint8_t {
#define X(id, ...) id,
  TGC_SCALARS(X)
#undef X
      Other,  // one that another release of tinygrad has: see dtypes::open
};
inline constexpr int kNumScalars = 17;  // without Other

enum class AddrSpace : uint8_t { GLOBAL, LOCAL, REG };
std::string_view name_of(AddrSpace space);  // "GLOBAL", ...

struct DTypeInfo {
  enum class Kind : uint8_t { Value, Pointer, Image };
  Kind kind = Kind::Value;
  // of the value, or of what is pointed to; for an image the storage's (Float16 or Float32)
  Scalar scalar = Scalar::Void;
  // the scalar of a value; kNumScalars for pointers, images and Other, which are in no DTypeSet
  uint8_t value_class = uint8_t(Scalar::Void);
  AddrSpace addrspace = AddrSpace::GLOBAL;
  int8_t priority = -1;      // of promotion, and the first key of the order
  char fmt = 0;              // struct format character; 0: none
  int32_t count = 1;         // elements of the value, or of the value pointed to
  int32_t v = 1;             // of a pointer or image: how many of them
  int32_t bitsize = 0;       // of the value, all elements together
  int64_t size = -1;         // of a pointer: elements it may reach, -1: unlimited
  const DTypeInfo* base = nullptr;    // of a pointer or image: the value dtype; else null
  const DTypeInfo* single = nullptr;  // of a vector: its element; else null (tinygrad's _scalar)
  std::string_view name;              // "float", "float4", "imagef"
  std::string_view repr;              // "dtypes.float.vec(4).ptr(16)"
  std::span<const int64_t> shape;     // of an image: height, width, 4
  int64_t pitch = -1;                 // of an image, as given to dtypes.imagef
};

class DType {
 public:
  constexpr DType();  // dtypes::void_
  constexpr explicit DType(const DTypeInfo* info) : p_(info) {}

  bool is_ptr() const { return p_->kind != DTypeInfo::Kind::Value; }  // isinstance(x, PtrDType): images too
  bool is_image() const { return p_->kind == DTypeInfo::Kind::Image; }
  bool is_value() const { return p_->kind == DTypeInfo::Kind::Value; }
  // Whether this is the scalar `s` itself, or a vector of it (never a pointer).
  bool is(Scalar s) const { return is_value() && p_->scalar == s; }

  Scalar scalar_kind() const { return p_->scalar; }
  size_t value_class() const { return p_->value_class; }
  int count() const { return p_->count; }                          // dtype.count
  int vcount() const { return is_ptr() ? p_->v : p_->count; }      // dtype.vcount
  int bitsize() const { return p_->bitsize; }
  int itemsize() const { return (p_->bitsize + 7) / 8; }           // bytes
  int priority() const { return p_->priority; }
  char fmt() const { return p_->fmt; }
  std::string_view name() const { return p_->name; }
  std::string_view repr() const { return p_->repr; }
  AddrSpace addrspace() const { return p_->addrspace; }
  int64_t size() const { return p_->size; }
  std::span<const int64_t> image_shape() const { return p_->shape; }
  int64_t image_pitch() const;                                     // bytes per row, computed when it was not given

  DType base() const { return p_->base ? DType(p_->base) : *this; }      // what a pointer points to
  DType scalar() const { return p_->single ? DType(p_->single) : *this; }  // one element of a vector
  DType vec(int64_t n) const;  // n of these; throws Failure when this is a vector already
  // throws Failure when this is a pointer already
  DType ptr(int64_t size = -1, AddrSpace space = AddrSpace::GLOBAL) const;
  int64_t nbytes() const;      // of all a pointer may reach; throws Failure when that is unlimited

  const DTypeInfo* info() const { return p_; }
  friend bool operator==(DType, DType) = default;

 private:
  const DTypeInfo* p_;
};

// tinygrad's DType.__lt__: (priority, bitsize, name, fmt, count).
// Not a total order: pointers that differ in size alone are neither.
bool operator<(DType a, DType b);

// Sets of scalars; a vector belongs where its element does, a pointer to none (as UPat's dtype matching has it).
class DTypeSet {
 public:
  constexpr DTypeSet() = default;
  constexpr DTypeSet(std::initializer_list<Scalar> scalars) {
    for (Scalar s : scalars) bits_ |= 1u << int(s);
  }
  constexpr explicit DTypeSet(uint32_t bits) : bits_(bits) {}
  constexpr bool empty() const { return bits_ == 0; }
  constexpr uint32_t bits() const { return bits_; }
  bool contains(DType d) const { return bits_ >> d.value_class() & 1; }
  friend constexpr DTypeSet operator|(DTypeSet a, DTypeSet b) { return DTypeSet(a.bits_ | b.bits_); }
  friend constexpr DTypeSet operator-(DTypeSet a, DTypeSet b) { return DTypeSet(a.bits_ & ~b.bits_); }
  friend constexpr bool operator==(DTypeSet, DTypeSet) = default;

 private:
  uint32_t bits_ = 0;
};

namespace dtypes {

// The table of scalars, in the enum's order.
inline constexpr DTypeInfo kScalars[] = {
#define X(id, long_name, short_name, c_name, priority_, bits_, fmt_) \
  {.scalar = Scalar::id,                                             \
   .value_class = uint8_t(Scalar::id),                               \
   .priority = priority_,                                            \
   .fmt = char(fmt_),                                                \
   .bitsize = bits_,                                                 \
   .name = c_name,                                                   \
   .repr = "dtypes." short_name},
    TGC_SCALARS(X)
#undef X
};
constexpr DType of(Scalar s) { return DType(&kScalars[int(s)]); }

inline constexpr DType void_ = of(Scalar::Void), index = of(Scalar::Index), bool_ = of(Scalar::Bool),
                       int8 = of(Scalar::Int8), uint8 = of(Scalar::UInt8), int16 = of(Scalar::Int16),
                       uint16 = of(Scalar::UInt16), int32 = of(Scalar::Int32), uint32 = of(Scalar::UInt32),
                       int64 = of(Scalar::Int64), uint64 = of(Scalar::UInt64), fp8e4m3 = of(Scalar::FP8E4M3),
                       fp8e5m2 = of(Scalar::FP8E5M2), float16 = of(Scalar::Float16), bfloat16 = of(Scalar::BFloat16),
                       float32 = of(Scalar::Float32), float64 = of(Scalar::Float64);
inline constexpr DType default_float = float32, default_int = int32;

inline constexpr DTypeSet fp8s{Scalar::FP8E4M3, Scalar::FP8E5M2};
inline constexpr DTypeSet floats = fp8s | DTypeSet{Scalar::Float16, Scalar::BFloat16, Scalar::Float32, Scalar::Float64};
inline constexpr DTypeSet uints{Scalar::UInt8, Scalar::UInt16, Scalar::UInt32, Scalar::UInt64};
inline constexpr DTypeSet sints{Scalar::Int8, Scalar::Int16, Scalar::Int32, Scalar::Int64};
inline constexpr DTypeSet ints = uints | sints;
inline constexpr DTypeSet index_like = ints | DTypeSet{Scalar::Index};

// dtypes.imageh(shape, pitch), dtypes.imagef(shape, pitch)
DType imageh(std::span<const int64_t> shape, int64_t pitch = -1);
DType imagef(std::span<const int64_t> shape, int64_t pitch = -1);

inline bool is_float(DType d) { return d.is_image() || floats.contains(d); }
inline bool is_int(DType d) { return index_like.contains(d); }  // index too, bool not
inline bool is_unsigned(DType d) { return uints.contains(d); }
inline bool is_bool(DType d) { return d.is(Scalar::Bool); }

// The value dtype of an attribute name: "float32", "float", "half", ...; nullopt when there is none.
std::optional<DType> parse(std::string_view attribute);
// The scalar that another release has under such a name (weakint, fp8e4m3fnuz): kept by its name alone, without a size
// and in no DTypeSet. Of a name that 0.12.0 has, that one.
DType open(std::string_view attribute);
// Every attribute name, for messages.
std::span<const std::string_view> attribute_names();

struct FloatInfo {
  int exponent, mantissa;  // bits
};
FloatInfo finfo(DType d);  // throws Failure when it is no float

}  // namespace dtypes

constexpr DType::DType() : p_(&dtypes::kScalars[0]) {}

// The smallest dtype that every one of `ds` promotes to (tinygrad's lattice); an image wins. `ds` is not empty.
// Throws Failure when there is none (void, index).
DType least_upper_dtype(std::span<const DType> ds);
inline DType least_upper_dtype(std::initializer_list<DType> ds) {
  return least_upper_dtype(std::span(ds.begin(), ds.size()));
}
DType least_upper_float(DType d);
// The dtypes that `d` (a scalar) promotes to directly, in tinygrad's order: promo_lattice[d].
std::span<const DType> promotes_to(DType d);
bool can_lossless_cast(DType from, DType to);  // whether `to` holds every value of `from`
DType sum_acc_dtype(DType d);                  // what a sum of `d` accumulates in

}  // namespace tgc

template <>
struct std::hash<tgc::DType> {
  size_t operator()(tgc::DType d) const noexcept {
    return reinterpret_cast<size_t>(d.info()) * 0x9E3779B97F4A7C15ull >> 7;
  }
};
