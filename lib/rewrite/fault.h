// Seeds faults in the compiler, to test the tools that find miscompiles. The environment variable TGC_FAULT states
// them (N is 1 by default):
//
//   RULE[@N]              the N-th application of RULE in each kernel makes a node with a different value
//   tensor:RULE[@N]       the N-th application of RULE in each tensor graph makes a node with a different value
//   endless:RULE[@N]      from its N-th application in a kernel on, RULE toggles the node's tag: the rewrite never ends
//   shortcut:NAME[@N]     the N-th result of the fast path of shortcut NAME (shortcut.h) is changed
//   renderer:[NAME.]OP[@N]  renderer NAME (default: every) prints the N-th OP wrongly (renderers/misprint.h)
//   llvm:NAME             LLVM compiles kernels with the fault NAME (kLlvmFaults in lib/compile/compile.h)
//
// Several faults are separated by commas: A,B. A Compilation (lib/compilation) seeds those of rules and shortcuts.
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
  enum class Kind : uint8_t { Kernel, Tensor, Renderer, Llvm, Endless, Shortcut };

  std::string rule;          // a rule, a shortcut, an LLVM fault (kLlvmFaults), or for Renderer: OP or RENDERER.OP
  // the N of "@N"; applications in a graph, also in nested rewrites, are numbered from 1
  uint64_t application_number = 1;
  Kind kind = Kind::Kernel;
  // for a list A,B,...: the faults B,...
  std::vector<FaultSpec> other_faults = {};

  std::string text() const;  // returns the spec in TGC_FAULT syntax
};

// Parses a value of TGC_FAULT, such as "add-zero@3,tensor:fold". The error message lists the accepted forms.
Result<FaultSpec> parse_fault(std::string_view text);
// Sets the fault that later compilations of this thread use instead of TGC_FAULT; nullopt lets them use TGC_FAULT
// again.
void set_fault_of_thread(std::optional<FaultSpec> fault);
// Returns the fault that set_fault_of_thread set, else the parsed TGC_FAULT; nullopt if TGC_FAULT is unset or empty.
// Returns an error if TGC_FAULT is malformed.
Result<std::optional<FaultSpec>> fault_of_environment();
// Like fault_of_environment(), but returns only the faults of one kind.
Result<std::optional<FaultSpec>> fault_of_environment(FaultSpec::Kind kind);

// Returns a node with a different value than `u`: an integer plus 1, a float times 2 (0, infinity and NaN stay), a
// negated bool. For a STORE, returns a STORE of a different value. Returns the empty UOp if `u` has no value, such as
// an address, a range or an END.
UOp change_value(UOp u);
// Like change_value, but if `u` has no value or is a VECTORIZE, changes the last source that can be changed, at any
// depth, except a CONST, RANGE or DEVICE. Returns `u` if nothing can be changed.
UOp change_some_value(UOp u);

// A RewriteOverride that seeds the faults `spec` and `spec.other_faults` in one kernel or tensor graph.
class FaultOverride : public RewriteOverride {
 public:
  explicit FaultOverride(const FaultSpec& spec);
  UOp choose_result(const RuleHit& hit, UOp before, UOp after) override;

 private:
  void add_seeded_fault(const FaultSpec& spec);

  struct SeededFault {
    FaultSpec spec;
    uint64_t num_applications = 0;
  };
  std::vector<SeededFault> seeded_faults_;
};

// Changes the N-th result of one shortcut's fast path (shortcut.h), for a FaultSpec of kind Shortcut.
class ShortcutFault : public ShortcutTrial {
 public:
  explicit ShortcutFault(FaultSpec spec) : fault_spec_(std::move(spec)) {}
  void review_result(const Shortcut& what, ShortcutWay way, std::span<UOp> result) override;

 private:
  FaultSpec fault_spec_;
  uint64_t num_seen_results_ = 0;
};

// Record that a fault was requested, and that it was seeded. extract_fault_warnings compares the two.
void record_requested_fault(const FaultSpec& spec);
void record_seeded_fault(const FaultSpec& spec);
// Returns the new warnings since the last call: about requested faults that are not seeded, and about seeded faults
// that could not change the node.
std::vector<std::string> extract_fault_warnings();

}  // namespace tgc
