#include <metal_stdlib>
using namespace metal;
kernel void E_2_3_4(device half* data0_24, device float* data1_24, uint3 gid [[threadgroup_position_in_grid]], uint3 lid [[thread_position_in_threadgroup]]) {
  int gidx0 = gid.x; /* 2 */
  int lidx0 = lid.x; /* 3 */
  int alu0 = ((gidx0*12)+(lidx0<<2));
  float4 val0 = (*((device float4*)((data1_24+alu0))));
  *((device half4*)((data0_24+alu0))) = half4(((half)(val0.x)),((half)(val0.y)),((half)(val0.z)),((half)(val0.w)));
}
