// SideEvaluator: evaluates both sides of a rewrite in REF for given values of their leaves.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/prove/counterexample.h"
#include "lib/runtime/array.h"
#include "lib/runtime/ref/ref.h"
#include "lib/uop/uop.h"

namespace tgc {

// Sets element `i` of an array. If the array has floats and `c` is an integer, `c` has the bits of the float.
void write_element(Array& a, size_t i, const Const& c);

class SideEvaluator {
 public:
  static constexpr size_t kPointsPerRun = 512;  // most points of one run
  // A leaf, or the element that the only load of a memory reads, outside of loops. Other memories are arrays of random
  // numbers.
  struct PointInput {
    UOp load;
    UOp leaf;         // the node of the leaf; null for an element of a memory
    DType dtype;
    Int min_value, max_value;
    std::string name;
  };
  using Point = std::vector<Const>;  // one value for each input; for a float, an integer is its bits

  SideEvaluator(const ExprIsolator& isolator, const ComparedValues& values, size_t points = kPointsPerRun);

  bool can_run() const { return can_run_; }
  bool has_random_memories() const { return !random_memories_.empty(); }
  std::span<const PointInput> inputs() const { return point_inputs_; }
  // Evaluates both sides at up to kPointsPerRun points (or as many as the constructor was given). Returns the kind of
  // the difference at each point; nullopt where the sides are equal, or their difference does not count.
  std::vector<std::optional<Counterexample::Kind>> find_differences(std::span<const Point> points);
  // Returns the first counterexample of this kind (nullopt: of any kind) among the points; nullopt if there is none.
  std::optional<Counterexample> first_difference(std::span<const Point> points,
                                                 std::optional<Counterexample::Kind> kind);
  // Returns the largest difference of finite floats at point `i` of the last evaluation, divided by the larger
  // magnitude of the two floats, but at least by `least` (-1: a default for the dtype). Returns 0 for other values.
  double relative_error(size_t i, double least = -1) const;
  // Returns the largest difference of finite floats at point `i` of the last evaluation, in units in the last place.
  double units_in_last_place(size_t i) const;
  double rounding_error() const;  // returns the relative error of a few roundings of the dtype
  // Returns the counterexample for point `i` of the last evaluation: the inputs and both sides.
  Counterexample counterexample_at(std::span<const Point> points, size_t i, Counterexample::Kind kind) const;

 private:
  void add_inputs(const ExprIsolator& isolator, std::span<const UOp> roots);
  void add_input(const ExprIsolator& isolator, UOp load);
  void fill_memories();
  size_t add_output(UOp value);
  UOp definedness_of(UOp root);
  UOp op_definedness(UOp u) const;
  void fill_input(size_t input, std::span<const Point> points);
  int64_t output_integer(size_t output, size_t i) const { return output_arrays_[output].as<int64_t>()[i]; }
  bool is_true_at(size_t output, size_t i) const { return output == kNoOutput || output_integer(output, i); }

  Graph& graph_;
  const int64_t num_points_;
  std::vector<PointInput> point_inputs_;
  std::vector<Array> input_arrays_;
  // the random arrays, with the numbers of their DEFINE_GLOBALs
  std::vector<std::pair<int64_t, Array>> random_memories_;
  uint64_t num_runs_ = 0;
  // The largest and the least magnitude of a point's finite floats, without zeros and floats given as bits. The largest
  // is at least 1, or 8 if there are random arrays; the least is at most 1. For a sine, both are constants.
  double largest_magnitude_ = 1, least_magnitude_ = 1;
  bool has_fp8_rounding_ = false;   // a side has arithmetic on floats of 8 bits, or a cast to them
  bool has_enlarged_rounding_ = false;  // an intermediate rounding error may become a large one
  struct LaneOutputs {
    size_t before, after, before_valid, after_valid;  // indices of outputs; kNoOutput if the value is always valid
  };
  static constexpr size_t kNoOutput = size_t(-1);
  std::optional<Counterexample::Kind> output_difference(const LaneOutputs& lane, size_t i) const;
  std::vector<LaneOutputs> lane_outputs_;
  DType dtype_;
  bool is_sine_;  // the value is a sine, whose magnitude does not depend on the leaves
  size_t defined_output_ = kNoOutput, after_defined_output_ = kNoOutput;
  UOp point_range_;
  std::vector<UOp> output_stores_;
  std::vector<Array> output_arrays_;
  std::optional<RefProgram> ref_program_;
  bool can_run_ = true;
};

// The only term of a sum that is not 0, as in a gather: the contract (contracts.h) of the stage "load collapse".
struct SelectedTerm {
  UOp value;
  // The terms are products (r == i) * f(r): `value` is equal to the sum only if f(r) is finite for each r.
  bool needs_finite_terms = false;
};
// If it is clear that at most one term of the sum `before` is not 0, as in a sum over r < n of (r == i ? f(r) : 0),
// returns the value without the loop: 0 <= i < n ? f(i) : 0. Else the returned `value` is null.
SelectedTerm select_term(UOp before);

}  // namespace tgc
