// Injects wrong rewrites on demand, to test the tools that find miscompiles. The faults come from TGC_FAULT:
//
//   RULE[@N]              the N-th application of RULE in each kernel computes something else
//   tensor:RULE[@N]       the same in each tensor graph
//   endless:RULE[@N]      from its N-th application on, RULE toggles the node's tag, so the rewrite never ends
//   shortcut:NAME[@N]     the N-th result of the fast path of shortcut NAME (shortcut.h) is changed
//   renderer:NAME.OP[@N]  renderer NAME prints the N-th OP of a kernel wrongly (renderers/misprint.h)
//   llvm:NAME             LLVM compiles kernels with the fault NAME (kLlvmFaults in lib/compile/compile.h)
//
// Several faults are separated by commas: A,B. The code that creates a Graph installs its faults, as Compilation does.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/rewrite/rewrite_override.h"
#include "lib/rewrite/shortcut.h"
#include "lib/support/result.h"

namespace tgc {

struct FaultSpec {
  enum class In : uint8_t { Kernel, Tensor, Renderer, Llvm, Endless, Shortcut };

  std::string rule;          // a rule's name; Shortcut: a shortcut's; Llvm: one of kLlvmFaults; Renderer: OP or NAME.OP
  uint64_t application = 1;  // number of the application in the graph, from 1; nested rewrites count too
  In in = In::Kernel;
  std::vector<FaultSpec> others = {};  // the other faults of a list A,B,...; their own `others` are empty

  std::string text() const;  // returns the spec in TGC_FAULT syntax
};

// Parses a TGC_FAULT value such as "add-zero@3,tensor:fold". An error lists the accepted forms.
Result<FaultSpec> parse_fault(std::string_view text);
// Overrides TGC_FAULT for compilations of this thread until the next call; nullopt restores TGC_FAULT. Used for repro
// bundles and by reduce, which counts applications in smaller graphs.
void set_fault_of_thread(std::optional<FaultSpec> fault);
// Returns this thread's override if there is one, else the parsed TGC_FAULT; nullopt if that is unset or empty.
Result<std::optional<FaultSpec>> fault_of_environment();
// Like fault_of_environment(), but returns only the faults of kind `in`.
Result<std::optional<FaultSpec>> fault_of_environment(FaultSpec::In in);

// Returns a node whose value differs from that of `u`: integer + 1, float * 2, negated bool. For a STORE, returns a
// STORE of such a value. Returns the empty UOp for nodes without a value (addresses, ranges, END).
UOp something_else(UOp u);
// Like something_else, but if `u` has no value, changes its last source with a value; if there is none, returns `u`.
UOp something_else_within(UOp u);

// RewriteOverride that injects `spec` and its `others` into one kernel or tensor graph.
class Fault : public RewriteOverride {
 public:
  explicit Fault(const FaultSpec& spec);
  UOp replace(const Hit& hit, UOp before, UOp after) override;

 private:
  void add(const FaultSpec& spec);

  struct One {
    FaultSpec spec;
    uint64_t seen = 0;  // number of applications so far
  };
  std::vector<One> all_;
};

// Changes the N-th result of one shortcut's fast path (shortcut.h), for a FaultSpec of kind Shortcut.
class ShortcutFault : public ShortcutTrial {
 public:
  explicit ShortcutFault(FaultSpec spec) : spec_(std::move(spec)) {}
  void made(const Shortcut& what, Way way, std::span<UOp> result) override;

 private:
  FaultSpec spec_;
  uint64_t seen_ = 0;
};

// For take_fault_warnings: expect_fault records that a fault was requested, fault_came_about that it was injected.
void expect_fault(const FaultSpec& spec);
void fault_came_about(const FaultSpec& spec);
// Returns the fault warnings of this process that no earlier call returned. There is a warning if a fault was never
// injected, or if the faulted application made a node without a value, which was left unchanged.
std::vector<std::string> take_fault_warnings();

}  // namespace tgc
