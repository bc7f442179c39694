// Faults on demand, for testing what finds faults: TGC_FAULT=RULE[@N] makes the N-th application of a rule in each
// kernel compute something else; tensor:RULE[@N] in each tensor graph. Whoever begins a graph arms it (Compilation
// does). renderer:NAME.OP[@N] is renderers/misprint.h's, llvm:NAME lib/compile/llvm_engine's.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/rewrite/intervention.h"
#include "lib/support/result.h"

namespace tgc {

struct FaultSpec {
  enum class In : uint8_t { Kernel, Tensor, Renderer, Llvm };

  std::string rule;          // or an op's name, or that of a fault in LLVM
  uint64_t application = 1;  // counted from 1 in each kernel, in the order of its trace, rewrites inside rules too
  In in = In::Kernel;
};

// "add-zero@3". An error says what is no RULE[@N].
Result<FaultSpec> parse_fault(std::string_view text);
// What the compilations of this thread do instead of what the environment says, until it is called again; nullopt: what
// the environment says. Of a repro bundle, and for reduce, which counts applications in smaller graphs.
void set_fault_of_thread(std::optional<FaultSpec> fault);
// What is asked for of this thread, else by TGC_FAULT; nothing when that is not set, or empty.
Result<std::optional<FaultSpec>> fault_of_environment();
// The same, of a fault there and nowhere else.
Result<std::optional<FaultSpec>> fault_of_environment(FaultSpec::In in);

// Something else than a result: of an integer that plus one, of a float that times two, of a bool its negation, of a
// store the stored value so. The empty UOp: it has no value that could be another (a place, a range, an end).
UOp something_else(UOp u);

// The fault in one kernel.
class Fault : public Intervention {
 public:
  explicit Fault(FaultSpec spec, uint64_t seen = 0);
  UOp instead(const Hit& hit, UOp before, UOp after) override;
  const FaultSpec& spec() const { return spec_; }
  uint64_t seen() const { return seen_; }  // applications so far

 private:
  FaultSpec spec_;
  uint64_t seen_;
};

// What is to be said of the faults of this process so far, each once: that one made something without a value, that
// none came about.
std::vector<std::string> take_fault_warnings();

}  // namespace tgc
