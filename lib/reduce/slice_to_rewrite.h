// Slices a kernel to the few nodes around the rewrite that bisect names: makes a kernel that stores only the
// rewritten node, and replaces the nodes below those that the rule's pattern matches by elements of arrays.
#pragma once
#include <optional>

#include "lib/driver/session.h"
#include "lib/execute/execution.h"
#include "lib/reduce/test_case.h"

namespace tgc {

// Returns the case with the graph that the stage gets as input; a seeded fault then changes the first application
// of its rule there. nullopt if the compilation does not reach the stage, or the stage does not rewrite kernels.
std::optional<TestCase> at_stage(const Session& session, const TestCase& c, const std::string& stage);

class RewriteSlice {
 public:
  // Returns the slice for an application of a rule in a stage, counted from 1. nullopt if there is no such application,
  // or if the rewritten node has ops that only the stage itself makes and that its input therefore cannot have.
  static std::optional<RewriteSlice> find(const Session& session, const TestCase& c, const std::string& stage,
                                  const std::string& rule, uint64_t application);
  // Returns the slice for the last rewrite that was made before `stage` failed.
  static std::optional<RewriteSlice> find_last(const Session& session, const TestCase& c, const std::string& stage);

  // For a rewrite that is nested in another one, returns the slice of the outer rewrite; else nullopt.
  std::optional<RewriteSlice> outer() const;
  // looked_at(): how many levels the rule's pattern has; depth(): how many levels the rewritten node's graph has.
  size_t looked_at() const { return looked_at_; }
  size_t depth() const;
  // Returns the case that stores only the rewritten node. Nodes `depth` levels below that node, except index
  // algebra, become elements of arrays. Returns a case without a root if the node cannot be stored. Throws Failure.
  TestCase around(size_t depth, const VariableValues& variables, const ExecuteOptions& in_ref) const;

 private:
  template <class Find>
  static std::optional<RewriteSlice> find_where(const Session& session, const TestCase& c, const std::string& stage,
                                                Find find);

  TestCase input_;
  UOp before_, outer_;  // the rewritten node; the node of the outer rewrite, null if there is none
  size_t looked_at_ = 1;
};

}  // namespace tgc
