// Executable: a kernel made ready to run on a device. From UOps to what lib/runtime takes: the code, the launch size,
// which arrays and variables it wants. `tgc run` runs one at a time, a model many with shared buffers.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/runtime/device.h"
#include "lib/runtime/ref/ref.h"
#include "passes/pipeline.h"
#include "passes/program.h"

namespace tgc {

// A DEFINE_GLOBAL: the array `data<number>`.
struct BufferSpec {
  int64_t number = 0;
  DType dtype;            // a scalar
  int64_t size = -1;      // elements, -1: whatever it is given
  bool read = false, written = false;

  std::string name() const { return "data" + std::to_string(number); }
  std::string describe() const;  // "float32, 100 elements"
};

// A DEFINE_VAR.
struct VariableSpec {
  std::string name;
  int64_t min = 0, max = 0;
};

using VariableValues = std::map<std::string, int64_t>;

// The buffers and variables of a graph's nodes, buffers by number, variables by name. Throws Failure for a buffer of
// void.
std::vector<BufferSpec> buffers_of(std::span<const UOp> nodes);
std::vector<VariableSpec> variables_of(std::span<const UOp> nodes);

// It must not outlive the graph it was made from.
class Executable {
 public:
  // For REF: the graph under `sink`, at any stage of the pipeline, or a linear list, run as it stands.
  static Result<Executable> for_ref(UOp sink, const RefOptions& options = {});
  static Result<Executable> for_ref(std::span<const UOp> list, const RefOptions& options = {});
  // For any other device: a linear list rendered for `target` and compiled for `device`, which need not be open, within
  // `compile_seconds` (0: as long as compilers may take).
  static Result<Executable> for_device(std::span<const UOp> list, const Target& target, Device& device,
                                       double compile_seconds = 0);

  const std::string& name() const { return name_; }  // the kernel's, with colours; empty when it has none
  const std::vector<BufferSpec>& buffers() const { return buffers_; }      // in the order of the parameters
  const std::vector<VariableSpec>& variables() const { return variables_; }
  const std::optional<ProgramInfo>& info() const { return info_; }         // of a linear list
  const KernelSource& source() const { return source_; }                   // of REF empty
  const std::string& code() const { return code_; }                        // what its compiler made; of REF empty

  // The kernel on an open device, the one it was made for, or for REF make_ref_device's.
  Result<std::unique_ptr<Kernel>> load(Device& device);

  // From now on it is `code`, which another compilation made of its source.
  void set_code(std::string code) { code_ = std::move(code); }

  // Its groups with these values of the variables; an error names a variable without a value, or a value out of the
  // variable's range.
  Result<LaunchSize> launch_size(const VariableValues& values) const;
  Result<std::vector<int64_t>> arguments(const VariableValues& values) const;  // in the order of the parameters

  struct Cost {
    double ops = 0, lds = 0, mem = 0;  // operations; bytes loaded and stored; bytes of the buffers touched
  };
  std::optional<Cost> cost(const VariableValues& values) const;  // of a linear list

 private:
  std::string name_;
  std::vector<BufferSpec> buffers_;
  std::vector<VariableSpec> variables_;
  std::shared_ptr<const RefProgram> ref_;
  std::optional<ProgramInfo> info_;  // of a linear list
  KernelSource source_;
  std::string code_;
};

}  // namespace tgc
