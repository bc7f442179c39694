// Executable: a kernel that is ready to run on a device. It has what lib/runtime needs: the code, and descriptions of
// the launch size, the buffers and the variables.
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

// A buffer parameter of a kernel: a DEFINE_GLOBAL. Reports call it `data<number>`.
struct BufferSpec {
  int64_t argument_number = 0;
  DType dtype;                // dtype of an element
  int64_t num_elements = -1;  // number of elements; -1: any number
  bool is_read = false, is_written = false;

  std::string name() const { return "data" + std::to_string(argument_number); }
  std::string describe() const;  // returns "float32, 100 elements"
};

// A variable of the kernel (a DEFINE_VAR).
struct VariableSpec {
  std::string name;
  int64_t min = 0, max = 0;
};

using VariableValues = std::map<std::string, int64_t>;

// buffers_of returns the buffers of a graph's nodes, sorted by number; it throws Failure if elements have no size.
// variables_of returns the variables, sorted by name.
std::vector<BufferSpec> buffers_of(std::span<const UOp> nodes);
std::vector<VariableSpec> variables_of(std::span<const UOp> nodes);

// An Executable must not outlive the graph that it was made from.
class Executable {
 public:
  // Makes an executable for the reference interpreter (REF) of the graph under `sink`, at any stage, or of a linear
  // list. Fails if REF cannot run a node.
  static Result<Executable> for_ref(UOp sink, const RefOptions& options = {});
  static Result<Executable> for_ref(std::span<const UOp> list, const RefOptions& options = {});
  // Makes an executable for any other device: renders a linear list for `target` and compiles it for `device`, which
  // need not be open, within `compile_seconds` (0: the compiler's default limit). Fails if devices cannot run the list
  // (for example, if it uses images), or if it cannot be rendered or does not compile.
  static Result<Executable> for_device(std::span<const UOp> list, const Target& target, Device& device,
                                       double compile_seconds = 0);

  // Makes an executable of source code that tgc did not render, with its parameters in order and its launch facts.
  // Fails if the source does not compile.
  static Result<Executable> for_source(KernelSource source, std::vector<BufferSpec> buffers,
                                       std::vector<VariableSpec> variables, ProgramInfo info, Device& device);

  const std::string& name() const { return name_; }  // with terminal colors; empty: the kernel has no name
  const std::vector<BufferSpec>& buffers() const { return buffers_; }      // in the order of the parameters
  const std::vector<VariableSpec>& variables() const { return variables_; }
  const std::optional<ProgramInfo>& info() const { return info_; }  // launch facts; REF may have none
  const KernelSource& source() const { return source_; }            // empty for REF
  const std::string& code() const { return code_; }                 // the compiled code; empty for REF

  // Loads the kernel on `device`, which must be open. It must be the device that the executable was made for, a
  // ContainedDevice of that device, or, if the executable is for REF, a make_ref_device().
  Result<std::unique_ptr<Kernel>> load(Device& device);

  // Makes the threads of a CPU kernel run one after another (KernelSource::runs_threads_in_turn).
  void set_threads_run_in_turn() { source_.runs_threads_in_turn = true; }

  // Replaces the compiled code by `code`, for experiments with other compilations of the same source.
  void set_code(std::string code) { code_ = std::move(code); }

  // Returns the launch size with these values of the variables; one thread if there are no launch facts. Fails if a
  // variable of the size has no value, or if the size does not fit into 32 bits.
  Result<LaunchSize> launch_size(const VariableValues& values) const;
  // Returns the values of the variables in the order of the parameters. Fails if a variable has no value, or one
  // outside of its range.
  Result<std::vector<int64_t>> arguments(const VariableValues& values) const;

  struct Cost {
    double num_operations = 0;  // arithmetic operations of a launch, without index math
    double bytes_moved = 0;     // bytes of all loads and stores of a launch
    double bytes_touched = 0;   // sizes of the buffers that are read, plus sizes of those that are written
  };
  // Returns tinygrad's estimates; nullopt without info(). A member is 0 if it depends on variables without a value.
  std::optional<Cost> cost(const VariableValues& values) const;

 private:
  // Sets the arrays and variables that nodes use. Fails if the elements of an array have no size.
  Status set_parameters(std::span<const UOp> nodes);

  std::string name_;
  std::vector<BufferSpec> buffers_;
  std::vector<VariableSpec> variables_;
  std::shared_ptr<const RefProgram> ref_;
  std::optional<ProgramInfo> info_;
  KernelSource source_;
  std::string code_;
};

}  // namespace tgc
