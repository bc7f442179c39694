// NormalForms proves pairs of values equal without Z3. In a normal form, sums of integers are sorted, wrap around once
// and have their constants folded; an op without normalization is an unknown function. Values with the same form are
// equal to the last bit; values with different forms may be equal, too.
#pragma once
#include <set>
#include <unordered_map>

#include "lib/prove/lanes.h"
#include "lib/prove/linear_sums.h"
#include "lib/validate/side_expressions.h"

namespace tgc {

class NormalForms {
 public:
  explicit NormalForms(IntervalAnalysis& intervals) : intervals_(intervals) {}
  // Returns true if the forms of one lane show that `after` equals `before` wherever `before` is defined.
  bool are_equal(const ComparedValues& v, int lane);

 private:
  using Form = uint32_t;  // the number of a normal form; values with the same number are equal
  struct Value {
    Form form;
    LinearSum sum = {};
    std::set<Form> conditions = {};  // the value is defined where all of these are true
  };
  const Value& value(UOp u, int lane);
  const Value& source_value(UOp u, size_t i, int lane);
  Value make_value(UOp u, int lane);
  Value constant_value(UOp u, int lane);
  Value load_value(UOp u);
  Value reduce_value(UOp u, int lane);
  Value where_value(UOp u, int lane);
  Value cast_value(UOp u, int lane);
  Value integer_op_value(UOp u, int lane);
  std::optional<LinearSum> bit_op_sum(UOp u, const LinearSum& a, const LinearSum& b);
  Value bool_op_value(UOp u, int lane);
  Value comparison_value(UOp u, int lane);
  Value function_value(UOp u, int lane);
  Value value_with_conditions(LinearSum sum, std::set<Form> conditions) const;
  Value value_with_conditions(const std::string& text, UOp u, int lane, std::set<Form> conditions);
  Value wrapped_value(const LinearSum& sum, UOp u, int lane, std::set<Form> conditions);
  std::set<Form> conditions_of_lane(UOp u, int lane);

  Form form(const std::string& text) { return linear_sums_.atom_number(text); }
  Form nonnegative_form(const LinearSum& s);
  Form zero_form(const LinearSum& s);
  Form negated_form(Form f);
  Form and_or_form(bool is_and, Form a, Form b);
  // Returns the form of `f` where `valid` is true: if `f` is a choice that `valid` decides, the form that is chosen.
  Form form_where_valid(Form f, Form valid) const;

  IntervalAnalysis& intervals_;
  mutable LinearSumMath linear_sums_;
  struct WhereForm {
    Form condition, first, second;
  };
  LaneValues<Value> known_values_;
  std::unordered_map<Form, WhereForm> where_forms_;
  std::unordered_map<Form, Form> negated_forms_;
  std::unordered_map<Form, std::set<Form>> conjunction_parts_;  // by conjunction: its conditions
  const Form true_form_ = linear_sums_.atom_number("true"), false_form_ = linear_sums_.atom_number("false");
};

}  // namespace tgc
