// NanOriginFinder finds the operations of a kernel that make a NaN of numbers, or an infinity of finite numbers: it
// evaluates the AST at one element of an output, and follows the bad value back.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/dtype/const.h"
#include "lib/execute/executable.h"
#include "lib/runtime/array.h"
#include "lib/uop/graph.h"

namespace tgc {

// A step from the origin of a bad value (a NaN or an infinity) to the output: the operation that makes it, or a load of
// it.
struct NanStep {
  UOp node;              // the node of the AST
  std::string operation_text;      // the operation with its values, such as "log2(0) = -inf"
  std::string operands_text;  // how the operands were computed, such as "0 = exp2(-250.1)*0.99"; may be empty
  std::string loop_values_text;     // values of the loops around the node, such as "r0=7, r1=6"; may be empty
  std::string loaded_array;    // name of the array from which the bad value was loaded; empty if the kernel computed it
};

class NanOriginFinder {
 public:
  // `ast` is the kernel's AST in tgc's IR. `arrays` has the arrays that the kernel reads, by name ("data1").
  NanOriginFinder(UOp ast, const Arrays& arrays, const VariableValues& variables)
      : ast_(ast), input_arrays_(arrays), variable_values_(variables) {}

  // Returns the steps to an element of an output, the origin first. Fails if the element is not stored, if it is finite
  // in REF's arithmetic, or if the AST cannot be evaluated at one element.
  Result<std::vector<NanStep>> find_steps(std::string_view output, int64_t element);

 private:
  struct KnownNode {
    std::vector<UOp> ranges;
    std::vector<int64_t> range_values;
    bool has_value = false;
    Const value;
  };

  Const value_of(UOp u);
  Const compute_value(UOp u);
  Const load_value(UOp index);
  Const cast_value(UOp u);
  Const apply_operation(UOp u, std::span<const Const> operands);
  Const reduce_value(UOp u);
  const std::vector<UOp>& ranges_of(UOp u);
  // Calls `each` for every iteration of the loops `ranges`, with the loops' values in loop_values_, until `each`
  // returns false. Then loop_values_ keeps the values of this iteration.
  template <class Each>
  void for_each_iteration(std::span<const UOp> ranges, Each&& each);
  bool is_stored_at(UOp store, int64_t element);
  void count_work_step();
  template <class Recurse>
  auto call_one_level_deeper(Recurse&& recurse) -> decltype(recurse());
  void follow_origin(UOp u);
  void follow_operands(UOp u);
  void follow_reduce(UOp u);
  void add_step(UOp u, std::span<const Const> operands, Const result);
  std::string origin_text_of(UOp operand);
  std::string loop_values_text() const;

  UOp ast_;
  const Arrays& input_arrays_;
  const VariableValues& variable_values_;
  std::unordered_map<UOp, KnownNode> known_nodes_;
  std::unordered_map<UOp, int64_t> loop_values_;
  std::vector<UOp> loop_nest_;
  std::vector<NanStep> nan_steps_;
  int64_t num_work_steps_ = 0;
  int num_followed_nodes_ = 0;
  int recursion_depth_ = 0;
};

}  // namespace tgc
