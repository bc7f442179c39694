// FailureRepro: all that is needed to repeat a failing run of a kernel.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/bisect/verdict.h"
#include "lib/execute/lower.h"
#include "lib/run/failure_signature.h"

namespace tgc {

struct KernelOutcome {
  enum class Kind : uint8_t {
    Passes,
    Fails,    // the kernel stores wrong values or, with --cmd, the command exits with 0
    Dies,     // the run ended with an error, such as a crash, a timeout, or an out-of-bounds access in REF
    Refused,  // a stage, the renderer, the compiler or REF rejects the graph
  };
  Kind kind = Kind::Passes;
  Diag diag = {};
  bool passes() const { return kind == Kind::Passes; }
  bool is_refused() const { return kind == Kind::Refused; }
  std::string error() const { return diag.message.empty() ? "" : diag.text(); }
};

inline KernelOutcome refused_outcome(Diag diag) { return {KernelOutcome::Kind::Refused, std::move(diag)}; }
// true if the rewriting of a stage did not end
inline bool is_endless(const KernelOutcome& o) { return is_endless(o.diag); }

using KnownElements = std::map<std::string, std::vector<int64_t>>;

struct KernelArrays {
  Arrays inputs, expected;
  KnownElements known_elements;
};

// Returns the elements of the arrays that `elements` lists. Skips missing arrays. Throws Failure if an array is too
// small.
Arrays selected_elements(const Arrays& arrays, const KnownElements& elements);

struct FailureRepro {
  const Session& session;
  InputGraph& input_graph;
  RunOptions options;
  Placement placement;
  std::string test_command = {};         // --cmd: a shell command that decides, instead of a run, whether a graph fails
  std::vector<UOp> linear_list = {};     // if not empty: the linear list to run instead of compiling the graph
  KernelArrays arrays = {};              // set by add_expected_results(), or from the run of a model or tensor graph
  bool is_expected_by_ref = false;       // the expected values are those that REF computes from the input graph
  bool is_small = true;                  // REF runs the whole kernel, and not only a sample
  std::string kernel_fault = {};         // the error if the input graph dies in REF; there are no expected values then
  std::set<std::string> variables = {};  // the names among those of --var that are variables of the kernel

  // Returns the device and target as text: "CPU:LLVM", or "REF, lowered for CUDA:CUDA:sm_80".
  std::string device() const;
  ExecuteOptions execute_options() const;
  Result<ExecutionResult> run_in_ref(Executable& kernel, const Arrays& inputs) const;
  // Returns the arrays for the buffers of `kernel`: the inputs, and those of `more` for buffers that the failing kernel
  // does not have.
  Arrays inputs_for_kernel(const Executable& kernel, const Arrays& more = {}) const;
  Arrays expected_elements(const KnownElements& elements) const;
};

// Starts a repro: chooses where the kernel runs. Throws Failure if an option does not fit.
FailureRepro begin_repro(const Session& session, InputGraph& in, const RunOptions& options);
// Returns `repro` with inputs and expected results: from a file, from the device that --reference names, or from REF.
// If the kernel dies in REF, sets kernel_fault instead. Throws Failure if the results cannot be computed, or if the
// kernel stores nothing.
FailureRepro add_expected_results(FailureRepro repro);
// Returns `repro` with the expected values of all elements; nullopt if it has them already, or the kernel dies in REF.
std::optional<FailureRepro> add_all_expected_elements(FailureRepro repro);

// Returns the command that repeats a bisection. It has only the input, --inputs, --expect, --reference and --seed from
// `options`. `more_options` follows the input and begins with a blank.
std::string bisect_command(const RunOptions& options, const std::string& more_options);

// Writes a repro bundle of the kernel, its arrays and the verdict to the file that --repro names, and returns the path.
// Throws Failure if it cannot be written.
std::string write_bundle(const FailureRepro& repro, const KernelOutcome& failure, const std::string& failure_text,
                         const Verdict& verdict);

}  // namespace tgc
