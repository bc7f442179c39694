// The WebAssembly interface of layout_core.h. All arrays are in the module's memory.
#include "lib/view/layout_core.h"

extern "C" char __heap_base;

namespace {
size_t next_free = 0;
}

extern "C" {

// Frees all memory. To be called before the first allocate(), too.
__attribute__((export_name("reset"))) void reset() { next_free = (size_t(&__heap_base) + 15) / 16 * 16; }

// Returns the address of `bytes` bytes, aligned to 8 bytes; 0 if there is no more memory.
__attribute__((export_name("allocate"))) size_t allocate(size_t bytes) {
  size_t at = next_free, end = at + (bytes + 7) / 8 * 8, have = size_t(__builtin_wasm_memory_size(0)) << 16;
  if (end > have && __builtin_wasm_memory_grow(0, (end - have + 0xffff) >> 16) == size_t(-1)) return 0;
  next_free = end;
  return at;
}

__attribute__((export_name("layout")))
int32_t layout(int32_t nodes, const int32_t* first, const int32_t* source, const float* size, const float* want,
               const int32_t* want_row, int32_t longest, float gap, int32_t strict, float* at, int32_t* row,
               uint8_t* stub, int32_t* chain_first, float* chain_centers) {
  tgc::LayoutInput in{nodes, first, source, size, want, want_row, longest, gap, strict != 0};
  void* workspace = reinterpret_cast<void*>(allocate(tgc::layout_workspace_bytes(in)));
  if (!workspace) return 0;
  tgc::layout_graph(in, {at, row, stub, chain_first, chain_centers}, workspace);
  return 1;
}

// The module has no C library, and clang compiles loops and copies to calls of these functions.
void* memset(void* to, int value, size_t count) {
  for (size_t i = 0; i < count; i++) static_cast<volatile char*>(to)[i] = char(value);
  return to;
}
void* memcpy(void* to, const void* from, size_t count) {
  for (size_t i = 0; i < count; i++) static_cast<volatile char*>(to)[i] = static_cast<const char*>(from)[i];
  return to;
}
}
