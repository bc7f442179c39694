// A failing kernel: the graph, the options, the place where it runs, its inputs and the expected results. Immutable
// once made; an Executor (executor.h) runs it again.
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

// How a run of the kernel ended.
struct Outcome {
  enum class Kind : uint8_t {
    Passes,
    Fails,    // it stores wrong values
    Dies,     // the process was killed, or REF found an out-of-bounds access
    Refused,  // a stage, the renderer, the compiler or REF rejects the graph
  };
  Kind kind = Kind::Passes;
  Diag diag = {};
  bool passes() const { return kind == Kind::Passes; }
  bool is_refused() const { return kind == Kind::Refused; }
  std::string error() const { return diag.message.empty() ? "" : diag.text(); }
};

inline Outcome refused(Diag diag) { return {Outcome::Kind::Refused, std::move(diag)}; }
inline bool is_endless(const Outcome& o) { return is_endless(o.diag); }

// Indices of the elements whose expected values are known, by array name. Empty: all elements of all arrays.
using KnownElements = std::map<std::string, std::vector<int64_t>>;

// The arrays of a kernel that ran as part of a model: what it read, and what it should have stored.
struct KernelArrays {
  Arrays inputs, expected;
  KnownElements known;
};

// Returns these elements of the arrays. Throws Failure if an array is too small.
Arrays selected(const Arrays& arrays, const KnownElements& elements);

struct FailureRepro {
  // Both must outlive the repro.
  const Session& session;
  InputGraph& in;
  RunOptions options;
  Placement place;
  std::string command = {};     // --cmd, which decides in place of a run
  std::vector<UOp> list = {};   // a linear list that runs as it stands; empty: the graph is compiled
  KernelArrays arrays = {};
  bool is_expected_by_ref = false;  // the expected values are what REF computes from the graph as it came in
  bool is_small = true;             // REF runs the whole kernel in a second or two
  std::string kernel_fault = {};    // how the kernel as it came in dies in REF; then nothing is expected of it
  std::set<std::string> variables = {};  // those of --var that the kernel has

  // "CPU:LLVM", or "REF, lowered for CUDA:CUDA:sm_80"
  std::string device() const;
  ExecuteOptions execute_options() const;
  Result<Execution> run_in_ref(Executable& kernel, const Arrays& inputs) const;
  // Returns the arrays that `kernel` takes: the inputs, and `more` for buffers that the kernel itself does not have.
  Arrays inputs_for(const Executable& kernel, const Arrays& more = {}) const;
  // Returns the expected values of these elements; computes them in REF if they are not known.
  Arrays expected_at(const KnownElements& elements) const;
};

// These throw Failure if no verdict is possible: the inputs do not fit, or REF cannot run the graph.
// Chooses where the kernel runs; the target is set even where REF runs graphs as they stand.
FailureRepro begin_repro(const Session& session, InputGraph& in, const RunOptions& options);
// Completes it: makes the inputs and computes the expected results. For a kernel that is too large for REF only a
// sample of the elements is computed.
FailureRepro with_expected(FailureRepro repro);
// Returns the same repro with every element expected; nullopt if they were already, or the kernel dies in REF.
std::optional<FailureRepro> with_all_elements(FailureRepro repro);

// Returns the command that repeats a bisection; it begins with TGC_FAULT=... if that is set.
std::string bisect_command(const RunOptions& options, const std::string& more_options);

// Writes a repro bundle of the kernel, its arrays and the verdict to the file that --repro names, and returns the path.
std::string write_bundle(const FailureRepro& repro, const Outcome& failure, const std::string& failure_text,
                         const Verdict& verdict);

}  // namespace tgc
