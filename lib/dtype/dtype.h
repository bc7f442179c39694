// tinygrad's data types (dtype.py): scalars, pointers, images, and vectors of these. A DType is a handle to an
// immutable object; equal dtypes have equal handles.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "lib/support/result.h"

namespace tgc {

// X(enumerator, attribute name in tinygrad's `dtypes`, short attribute name or the same name again, DType.name,
// promotion priority, bits, format character of Python's struct module or 0)
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
      Other,  // any scalar that 0.12.0 does not have
};
inline constexpr int kNumScalars = 17;  // scalars of 0.12.0, without Other

enum class AddrSpace : uint8_t { GLOBAL, LOCAL, REG };
std::string_view name_of(AddrSpace space);

struct DTypeInfo {
  enum class Kind : uint8_t { Value, Pointer, Image };
  Kind kind = Kind::Value;
  // scalar of the value or the pointee; of an image, its storage type (Float16 or Float32)
  Scalar scalar = Scalar::Void;
  // bit number in a DTypeSet; kNumScalars for pointers, images and Other, which no DTypeSet contains
  uint8_t value_class = uint8_t(Scalar::Void);
  AddrSpace addrspace = AddrSpace::GLOBAL;
  int8_t priority = -1;      // promotion priority, the first key of operator<
  char fmt = 0;              // format character in Python's struct module; 0: none
  int32_t count = 1;         // elements of the value, or of the pointee
  int32_t vector_size = 1;   // elements of a vector of pointers or images; else 1
  int32_t bitsize = 0;       // bits of the value, of the pointee, or of an image's storage type
  int64_t size = -1;         // elements that a pointer may access; -1: unlimited
  const DTypeInfo* base = nullptr;     // the pointee; the value dtype of an image; else null
  const DTypeInfo* element = nullptr;  // element of a vector (tinygrad's _scalar); else null
  std::string_view name;
  std::string_view repr;               // such as "dtypes.float.vec(4).ptr(16)"
  std::span<const int64_t> shape;      // of an image: (height, width, 4)
  int64_t pitch = -1;                  // of an image: bytes per row, if passed to imagef() or imageh(); else -1
};

class DType {
 public:
  constexpr DType();  // the dtype void
  constexpr explicit DType(const DTypeInfo* info) : info_(info) {}

  // tinygrad's isinstance(x, PtrDType); also true for images
  bool is_ptr() const { return info_->kind != DTypeInfo::Kind::Value; }
  bool is_image() const { return info_->kind == DTypeInfo::Kind::Image; }
  bool is_value() const { return info_->kind == DTypeInfo::Kind::Value; }
  // True for the scalar `s` and vectors of `s`, not for pointers and images.
  bool is(Scalar s) const { return is_value() && info_->scalar == s; }

  Scalar scalar_kind() const { return info_->scalar; }
  size_t value_class() const { return info_->value_class; }
  int count() const { return info_->count; }  // elements of the value, or of the pointee
  int vcount() const {
    return is_ptr() ? info_->vector_size : info_->count;
  }  // elements of a value; of a vector of pointers, the number of pointers
  int bitsize() const { return info_->bitsize; }
  int itemsize() const { return (info_->bitsize + 7) / 8; }  // bitsize() in bytes
  int priority() const { return info_->priority; }
  char fmt() const { return info_->fmt; }
  std::string_view name() const { return info_->name; }
  std::string_view repr() const { return info_->repr; }
  AddrSpace addrspace() const { return info_->addrspace; }
  int64_t size() const { return info_->size; }
  std::span<const int64_t> image_shape() const { return info_->shape; }
  int64_t image_pitch() const;  // an image's bytes per row: as passed to imagef() or imageh(), or computed

  // the pointee of a pointer, the value dtype of an image; else this dtype
  DType base() const { return info_->base ? DType(info_->base) : *this; }
  // a vector's element dtype; else this dtype
  DType scalar() const { return info_->element ? DType(info_->element) : *this; }
  // Returns a vector of n elements; this dtype if n is 1 or this is void. Throws Failure if this is a vector, or if n
  // is out of range.
  DType vec(int64_t n) const;
  // Returns a pointer to `size` elements (-1: unlimited); for an image, the image. Throws Failure if this is a pointer,
  // or for an image if `space` is not GLOBAL.
  DType ptr(int64_t size = -1, AddrSpace space = AddrSpace::GLOBAL) const;
  // Returns the number of bytes that a pointer may access. Throws Failure if this is not a pointer, the pointer is
  // unlimited, or the number exceeds int64_t.
  int64_t nbytes() const;

  const DTypeInfo* info() const { return info_; }
  friend bool operator==(DType, DType) = default;

 private:
  const DTypeInfo* info_;
};

// Compares (priority, bitsize, name, fmt, count), as tinygrad's DType.__lt__. Two pointers that differ only in size are
// different, but neither is less.
bool operator<(DType a, DType b);

// A set of scalars. A vector is in the set if its element is; a pointer is in no set (as in UPat's dtype matching).
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

// The scalars in the enum's order.
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

// Return an image dtype. `shape` is (height, width, 4); `pitch` is the number of bytes per row, or -1 for the default
// of the shape. Throw Failure for another shape, for an extent below 1, and for more than 2**40 elements.
DType imageh(std::span<const int64_t> shape, int64_t pitch = -1);
DType imagef(std::span<const int64_t> shape, int64_t pitch = -1);

inline bool is_float(DType d) { return d.is_image() || floats.contains(d); }
inline bool is_int(DType d) { return index_like.contains(d); }  // includes index, not bool
inline bool is_unsigned(DType d) { return uints.contains(d); }
inline bool is_bool(DType d) { return d.is(Scalar::Bool); }

// Returns the scalar with an attribute name ("float32", "float", "half", ...); nullopt if there is none.
std::optional<DType> parse(std::string_view attribute);
// Like parse(), but also accepts names that 0.12.0 does not have, such as weakint: returns a Scalar::Other for them, a
// dtype without a size that no DTypeSet contains.
DType parse_any_release(std::string_view attribute);
std::span<const std::string_view> attribute_names();

struct FloatInfo {
  int exponent_bits, mantissa_bits;
};
FloatInfo finfo(DType d);  // throws Failure if d.scalar_kind() is not a float

}  // namespace dtypes

constexpr DType::DType() : info_(&dtypes::kScalars[0]) {}

// Returns the scalar of lowest priority to which all scalars of `ds` promote in tinygrad's lattice; if `ds` contains
// images, the first image. `ds` must not be empty. Throws Failure for a dtype that does not promote (void, index, a
// Scalar::Other or a pointer), unless an image precedes the dtype.
DType least_upper_dtype(std::span<const DType> ds);
inline DType least_upper_dtype(std::initializer_list<DType> ds) {
  return least_upper_dtype(std::span(ds.begin(), ds.size()));
}
DType least_upper_float(DType d);
// The dtypes that the scalar `d` promotes to in one step, in tinygrad's order (dtype.py:promo_lattice).
std::span<const DType> promoted_dtypes(DType d);
bool can_lossless_cast(DType from, DType to);  // as dtype.py:can_lossless_cast
DType sum_acc_dtype(DType d);                  // dtype of the accumulator of a sum over `d`

}  // namespace tgc

template <>
struct std::hash<tgc::DType> {
  size_t operator()(tgc::DType d) const noexcept {
    return reinterpret_cast<size_t>(d.info()) * 0x9E3779B97F4A7C15ull >> 7;
  }
};
