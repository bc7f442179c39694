#include "lib/dtype/dtype.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <deque>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "lib/support/name_table.h"

namespace tgc {
namespace {

// Interns dtypes except the scalars of 0.12.0. Several threads may use it at the same time.
class DTypeTable {
 public:
  static DTypeTable& instance() {
    static DTypeTable* table = new DTypeTable;  // never destroyed: static objects may refer to its entries
    return *table;
  }

  const DTypeInfo* intern(DTypeInfo d) {
    using Key = std::tuple<int, int, int, int, int, int64_t, const DTypeInfo*, int64_t, std::vector<int64_t>, int>;
    const DTypeInfo* of = d.scalar == Scalar::Other && !d.base ? d.element : d.base;
    Key key{int(d.kind), int(d.scalar), int(d.addrspace),
            d.count,     d.vector_size,           d.size,
            of,          d.pitch,       {d.shape.begin(), d.shape.end()},
            d.bitsize};
    std::lock_guard lock(mutex_);
    const DTypeInfo*& slot = interned_dtypes_[key];
    if (slot) return slot;
    d.value_class = d.kind == DTypeInfo::Kind::Value ? uint8_t(d.scalar) : uint8_t(kNumScalars);
    if (!d.shape.empty()) d.shape = shapes_.emplace_back(d.shape.begin(), d.shape.end());
    d.repr = strings_.emplace_back(make_repr(d));
    if (d.kind == DTypeInfo::Kind::Value)
      d.name = strings_.emplace_back(std::string(d.element->repr.substr(7)) + std::to_string(d.count));
    return slot = &infos_.emplace_back(d);
  }

  const DTypeInfo* intern_foreign(std::string_view attribute) {
    std::lock_guard lock(mutex_);
    const DTypeInfo*& slot = foreign_dtypes_[std::string(attribute)];
    if (slot) return slot;
    std::string_view repr = strings_.emplace_back("dtypes." + std::string(attribute));
    return slot = &infos_.emplace_back(DTypeInfo{
               .scalar = Scalar::Other, .value_class = uint8_t(kNumScalars), .name = repr.substr(7), .repr = repr});
  }

 private:
  static std::string make_repr(const DTypeInfo& d) {
    std::string out;
    if (d.kind == DTypeInfo::Kind::Value) return std::string(d.element->repr) + ".vec(" + std::to_string(d.count) + ")";
    if (d.kind == DTypeInfo::Kind::Image) {
      out = "dtypes." + std::string(d.name) + "((";
      for (size_t i = 0; i < d.shape.size(); i++) out += (i ? ", " : "") + std::to_string(d.shape[i]);
      out += d.shape.size() == 1 ? ",))" : "))";
    } else {
      out = std::string(d.base->repr) + ".ptr(" + std::to_string(d.size);
      if (d.addrspace != AddrSpace::GLOBAL) out += ", AddrSpace." + std::string(name_of(d.addrspace));
      out += ")";
    }
    if (d.vector_size != 1) out += ".vec(" + std::to_string(d.vector_size) + ")";
    return out;
  }

