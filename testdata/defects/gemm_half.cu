#define INFINITY (__int_as_float(0x7f800000))
#define NAN (__int_as_float(0x7fffffff))
template <class T, class F> __device__ __forceinline__ T tg_bitcast(F v) { union U { F f; T t; }; U u; u.f = v; return u.t; }
#include <cuda_fp16.h>
struct __align__(8) half4 { half x, y, z, w; }; __device__ half4 make_half4(half x, half y, half z, half w) { half4 r={x, y, z, w}; return r; }
struct __align__(16) half8 { half x, y, z, w, a, b, c, d; }; __device__ half8 make_half8(half x, half y, half z, half w, half a, half b, half c, half d) { half8 r={x, y, z, w, a, b, c, d}; return r; }
__device__ float4 __WMMA_8_16_16_half_float(half8 a, half4 b, float4 c){
  int *a_pk = (int *)(&a), *b_pk = (int *)(&b), *c_pk = (int *)(&c);
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
      "{%0, %1, %2, %3}, {%4, %5, %6, %7},"
      "{%8, %9}, {%0, %1, %2, %3};"
    : "+r"(c_pk[0]), "+r"(c_pk[1]), "+r"(c_pk[2]), "+r"(c_pk[3])
    : "r"(a_pk[0]), "r"(a_pk[1]), "r"(a_pk[2]), "r"(a_pk[3]), "r"(b_pk[0]), "r"(b_pk[1]));
  return c;
}
extern "C" __global__ void __launch_bounds__(32) r_32_2_2_2_2(half* data0_256, half* data1_256, half* data2_256) {
  int lidx0 = threadIdx.x; /* 32 */
  int alu0 = (lidx0>>4);
  int alu1 = ((lidx0>>3)&1);
  int alu2 = ((lidx0>>2)&1);
  int alu3 = (lidx0&1);
  int alu4 = ((lidx0>>1)&1);
  int alu5 = ((alu0<<2)+(alu1<<1)+alu2+(alu3<<5)+(alu4<<6));
  half val0 = (*(data2_256+(alu5+8)));
  half val1 = (*(data2_256+(alu5+16)));
  half val2 = (*(data2_256+(alu5+24)));
  half val3 = (*(data2_256+(alu5+128)));
  half val4 = (*(data2_256+(alu5+136)));
  half val5 = (*(data2_256+(alu5+144)));
  half val6 = (*(data2_256+(alu5+152)));
  half val7 = (*(data2_256+alu5));
  int alu6 = ((alu0<<6)+(alu1<<5)+(alu2<<4)+(alu3<<1)+(alu4<<2));
  int alu7 = (alu6+8);
  half2 val8 = (*((half2*)((data1_256+alu7))));
  int alu8 = (alu6+128);
  half2 val9 = (*((half2*)((data1_256+alu8))));
  int alu9 = (alu6+136);
  half2 val10 = (*((half2*)((data1_256+alu9))));
  half2 val11 = (*((half2*)((data1_256+alu6))));
  half8 cast0 = make_half8(val11.x,val11.y,val9.x,val9.y,val8.x,val8.y,val10.x,val10.y);
  float4 cast1 = make_float4(0.0f,0.0f,0.0f,0.0f);
  float4 wmma0 = __WMMA_8_16_16_half_float(cast0, make_half4(val0,val2,val4,val6), cast1);
  float4 wmma1 = __WMMA_8_16_16_half_float(cast0, make_half4(val7,val1,val3,val5), cast1);
  *((half2*)((data0_256+alu7))) = make_half2(((half)(wmma0.x)),((half)(wmma0.y)));
  *((half2*)((data0_256+alu8))) = make_half2(((half)(wmma1.z)),((half)(wmma1.w)));
  *((half2*)((data0_256+alu9))) = make_half2(((half)(wmma0.z)),((half)(wmma0.w)));
  *((half2*)((data0_256+alu6))) = make_half2(((half)(wmma1.x)),((half)(wmma1.y)));
}
