// The semantics are those of the Metal Shading Language Specification: half and bfloat round after every operation (by
// compiler flags, see clang.cpp), a vector of three elements is as large as one of four, and a SIMD group has 32
// threads.
#include "lib/compile/metal/library.h"

namespace tgc {

const std::string_view kMetalLibrarySource = R"(
using uchar = unsigned char; using ushort = unsigned short; using uint = unsigned int; using ulong = unsigned long;
using half = _Float16; using bfloat = __bf16; using size_t = unsigned long;
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define kernel static
#define device
#define thread
#define constant const
#define threadgroup
#define TGC_UNCHECKED __attribute__((no_sanitize("thread")))
// inlined code gets the line of its call
#define TGC_INLINE static inline __attribute__((always_inline, nodebug))

#define TGC_VECTORS(T) \
  typedef T T##2 __attribute__((ext_vector_type(2))); typedef T T##3 __attribute__((ext_vector_type(3))); \
  typedef T T##4 __attribute__((ext_vector_type(4)));
TGC_VECTORS(char) TGC_VECTORS(uchar) TGC_VECTORS(short) TGC_VECTORS(ushort) TGC_VECTORS(int) TGC_VECTORS(uint)
TGC_VECTORS(long) TGC_VECTORS(ulong) TGC_VECTORS(half) TGC_VECTORS(bfloat) TGC_VECTORS(float)

namespace tgc {
template <class V> using Element = __remove_cvref(decltype(V{}[0]));
template <class V> TGC_INLINE V vector(auto value) { return V(static_cast<Element<V>>(value)); }
template <class V> TGC_INLINE V vector(auto a, auto b, auto... rest) {
  return V{static_cast<Element<V>>(a), static_cast<Element<V>>(b), static_cast<Element<V>>(rest)...};
}
// A kernel's arguments, as its text declares them.
struct Pointer { void* at; template <class T> operator T*() const { return static_cast<T*>(at); } };
struct Reference { void* at; template <class T> operator T&() const { return *static_cast<T*>(at); } };
struct Position { uint group[3], groups[3], local[3], threads[3]; };
TGC_INLINE uint3 three(const uint* n) { return uint3{n[0], n[1], n[2]}; }
struct Index {
  uint3 all; operator uint3() const { return all; } operator uint2() const { return all.xy; }
  operator uint() const { return all.x; }
};
TGC_INLINE Index group(const Position& p) { return {three(p.group)}; }
TGC_INLINE Index groups(const Position& p) { return {three(p.groups)}; }
TGC_INLINE Index thread_in_group(const Position& p) { return {three(p.local)}; }
TGC_INLINE Index threads(const Position& p) { return {three(p.threads)}; }
TGC_INLINE Index thread_in_grid(const Position& p) { return {three(p.group) * three(p.threads) + three(p.local)}; }
TGC_INLINE Index number_in_group(const Position& p) {
  return {uint3(p.local[0] + p.threads[0] * (p.local[1] + p.threads[1] * p.local[2]))};
}
TGC_INLINE Index number_in_simdgroup(const Position& p) { return {number_in_group(p).all & 31u}; }
TGC_INLINE Index simdgroup(const Position& p) { return {number_in_group(p).all >> 5u}; }
struct Fragments { float a[2], b[2], c[2], d[2]; };
}

extern "C" {
void* tgc_metal_threadgroup(unsigned number, unsigned long bytes, const char* name);
void tgc_metal_barrier() __attribute__((convergent, noduplicate));
void tgc_metal_multiply(tgc::Fragments*) __attribute__((convergent));
}
template <class T> TGC_INLINE T& tgc_threadgroup_memory(unsigned number, const char* name) {
  return *static_cast<T*>(tgc_metal_threadgroup(number, sizeof(T), name));
}

namespace metal {
template <class T, class F> TGC_INLINE T as_type(F from) { return __builtin_bit_cast(T, from); }
#define TGC_FUNCTION(name) \
  TGC_INLINE float name(float x) { return __builtin_##name##f(x); } \
  TGC_INLINE half name(half x) { return half(__builtin_##name##f(float(x))); } \
  TGC_INLINE bfloat name(bfloat x) { return bfloat(__builtin_##name##f(float(x))); }
#define TGC_FUNCTIONS TGC_FUNCTION(exp2) TGC_FUNCTION(log2) TGC_FUNCTION(sin) TGC_FUNCTION(cos) TGC_FUNCTION(sqrt) \
  TGC_FUNCTION(trunc) TGC_FUNCTION(floor) TGC_FUNCTION(ceil) TGC_FUNCTION(fabs) TGC_FUNCTION(exp) TGC_FUNCTION(log)
TGC_FUNCTIONS
namespace precise { TGC_FUNCTIONS }
namespace fast { TGC_FUNCTIONS }
TGC_INLINE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
TGC_INLINE float pow(float a, float b) { return __builtin_powf(a, b); }
template <class T> TGC_INLINE T max(T a, T b) { return a < b ? b : a; }
template <class T> TGC_INLINE T min(T a, T b) { return b < a ? b : a; }
template <class T> TGC_INLINE T abs(T a) { return a < T(0) ? T(-a) : a; }

enum class mem_flags : uint { mem_none = 0, mem_device = 1, mem_threadgroup = 2, mem_texture = 4 };
TGC_INLINE mem_flags operator|(mem_flags a, mem_flags b) { return mem_flags(uint(a) | uint(b)); }
#define threadgroup_barrier(...) ((void)(__VA_ARGS__), tgc_metal_barrier())

template <class T> struct simdgroup_8x8 {
  typedef T Elements __attribute__((ext_vector_type(2)));
  Elements elements;
  Elements& thread_elements() { return elements; }
};
using simdgroup_float8x8 = simdgroup_8x8<float>;
using simdgroup_half8x8 = simdgroup_8x8<half>;
using simdgroup_bfloat8x8 = simdgroup_8x8<bfloat>;
template <class D, class A, class B, class C>
TGC_INLINE void simdgroup_multiply_accumulate(simdgroup_8x8<D>& d, const simdgroup_8x8<A>& a, const simdgroup_8x8<B>& b,
                                              const simdgroup_8x8<C>& c) {
  tgc::Fragments f{{(float)a.elements[0], (float)a.elements[1]}, {(float)b.elements[0], (float)b.elements[1]},
                   {(float)c.elements[0], (float)c.elements[1]}, {}};
  tgc_metal_multiply(&f);
  d.elements = tgc::vector<typename simdgroup_8x8<D>::Elements>(f.d[0], f.d[1]);
}
}

// float4(a, b, c, d): clang's vector types have no such constructor
#define char2(...) tgc::vector<char2>(__VA_ARGS__)
#define char4(...) tgc::vector<char4>(__VA_ARGS__)
#define uchar2(...) tgc::vector<uchar2>(__VA_ARGS__)
#define uchar4(...) tgc::vector<uchar4>(__VA_ARGS__)
#define short2(...) tgc::vector<short2>(__VA_ARGS__)
#define short4(...) tgc::vector<short4>(__VA_ARGS__)
#define ushort2(...) tgc::vector<ushort2>(__VA_ARGS__)
#define ushort4(...) tgc::vector<ushort4>(__VA_ARGS__)
#define int2(...) tgc::vector<int2>(__VA_ARGS__)
#define int4(...) tgc::vector<int4>(__VA_ARGS__)
#define uint2(...) tgc::vector<uint2>(__VA_ARGS__)
#define uint4(...) tgc::vector<uint4>(__VA_ARGS__)
#define long2(...) tgc::vector<long2>(__VA_ARGS__)
#define long4(...) tgc::vector<long4>(__VA_ARGS__)
#define ulong2(...) tgc::vector<ulong2>(__VA_ARGS__)
#define ulong4(...) tgc::vector<ulong4>(__VA_ARGS__)
#define half2(...) tgc::vector<half2>(__VA_ARGS__)
#define half4(...) tgc::vector<half4>(__VA_ARGS__)
#define bfloat2(...) tgc::vector<bfloat2>(__VA_ARGS__)
#define bfloat4(...) tgc::vector<bfloat4>(__VA_ARGS__)
#define float2(...) tgc::vector<float2>(__VA_ARGS__)
#define float4(...) tgc::vector<float4>(__VA_ARGS__)
#line 1 "kernel.metal"
)";

}  // namespace tgc