  std::mutex mutex_;
  std::map<std::tuple<int, int, int, int, int, int64_t, const DTypeInfo*, int64_t, std::vector<int64_t>, int>,
           const DTypeInfo*>
      interned_dtypes_;
  std::map<std::string, const DTypeInfo*> foreign_dtypes_;
  std::deque<DTypeInfo> infos_;
  std::deque<std::string> strings_;
  std::deque<std::vector<int64_t>> shapes_;
};

constexpr int kFastVec = 33;  // vectors of fewer elements of a scalar of 0.12.0 are in fast_vec, read without a lock
std::array<std::array<std::atomic<const DTypeInfo*>, kFastVec>, kNumScalars> fast_vec;

DType make_image_dtype(Scalar storage, std::string_view name, std::span<const int64_t> shape, int64_t pitch) {
  constexpr int64_t kMaxSize = int64_t(1) << 40;
  int64_t size = 1;
  for (int64_t s : shape)
    if (s < 1 || __builtin_mul_overflow(size, s, &size) || size > kMaxSize) size = 0;
  if (size == 0 || shape.size() != 3 || shape[2] != 4)
    throw Failure(Diag{.message = "invalid image shape",
                       .expected = "(height, width, 4), with at most 2**40 elements"});
  DTypeInfo d = dtypes::kScalars[int(storage)];
  d.kind = DTypeInfo::Kind::Image;
  d.priority = 100;
  d.base = dtypes::float32.info();
  d.name = name;
  d.shape = shape;
  d.size = size;
  d.pitch = pitch;
  return DType(DTypeTable::instance().intern(d));
}

}  // namespace

std::string_view name_of(AddrSpace space) {
  static constexpr std::string_view kNames[] = {"GLOBAL", "LOCAL", "REG"};
  return kNames[int(space)];
}

namespace {

// A direct-mapped cache of pointers, and of vectors of pointers or images, read without a lock.
std::array<std::atomic<const DTypeInfo*>, 256> pointer_cache;
std::atomic<const DTypeInfo*>& pointer_cache_slot(const DTypeInfo* of, int64_t size) {
  uint64_t h = (reinterpret_cast<uintptr_t>(of) ^ uint64_t(size) << 20) * 0x9E3779B97F4A7C15ull;
  return pointer_cache[h >> 56];
}
const DTypeInfo* intern_and_cache(std::atomic<const DTypeInfo*>& seen, const DTypeInfo& d) {
  const DTypeInfo* made = DTypeTable::instance().intern(d);
  seen.store(made, std::memory_order_release);
  return made;
}

}  // namespace

DType DType::vec(int64_t n) const {
  if (is_ptr()) {
    if (info_->vector_size != 1)
      throw Failure("can't vectorize ptr " + std::string(repr()) + " with size " + std::to_string(n));
    if (n == 1) return *this;
    if (n < 0 || n > INT32_MAX) throw Failure("vector size " + std::to_string(n) + " is out of range");
    auto& seen = pointer_cache_slot(info_, n);
    const DTypeInfo* known = seen.load(std::memory_order_acquire);
    if (known && known->element == info_ && known->vector_size == n) return DType(known);
    DTypeInfo d = *info_;
    d.vector_size = int32_t(n);
    d.element = info_;
    return DType(intern_and_cache(seen, d));
  }
  if (info_->count != 1) throw Failure("can't vectorize " + std::string(repr()) + " with size " + std::to_string(n));
  if (n == 1 || info_->scalar == Scalar::Void) return *this;
  if (n < 0 || n > (1 << 24)) throw Failure("vector size " + std::to_string(n) + " is out of range");
  std::atomic<const DTypeInfo*>* fast =
      n < kFastVec && info_->scalar != Scalar::Other ? &fast_vec[int(info_->scalar)][n] : nullptr;
  if (fast)
    if (const DTypeInfo* known = fast->load(std::memory_order_acquire)) return DType(known);
  DTypeInfo d = *info_;
  d.count = int32_t(n);
  d.bitsize = int32_t(std::min<int64_t>(info_->bitsize * n, INT32_MAX));
  d.fmt = 0;
  d.element = info_;
  const DTypeInfo* made = DTypeTable::instance().intern(d);
  if (fast) fast->store(made, std::memory_order_release);
  return DType(made);
}

DType DType::ptr(int64_t size, AddrSpace space) const {
  if (is_image()) {
    if (space != AddrSpace::GLOBAL) throw Failure("images can't be local");
    return *this;
  }
  if (is_ptr()) throw Failure("can't make a pointer from a pointer");
  auto& seen = pointer_cache_slot(info_, size);
  const DTypeInfo* known = seen.load(std::memory_order_acquire);
  if (known && known->base == info_ && known->vector_size == 1 && known->size == size && known->addrspace == space &&
      !DType(known).is_image())
    return DType(known);
  DTypeInfo d = *info_;
  d.kind = DTypeInfo::Kind::Pointer;
  d.base = info_;
  d.element = nullptr;
  d.size = size;
  d.addrspace = space;
  return DType(intern_and_cache(seen, d));
}

int64_t DType::nbytes() const {
  if (!is_ptr()) throw Failure("only ptr types have nbytes");
  if (size() == -1) throw Failure("can't get nbytes of a pointer with unlimited size");
  int64_t bytes;
  if (__builtin_mul_overflow(size(), int64_t(itemsize()), &bytes))
    throw Failure("a pointer to " + std::to_string(size()) + " elements reaches more bytes than 64 bits count");
  return bytes;
}

int64_t DType::image_pitch() const {
  if (info_->pitch != -1) return info_->pitch;
  auto round_up = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };
  auto log2_floor = [](int64_t v) { return int64_t(std::bit_width(uint64_t(v))) - 1; };
  int64_t height = info_->shape[0], width = info_->shape[1], item_log = log2_floor(itemsize());
  int64_t align_log = height > 1 ? std::max<int64_t>(6, 11 - log2_floor(height)) : 6;
  int64_t align_up = align_log == 6 ? std::max<int64_t>(1, (8 / item_log + 1) - height / 32)
                                    : int64_t(1) << (align_log - item_log - 2);
  int64_t granularity = itemsize() == 4 ? 128 : 256;
  int64_t power = width == 0 ? 1 : int64_t(std::bit_ceil(uint64_t(width)));
  bool extra = std::min(power, round_up(width, granularity)) - align_up + 1 <= width && width > granularity / 2;
  return round_up(width * 4 * itemsize(), int64_t(1) << align_log) + (extra ? int64_t(1) << align_log : 0);
}

