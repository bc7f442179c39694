// Leaps: from a kernel to the few nodes around the rewrite that is accused, in one try. The compilation is watched
// until that rewrite comes; what it rewrites is stored alone, and what its rule does not look at becomes an element of
// an array.
#pragma once
#include <optional>

#include "lib/driver/session.h"
#include "lib/execute/execution.h"
#include "lib/reduce/test_case.h"

namespace tgc {

// The case with the graph that the stage takes in, as it is there; of a seeded fault the first application from there
// on. Nothing: it does not come to that stage, or that is none of a kernel.
std::optional<TestCase> at_stage(const Session& session, const TestCase& c, const std::string& stage);

class RewriteSlice {
 public:
  // The application of a rule in a stage that bisect names, counted from 1 in that stage. Nothing: it does not come, or
  // what it rewrites has ops that only the stage itself makes.
  static std::optional<RewriteSlice> find(const Session& session, const TestCase& c, const std::string& stage,
                                  const std::string& rule, uint64_t application);
  // The last rewrite before `stage` gives up.
  static std::optional<RewriteSlice> find_last(const Session& session, const TestCase& c, const std::string& stage);

  // Of a rewrite inside a rule: the same of what that rule rewrites.
  std::optional<RewriteSlice> outer() const;
  // How many nodes below it the rule looks, as far as its left side tells; and how many there are below it at most.
  size_t looked_at() const { return looked_at_; }
  size_t depth() const;
  // What is rewritten, stored alone, with what lies `depth` nodes below it and is no index as elements of arrays. An
  // empty graph: it cannot be stored. Throws Failure.
  TestCase around(size_t depth, const VariableValues& variables, const ExecuteOptions& in_ref) const;

 private:
  template <class Find>
  static std::optional<RewriteSlice> find_where(const Session& session, const TestCase& c, const std::string& stage, Find find);

  TestCase input_;
  UOp before_, outer_;  // in its graph; outer_: null where the rewrite is the stage's own
  size_t looked_at_ = 1;
};

}  // namespace tgc
