#pragma once
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "lib/compile/engines.h"

namespace tgc {

// A target machine and the passes that emit its code, which take long to build. Not thread-safe.
class CodeGenerator {
 public:
  // Throws ThrownCompilerError if LLVM does not know the machine. `fast` generates code as -O0 does.
  explicit CodeGenerator(const MachineSpec& machine, bool fast = false);

  llvm::TargetMachine& machine() { return *machine_; }
  std::string emit_code(llvm::Module& module, OutputForm form);

 private:
  // The passes that emit one form of output, and the stream to which they write.
  struct CodeEmitter {
    llvm::SmallVector<char, 0> bytes;
    llvm::raw_svector_ostream out{bytes};
    llvm::legacy::PassManager passes;
  };
  std::unique_ptr<CodeEmitter> make_emitter(OutputForm form);

  std::unique_ptr<llvm::TargetMachine> machine_;
  std::unique_ptr<CodeEmitter> emitters_[2];  // [0] emits assembly, [1] objects
};

// One generator per concurrent compilation. A generator whose compilation failed is not given back.
class CodeGeneratorPool {
 public:
  CodeGeneratorPool(MachineSpec machine, bool fast);

  std::unique_ptr<CodeGenerator> acquire_generator();
  void release_generator(std::unique_ptr<CodeGenerator> generator);
  const MachineSpec& machine_spec() const { return machine_; }
  bool has_avx512() const { return has_avx512_; }

 private:
  const MachineSpec machine_;
  const bool is_fast_codegen_, has_avx512_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<CodeGenerator>> idle_generators_;
};

}  // namespace tgc