bool operator<(DType a, DType b) {
  auto key = [](DType d) { return std::tuple(d.priority(), d.bitsize(), d.name(), d.fmt(), d.count()); };
  return key(a) < key(b);
}

namespace dtypes {

DType imageh(std::span<const int64_t> shape, int64_t pitch) {
  return make_image_dtype(Scalar::Float16, "imageh", shape, pitch);
}
DType imagef(std::span<const int64_t> shape, int64_t pitch) {
  return make_image_dtype(Scalar::Float32, "imagef", shape, pitch);
}

namespace {
constexpr std::string_view kAttributes[] = {
#define X(id, long_name, short_name, ...) long_name, short_name,
    TGC_SCALARS(X)
#undef X
};
}  // namespace

std::optional<DType> parse(std::string_view name) {
  static const NameTable kTable(kAttributes);
  int i = kTable.find(name);
  return i < 0 ? std::nullopt : std::optional(DType(&kScalars[i / 2]));
}

DType parse_any_release(std::string_view attribute) {
  if (auto known = parse(attribute)) return *known;
  return DType(DTypeTable::instance().intern_foreign(attribute));
}

std::span<const std::string_view> attribute_names() { return kAttributes; }

FloatInfo finfo(DType d) {
  switch (d.scalar_kind()) {
    case Scalar::Float16: return {5, 10};
    case Scalar::BFloat16: return {8, 7};
    case Scalar::Float32: return {8, 23};
    case Scalar::Float64: return {11, 52};
    case Scalar::FP8E5M2: return {5, 2};
    case Scalar::FP8E4M3: return {4, 3};
    default: throw Failure(std::string(d.repr()) + " is not a floating point type");
  }
}

}  // namespace dtypes

