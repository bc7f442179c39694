// RewriteSlice: slices a kernel to the nodes around a rewrite. The slice is a kernel that stores only the rewritten
// node. Nodes some levels below it are replaced by elements of arrays.
#pragma once
#include <optional>

#include "lib/driver/session.h"
#include "lib/execute/execution.h"
#include "lib/reduce/test_case.h"

namespace tgc {

// Returns the case with the input of `stage` as its graph. A seeded fault then affects the first application of its
// rule from `stage` on. Returns nullopt if `stage` is no kernel stage, or the compilation does not come to it.
std::optional<TestCase> case_before_stage(const Session& session, const TestCase& c, const std::string& stage);

class RewriteSlice {
 public:
  // Returns the slice for application number `application` (from 1) of a rule in a stage. If the stage's input cannot
  // have the rewritten node, because only the stage makes its ops, returns the slice of the rewrite that contains this
  // one. Returns nullopt if there is neither.
  static std::optional<RewriteSlice> find_rewrite(const Session& session, const TestCase& c, const std::string& stage,
                                                  const std::string& rule, uint64_t application);
  // Like find_rewrite(), for the last rewrite in `stage`.
  static std::optional<RewriteSlice> find_last_rewrite(const Session& session, const TestCase& c,
                                                       const std::string& stage);

  // Returns the slice of the rewrite that contains this one; nullopt if there is none, or if the stage's input cannot
  // have the node that the outer rewrite replaces.
  std::optional<RewriteSlice> outer_slice() const;
  // levels of the rule's pattern; for a slice that outer_slice() made, graph_depth()
  size_t pattern_depth() const { return pattern_depth_; }
  size_t graph_depth() const;  // levels of the graph of the rewritten node, itself included
  // Returns a case that stores only the rewritten node. Nodes `depth` levels below it become elements of arrays, except
  // integer algebra, vectors and nodes that cannot be stored. Returns a case without a root if there is no such kernel.
  // May throw Failure.
  TestCase case_around_rewrite(size_t depth, const VariableValues& variables, const ExecuteOptions& in_ref) const;

 private:
  template <class Find>
  static std::optional<RewriteSlice> find_rewrite_where(const Session& session, const TestCase& c,
                                                        const std::string& stage, Find find);

  TestCase input_case_;
  UOp rewritten_node_;
  UOp outer_node_;      // the node that the containing rewrite replaces; empty if outer_slice() returns nullopt
  size_t pattern_depth_ = 1;
};

}  // namespace tgc
