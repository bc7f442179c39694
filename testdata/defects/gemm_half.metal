#include <metal_stdlib>
using namespace metal;
float2 __WMMA_8_8_8_half_float(half2 a, half2 b, float2 c){
  simdgroup_half8x8 mat_a, mat_b; simdgroup_float8x8 mat_c;
  mat_a.thread_elements()[0] = a[0]; mat_b.thread_elements()[0] = b[0]; mat_c.thread_elements()[0] = c[0];
  mat_a.thread_elements()[1] = a[1]; mat_b.thread_elements()[1] = b[1]; mat_c.thread_elements()[1] = c[1];
  simdgroup_multiply_accumulate(mat_c, mat_a, mat_b, mat_c);
  return float2(mat_c.thread_elements()[0], mat_c.thread_elements()[1]);
}
kernel void r_32_2_2_2_2(device half* data0_256, device half* data1_256, device half* data2_256, uint3 gid [[threadgroup_position_in_grid]], uint3 lid [[thread_position_in_threadgroup]]) {
  float acc0[8];
  int lidx0 = lid.x; /* 32 */
  int alu0 = ((lidx0>>4)<<6);
  int alu1 = (((lidx0>>2)&1)<<5);
  int alu2 = (((lidx0>>1)&1)<<4);
  int alu3 = (alu0+alu1+alu2);
  int alu4 = ((lidx0&1)<<1);
  int alu5 = (((lidx0>>3)&1)<<2);
  int alu6 = (alu4+alu5);
  *(acc0+0) = 0.0f;
  *(acc0+1) = 0.0f;
  *(acc0+2) = 0.0f;
  *(acc0+3) = 0.0f;
  *(acc0+4) = 0.0f;
  *(acc0+5) = 0.0f;
  *(acc0+6) = 0.0f;
  *(acc0+7) = 0.0f;
  for (int Ridx0 = 0; Ridx0 < 2; Ridx0++) {
    int alu15 = (alu3+alu5+(Ridx0<<3)+alu4);
    half2 val0 = (*((device half2*)((data1_256+(alu15+128)))));
    half2 val1 = (*((device half2*)((data1_256+alu15))));
    int alu16 = (alu0+(Ridx0<<7)+alu1+alu2+alu6);
    half2 val2 = (*((device half2*)((data2_256+(alu16+8)))));
    half2 val3 = (*((device half2*)((data2_256+alu16))));
    float2 wmma0 = __WMMA_8_8_8_half_float(val0, val2, float2((*(acc0+6)),(*(acc0+7))));
    float2 wmma1 = __WMMA_8_8_8_half_float(val0, val3, float2((*(acc0+4)),(*(acc0+5))));
    float2 wmma2 = __WMMA_8_8_8_half_float(val1, val2, float2((*(acc0+2)),(*(acc0+3))));
    float2 wmma3 = __WMMA_8_8_8_half_float(val1, val3, float2((*(acc0+0)),(*(acc0+1))));
    *(acc0+0) = wmma3.x;
    *(acc0+1) = wmma3.y;
    *(acc0+2) = wmma2.x;
    *(acc0+3) = wmma2.y;
    *(acc0+4) = wmma1.x;
    *(acc0+5) = wmma1.y;
    *(acc0+6) = wmma0.x;
    *(acc0+7) = wmma0.y;
  }
  int alu26 = (alu3+alu6);
  *((device half2*)((data0_256+(alu26+8)))) = half2(((half)((*(acc0+2)))),((half)((*(acc0+3)))));
  *((device half2*)((data0_256+(alu26+128)))) = half2(((half)((*(acc0+4)))),((half)((*(acc0+5)))));
  *((device half2*)((data0_256+(alu26+136)))) = half2(((half)((*(acc0+6)))),((half)((*(acc0+7)))));
  *((device half2*)((data0_256+alu26))) = half2(((half)((*(acc0+0)))),((half)((*(acc0+1)))));
}
