#define INFINITY (__int_as_float(0x7f800000))
#define NAN (__int_as_float(0x7fffffff))
template <class T, class F> __device__ __forceinline__ T tg_bitcast(F v) { union U { F f; T t; }; U u; u.f = v; return u.t; }
#include <cuda_fp16.h>
struct __align__(8) half4 { half x, y, z, w; }; __device__ half4 make_half4(half x, half y, half z, half w) { half4 r={x, y, z, w}; return r; }
extern "C" __global__ void __launch_bounds__(3) E_2_3_4(half* data0_24, float* data1_24) {
  int gidx0 = blockIdx.x; /* 2 */
  int lidx0 = threadIdx.x; /* 3 */
  int alu0 = ((gidx0*12)+(lidx0<<2));
  float4 val0 = (*((float4*)((data1_24+alu0))));
  *((half4*)((data0_24+alu0))) = make_half4(((half)(val0.x)),((half)(val0.y)),((half)(val0.z)),((half)(val0.w)));
}
