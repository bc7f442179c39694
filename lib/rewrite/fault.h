// Faults on demand, for testing what finds faults: TGC_FAULT=RULE[@N] makes the N-th application of a rule in each
// kernel compute something else, tensor:RULE[@N] in each tensor graph; from endless:RULE[@N] on a rule undoes what it
// does; shortcut:NAME[@N] is of the N-th time that a shortcut is taken. Whoever begins a graph arms them (Compilation
// does). renderer:NAME.OP[@N] is renderers/misprint.h's, llvm:NAME lib/compile/llvm_engine's. Several stand side by
// side: A,B.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/rewrite/intervention.h"
#include "lib/rewrite/shortcut.h"
#include "lib/support/result.h"

namespace tgc {

struct FaultSpec {
  enum class In : uint8_t { Kernel, Tensor, Renderer, Llvm, Endless, Shortcut };

  std::string rule;          // or an op's name, or that of a shortcut, or of a fault in LLVM
  uint64_t application = 1;  // counted from 1 in each kernel, in the order of its trace, rewrites inside rules too
  In in = In::Kernel;
  std::vector<FaultSpec> others = {};  // that are asked for besides, each alone

  std::string text() const;  // as it is asked for
};

// "add-zero@3", "add-zero@3,tensor:fold". An error says what is no RULE[@N].
Result<FaultSpec> parse_fault(std::string_view text);
// What the compilations of this thread do instead of what the environment says, until it is called again; nullopt: what
// the environment says. Of a repro bundle, and for reduce, which counts applications in smaller graphs.
void set_fault_of_thread(std::optional<FaultSpec> fault);
// What is asked for of this thread, else by TGC_FAULT; nothing when that is not set, or empty.
Result<std::optional<FaultSpec>> fault_of_environment();
// The same, of faults there and nowhere else.
Result<std::optional<FaultSpec>> fault_of_environment(FaultSpec::In in);

// Something else than a result: of an integer that plus one, of a float that times two, of a bool its negation, of a
// store the stored value so. The empty UOp: it has no value that could be another (a place, a range, an end).
UOp something_else(UOp u);
// The same; of what has no value, with something else in a part of it that has one; else `u` itself.
UOp something_else_within(UOp u);

// The faults in one kernel, or in one tensor graph, of which `spec` is the first.
class Fault : public Intervention {
 public:
  explicit Fault(const FaultSpec& spec);
  UOp instead(const Hit& hit, UOp before, UOp after) override;

 private:
  void add(const FaultSpec& spec);

  struct One {
    FaultSpec spec;
    uint64_t seen = 0;  // applications so far
  };
  std::vector<One> all_;
};

// The fault in a shortcut: it makes something else where it is gone the quick way.
class ShortcutFault : public ShortcutTrial {
 public:
  explicit ShortcutFault(FaultSpec spec) : spec_(std::move(spec)) {}
  void made(const Shortcut& what, Way way, std::span<UOp> result) override;

 private:
  FaultSpec spec_;
  uint64_t seen_ = 0;
};

// Whoever looks whether a fault is to be, says so; and whoever makes it, that it came about.
void expect_fault(const FaultSpec& spec);
void fault_came_about(const FaultSpec& spec);
// What is to be said of the faults of this process so far, each once: that one made something without a value, that
// one never came about.
std::vector<std::string> take_fault_warnings();

}  // namespace tgc
