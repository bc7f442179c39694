// Executable: a kernel that is ready to run on a device.
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

// A buffer parameter of a kernel (a DEFINE_GLOBAL).
struct BufferSpec {
  int64_t argument_number = 0;
  DType dtype;
  int64_t num_elements = -1;  // -1: any number
  bool is_read = false, is_written = false;

  std::string name() const { return "data" + std::to_string(argument_number); }
  std::string describe() const;  // returns text such as "float32, 100 elements"
};

// A variable of a kernel (a DEFINE_VAR).
struct VariableSpec {
  std::string name;
  int64_t min = 0, max = 0;
};

using VariableValues = std::map<std::string, int64_t>;

// buffers_of_nodes() returns the buffers, sorted by number; it throws Failure if elements have no size.
// variables_of_nodes() returns the variables, sorted by name.
std::vector<BufferSpec> buffers_of_nodes(std::span<const UOp> nodes);
std::vector<VariableSpec> variables_of_nodes(std::span<const UOp> nodes);

// An Executable must not outlive the graph that it was made from.
class Executable {
 public:
  // Makes an executable for the reference interpreter (REF). `sink` is the root of a graph at any stage; `list` is a
  // linear list. Fails, for example, if REF cannot run a node.
  static Result<Executable> make_for_ref(UOp sink, const RefOptions& options = {});
  static Result<Executable> make_for_ref(std::span<const UOp> list, const RefOptions& options = {});
  // Renders a linear list for `target` and compiles it for `device`, which need not be open, within `compile_seconds`
  // (0: the compiler's default). Fails, for example, if the kernel uses images, or if it cannot be rendered or
  // compiled.
  static Result<Executable> make_for_device(std::span<const UOp> list, const Target& target, Device& device,
                                            double compile_seconds = 0);

  // `source` is code that tgc did not render; `buffers` and `variables` are in the order of the kernel's parameters.
  // Fails if the code does not compile.
  static Result<Executable> make_for_source(KernelSource source, std::vector<BufferSpec> buffers,
                                            std::vector<VariableSpec> variables, ProgramInfo info, Device& device);

  const std::string& name() const { return name_; }
  const std::vector<BufferSpec>& buffers() const { return buffer_specs_; }
  const std::vector<VariableSpec>& variables() const { return variable_specs_; }
  // the launch facts; a kernel for REF may have none
  const std::optional<ProgramInfo>& info() const { return program_info_; }
  const KernelSource& source() const { return kernel_source_; }
  const std::string& code() const { return binary_code_; }

  // Loads the kernel on `device`: for REF a make_ref_device(), else the device that the executable was made for, or a
  // ContainedDevice of it, which must be open.
  Result<std::unique_ptr<Kernel>> load(Device& device);

  void set_threads_run_in_turn() { kernel_source_.runs_threads_in_turn = true; }

  void set_code(std::string code) { binary_code_ = std::move(code); }

  // Returns the size of a launch; one thread if there are no launch facts. Fails if a dimension depends on a variable
  // without a value, or is not an unsigned 32-bit number.
  Result<LaunchSize> launch_size(const VariableValues& values) const;
  // Returns the variables' values in the order of the parameters. Fails if a value is missing or out of range.
  Result<std::vector<int64_t>> variable_arguments(const VariableValues& values) const;

  struct Cost {
    double num_operations = 0;  // arithmetic operations of a launch, without index math
    double bytes_moved = 0;     // bytes that the loads and stores of a launch move
    double bytes_touched = 0;   // sizes of the buffers that are read, plus sizes of those that are written
  };
  // Returns tinygrad's estimates; nullopt without launch facts. A member is 0 if it depends on variables without a
  // value.
  std::optional<Cost> cost(const VariableValues& values) const;

 private:
  Status set_parameters(std::span<const UOp> nodes);

  std::string name_;
  std::vector<BufferSpec> buffer_specs_;
  std::vector<VariableSpec> variable_specs_;
  std::shared_ptr<const RefProgram> ref_program_;
  std::optional<ProgramInfo> program_info_;
  KernelSource kernel_source_;
  std::string binary_code_;
};

}  // namespace tgc
