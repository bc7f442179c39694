#pragma once
#include <llvm-c/Target.h>

namespace tgc {

inline void initialize_targets() {
#define TGC_TARGET(name)             \
  LLVMInitialize##name##TargetInfo(); \
  LLVMInitialize##name##Target();     \
  LLVMInitialize##name##TargetMC();   \
  LLVMInitialize##name##AsmPrinter();
  TGC_TARGET(X86) TGC_TARGET(AArch64) TGC_TARGET(AMDGPU) TGC_TARGET(NVPTX)
#undef TGC_TARGET
  // kernels may contain inline assembly (AMX), which needs a parser
  LLVMInitializeX86AsmParser(), LLVMInitializeAArch64AsmParser(), LLVMInitializeAMDGPUAsmParser();
}

}  // namespace tgc
