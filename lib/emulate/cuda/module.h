// A loaded module: its text parsed, its kernels translated, its variables placed in memory.
#pragma once
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "lib/emulate/cuda/code.h"
#include "lib/emulate/memory.h"

namespace tgc::ptx {

class LoadedModule {
 public:
  // An error names the line, and the instruction where one is at fault. Variables are allocated in `memory`, which must
  // outlive the module.
  static Result<std::unique_ptr<LoadedModule>> load(std::string_view text, Memory& memory);
  ~LoadedModule();

  const Code* kernel(std::string_view name) const;  // null: there is none
  struct Place {
    uint64_t address, bytes;
  };
  const Place* variable(std::string_view name) const;
  const Module& module() const { return module_; }

 private:
  LoadedModule(Module module, Memory& memory) : module_(std::move(module)), memory_(memory) {}
  void place_variables();
  void translate();

  Module module_;
  Memory& memory_;
  std::map<std::string_view, Place> variables_;
  std::map<std::string_view, Code> kernels_;
};

// PTX's target and the GPU's: code for sm_80 runs on 8.0 and later.
int architecture_of(std::string_view target);  // 80 of "sm_80", "sm_90a" is 90; 0: no such name

}  // namespace tgc::ptx
