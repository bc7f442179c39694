// Evaluates both sides of a rewrite in REF at given values of their leaves.
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

// Sets an element of an array. An integer for a float is the bits of the float.
void put_element(Array& a, size_t i, const Const& c);

class SideEvaluator {
 public:
  static constexpr size_t kPoints = 512;  // the number of points that one run evaluates, unless fewer are asked for

  // A leaf, or the element that the only load from a memory reads. Memories that are loaded several times, or inside a
  // reduction, are arrays of random numbers instead.
  struct Input {
    UOp load;  // the LOAD in the isolated expressions
    UOp leaf;  // the node of the leaf; null for a memory
    DType dtype;  // dtype of the values
    Int least, most;  // bounds of an integer
    std::string name;
  };
  using Point = std::vector<Const>;  // one value for each input; for a float, an integer is its bits

  SideEvaluator(const ExprIsolator& isolator, const ComparedValues& values, size_t points = kPoints);

  bool can_run() const { return can_run_; }
  bool has_arrays() const { return !memories_.empty(); }
  std::span<const Input> inputs() const { return inputs_; }
  // Evaluates both sides at up to as many points as one run evaluates, and returns the kind of the difference at
  // each; nullopt: none.
  std::vector<std::optional<Counterexample::Kind>> differences(std::span<const Point> points);
  // Returns the first difference of this kind; nullopt: of any kind.
  std::optional<Counterexample> first_difference(std::span<const Point> points,
                                                 std::optional<Counterexample::Kind> kind);
  // Returns the relative difference of finite floats at point `i` of the last evaluation; 0 for other values. Numbers
  // smaller than `least` count as `least`; -1: by the dtype.
  double error(size_t i, double least = -1) const;
  // Returns the largest difference of finite floats at point `i` of the last evaluation, in units of the last place.
  double units_in_last_place(size_t i) const;
  double rounding() const;  // the relative error of a few roundings
  // Returns the sides at point `i` of the last evaluation.
  Counterexample at(std::span<const Point> points, size_t i, Counterexample::Kind kind) const;

 private:
  void add_inputs(const ExprIsolator& isolator, std::span<const UOp> roots);
  void add_input(const ExprIsolator& isolator, UOp load);
  void fill_memories();
  size_t output(UOp value);
  UOp defined(UOp root);
  UOp defined_itself(UOp u) const;
  void fill(size_t input, std::span<const Point> points);
  int64_t integer(size_t output, size_t i) const { return outputs_[output].as<int64_t>()[i]; }
  bool holds(size_t output, size_t i) const { return output == kNone || integer(output, i); }

  Graph& graph_;
  const int64_t points_;
  std::vector<Input> inputs_;
  std::vector<Array> arrays_;  // arrays of the inputs
  std::vector<std::pair<int64_t, Array>> memories_;  // by the number of the DEFINE_GLOBAL
  uint64_t runs_ = 0;
  double scale_ = 1;  // the largest float of the points
  bool enlarges_rounding_ = false;  // whether a rounding error in between may become a large one
  struct Lane {
    size_t before, after, before_valid, after_valid;  // numbers of outputs; kNone: always valid
  };
  static constexpr size_t kNone = size_t(-1);
  std::optional<Counterexample::Kind> difference(const Lane& lane, size_t i) const;
  std::vector<Lane> lanes_;
  DType dtype_;
  bool is_sine_;  // true for a sine, whose size does not depend on the leaves
  size_t defined_ = kNone, after_defined_ = kNone;
  UOp at_;  // the RANGE over the points
  std::vector<UOp> stores_;
  std::vector<DType> output_dtypes_;
  std::vector<Array> outputs_;
  std::optional<RefProgram> program_;
  bool can_run_ = true;
};

// The contract of sums that select one term, such as the index of a gather: "load collapse" drops their loops.

// If `before` adds up terms of which at most one is not 0, as in sum over r < n of (r == i ? f(r) : 0), returns its
// value without the loop: 0 <= i < n ? f(i) : 0. Else returns null.
UOp selected_term(UOp before);

}  // namespace tgc
