// Slices a kernel to the few nodes around the blamed rewrite. The compilation is watched until that rewrite; the
// rewritten node is stored alone, and nodes that the rule does not look at become elements of arrays.
#pragma once
#include <optional>

#include "lib/driver/session.h"
#include "lib/execute/execution.h"
#include "lib/reduce/test_case.h"

namespace tgc {

// Returns the case with the graph that the stage takes in; a seeded fault counts from the first application there.
// Nothing if the compilation does not reach the stage, or it is no stage of kernels.
std::optional<TestCase> at_stage(const Session& session, const TestCase& c, const std::string& stage);

class RewriteSlice {
 public:
  // Finds an application of a rule in a stage, counted from 1. Nothing if it does not occur, or the rewritten node has
  // ops that only the stage itself makes.
  static std::optional<RewriteSlice> find(const Session& session, const TestCase& c, const std::string& stage,
                                  const std::string& rule, uint64_t application);
  // Finds the last rewrite before `stage` fails.
  static std::optional<RewriteSlice> find_last(const Session& session, const TestCase& c, const std::string& stage);

  // For a rewrite inside a rule, returns the slice of the outer rewrite.
  std::optional<RewriteSlice> outer() const;
  // How many levels of nodes the rule's pattern has, and how many levels the rewritten node has.
  size_t looked_at() const { return looked_at_; }
  size_t depth() const;
  // Returns the case that stores the rewritten node alone; nodes `depth` levels below it that are no index become
  // elements of arrays. A case without a root if it cannot be stored. Throws Failure.
  TestCase around(size_t depth, const VariableValues& variables, const ExecuteOptions& in_ref) const;

 private:
  template <class Find>
  static std::optional<RewriteSlice> find_where(const Session& session, const TestCase& c, const std::string& stage,
                                                Find find);

  TestCase input_;
  UOp before_, outer_;  // in its graph; outer_ is null for a rewrite of the stage itself
  size_t looked_at_ = 1;
};

}  // namespace tgc
