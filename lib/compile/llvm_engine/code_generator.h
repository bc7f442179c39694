// From modules to files for one machine, by LLVM's code generators, which are kept from kernel to kernel.
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

// A target machine and the passes that emit its code. It keeps what it works out of the machine's features for every
// function, and its list of passes, each of which takes as long as a small kernel. For one thread at a time.
class CodeGenerator {
 public:
  // Throws Refused for a machine that LLVM does not know.
  explicit CodeGenerator(const Machine& machine);

  llvm::TargetMachine& machine() { return *machine_; }
  std::string emit(llvm::Module& module, Form form);

 private:
  // The passes write to one stream for as long as they live.
  struct Emitter {
    llvm::SmallVector<char, 0> bytes;
    llvm::raw_svector_ostream out{bytes};
    llvm::legacy::PassManager passes;
  };
  std::unique_ptr<Emitter> make_emitter(Form form);

  std::unique_ptr<llvm::TargetMachine> machine_;
  std::unique_ptr<Emitter> kept_[2];  // of assembly, of objects
};

// The code generators of one machine: as many as there were compilations at a time.
// What a failed compilation had is not used again.
class CodeGenerators {
 public:
  explicit CodeGenerators(Machine machine);

  std::unique_ptr<CodeGenerator> take();
  void give_back(std::unique_ptr<CodeGenerator> generator);
  const Machine& machine() const { return machine_; }
  bool has_avx512() const { return has_avx512_; }

 private:
  const Machine machine_;
  const bool has_avx512_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<CodeGenerator>> idle_;
};

}  // namespace tgc