namespace {
using namespace dtypes;

// tinygrad's promo_lattice. An array lists the dtypes to which the scalars in the array's name promote in one step.
// kWide is for int64 and uint64, kHalf for float16 and bfloat16.
constexpr DType kToNone[] = {void_};
constexpr DType kBool[] = {int8, uint8}, kInt8[] = {int16}, kUInt8[] = {int16, uint16}, kInt16[] = {int32},
                kUInt16[] = {int32, uint32}, kInt32[] = {int64}, kUInt32[] = {int64, uint64},
                kWide[] = {fp8e4m3, fp8e5m2}, kFp8[] = {float16, bfloat16}, kHalf[] = {float32}, kFloat[] = {float64};

// The scalars that `d` promotes to in any number of steps, and `d` itself, as a bit set.
uint32_t reachable_scalars(DType d) {
  uint32_t bits = 1u << int(d.scalar_kind());
  for (DType up : promoted_dtypes(d)) bits |= reachable_scalars(up);
  return bits;
}
}  // namespace

std::span<const DType> promoted_dtypes(DType d) {
  switch (d.scalar_kind()) {
    case Scalar::Bool: return kBool;
    case Scalar::Int8: return kInt8;
    case Scalar::UInt8: return kUInt8;
    case Scalar::Int16: return kInt16;
    case Scalar::UInt16: return kUInt16;
    case Scalar::Int32: return kInt32;
    case Scalar::UInt32: return kUInt32;
    case Scalar::Int64:
    case Scalar::UInt64: return kWide;
    case Scalar::FP8E4M3:
    case Scalar::FP8E5M2: return kFp8;
    case Scalar::Float16:
    case Scalar::BFloat16: return kHalf;
    case Scalar::Float32: return kFloat;
    default: return std::span(kToNone, 0);
  }
}

DType least_upper_dtype(std::span<const DType> ds) {
  static const auto kReach = [] {
    std::array<uint32_t, kNumScalars> out{};
    for (int i = 0; i < kNumScalars; i++) out[i] = reachable_scalars(DType(&kScalars[i]));
    return out;
  }();
  uint32_t common = ~0u;
  for (DType d : ds) {
    if (d.is_image()) return d;
    DType s = d.scalar();
    if (!s.is_value() || s.is(Scalar::Void) || s.is(Scalar::Index) || s.is(Scalar::Other))
      throw Failure(std::string(d.repr()) + " has no type promotion");
    common &= kReach[int(s.scalar_kind())];
  }
  return of(Scalar(std::countr_zero(common)));  // the enum sorts by priority
}

DType least_upper_float(DType d) { return is_float(d) ? d : least_upper_dtype({d, default_float}); }

bool can_lossless_cast(DType from, DType to) {
  if (from == to || from == bool_) return true;
  auto one_of = [&](std::initializer_list<DType> ds) { return std::find(ds.begin(), ds.end(), from) != ds.end(); };
  if (!to.is_value() || to.count() != 1) return false;
  switch (to.scalar_kind()) {
    case Scalar::Index: return from.count() == 1 && ints.contains(from);
    case Scalar::Float64:
      return one_of({float32, float16, bfloat16, fp8e4m3, fp8e5m2, uint32, uint16, uint8, int32, int16, int8});
    case Scalar::Float32: return one_of({float16, bfloat16, fp8e4m3, fp8e5m2, uint16, uint8, int16, int8});
    case Scalar::Float16: return one_of({fp8e4m3, fp8e5m2, uint8, int8});
    case Scalar::UInt64: return one_of({uint32, uint16, uint8});
    case Scalar::UInt32: return one_of({uint16, uint8});
    case Scalar::UInt16: return one_of({uint8});
    case Scalar::Int64: return one_of({uint32, uint16, uint8, int32, int16, int8});
    case Scalar::Int32: return one_of({uint16, uint8, int16, int8});
    case Scalar::Int16: return one_of({uint8, int8});
    default: return false;
  }
}

DType sum_acc_dtype(DType d) {
  if (is_unsigned(d)) return least_upper_dtype({d, uint32});
  if (is_int(d) || d == bool_) return least_upper_dtype({d, int32});
  return least_upper_dtype({d, float32});
}

}  // namespace tgc
