// Loads a PTX module: parses the text, translates the kernels, and allocates the variables in device memory.
#pragma once
#include <map>
#include <memory>
#include <string_view>

#include "lib/emulate/cuda/code.h"
#include "lib/emulate/memory.h"

namespace tgc::ptx {

class LoadedModule {
 public:
  // An error names the line and, if one is at fault, the instruction. Variables are allocated in `memory`, which must
  // outlive the module.
  static Result<std::unique_ptr<LoadedModule>> load(std::string_view text, Memory& memory);
  ~LoadedModule();

  const Code* kernel(std::string_view name) const;  // null if there is no kernel of that name
  struct Place {
    uint64_t address, bytes;
  };
  const Place* variable(std::string_view name) const;  // null if there is no variable of that name
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

// Returns the compute capability of a PTX target times 10: 80 for "sm_80", 90 for "sm_90a"; 0 for other names.
int architecture_of(std::string_view target);

}  // namespace tgc::ptx
