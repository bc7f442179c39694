// SmtEncoder encodes isolated expressions (lib/validate/isolated_expr.h) as SMT-LIB text. IntervalAnalysis bounds them.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/prove/lanes.h"
#include "lib/validate/isolated_expr.h"

namespace tgc {

// How floats are encoded. A proof in one sense says less than a proof in any sense above it.
enum class FloatSense : uint8_t {
  Uninterpreted,  // each float op is an unknown function: the sides are equal to the last bit
  Exact,          // IEEE 754, where all NaNs are one value: equal to the last bit, except for the payload of NaNs
  ButNan,         // as Exact, and 0.0 equals -0.0
  Finite,         // as ButNan, if inputs are finite and the left side makes no infinity or NaN from finite numbers
  Rounding,       // equal up to a few units in the last place; never encoded
  Real,           // floats are real numbers, without rounding
};
// Returns true if the sense encodes floats as IEEE 754 does.
inline bool is_ieee(FloatSense s) { return s >= FloatSense::Exact && s <= FloatSense::Finite; }
// Returns the name of a sense in reports, such as "bit-exact" for Uninterpreted.
std::string_view name_of(FloatSense sense);

// How integers are encoded. Numbers: as unbounded integers, whose ops wrap around if their dtype has a width that the
// result may exceed. Bits: as bit-vectors.
enum class IntSense : uint8_t { Numbers, Bits };

struct ProofSenses {
  FloatSense float_sense = FloatSense::Uninterpreted;
  IntSense int_sense = IntSense::Numbers;
  int index_width_bits = 64;  // for Bits: the number of bits of an index
};

// Bounds of an integer (nullopt: unknown), where ops wrap around as in REF; UOp::bounds() ignores wrapping.
struct Interval {
  std::optional<Int> lower_bound, upper_bound;
};

// Computes and caches facts about the nodes of isolated expressions.
class IntervalAnalysis {
 public:
  explicit IntervalAnalysis(const ExprIsolator& isolator) : isolator_(isolator) {}
  Interval interval_of(UOp u, int lane);
  // Returns the number of scalars in the memory that an INDEX of an isolated expression addresses; -1 if not known.
  int64_t num_indexed_elements(UOp index) const;
  // Returns true if FloatSense::Finite assumes that a leaf, or an element of a memory, is finite.
  bool is_finite_value(UOp u);
  // Must be called if memory to which the kernel stores may contain infinities.
  void allow_infinities() { has_infinities_ = true; }
  // Returns the leaf that a LOAD reads, and sets `element` to the number of the element within the leaf; null if the
  // LOAD reads memory.
  const ExprLeaf* leaf_of_load(UOp load, int64_t* element = nullptr) const;

 private:
  Interval make_interval(UOp u, int lane);
  const ExprIsolator& isolator_;
  LaneValues<Interval> known_intervals_;
  std::unordered_map<uint32_t, bool> known_finiteness_;
  bool has_infinities_ = false;
};

struct SmtValue {
  std::string term;
  Interval interval = {};
  std::string definedness = "";  // the formula under which the value is defined; "" if it always is
  // With IntSense::Numbers: the term before it wraps around; "" if it is the same as `term`. Z3 can compare polynomials
  // that wrap around once, at the end.
  std::string unwrapped_term = "";
  const std::string& exact_term() const { return unwrapped_term.empty() ? term : unwrapped_term; }
};

// A variable of the text: the unknown value of a leaf, of a load, or of a node that was cut off or is not encoded.
struct SmtVariable {
  std::string name;
  UOp node;
  int64_t element = 0;
  std::string offset_term;  // for an element of a memory: the term of its offset; else ""
};

class SmtEncoder {
 public:
  SmtEncoder(IntervalAnalysis& intervals, ProofSenses senses) : intervals_(intervals), senses_(senses) {}

  // Makes all lanes of `u` unknown values within their intervals. Must be called before the values are used.
  void cut_at_node(UOp u) { cut_nodes_.insert(u.id()); }
  // Encodes `u` as the value of `other`.
  void set_node_alias(UOp u, UOp other) { node_aliases_[u.id()] = other; }

  const SmtValue& value(UOp u, int lane);  // returns the encoded value of one lane; throws UnencodableExpr
  std::string equality_formula(const SmtValue& a, DType da, const SmtValue& b, DType db) const;
  std::string take_smt_text() { return std::exchange(smt_text_, {}); }  // returns the text since the last call
  const std::vector<SmtVariable>& variables() const { return variables_; }
  // Returns the formulas that FloatSense::Finite assumes about the values that were encoded so far.
  const std::vector<std::string>& assumptions() const { return assumptions_; }
  // Returns true if an ALU op or a CAST was encoded as an unknown function or value: a counterexample may be spurious.
  bool has_unknown() const { return has_unknown_; }
  bool has_floats() const { return has_floats_; }
  bool has_bit_ops() const { return has_bit_ops_; }  // true if IntSense::Bits may prove more than IntSense::Numbers

 private:
  SmtValue encode_value(UOp u, int lane);
  SmtValue constant_value(UOp u, int lane);
  SmtValue load_value(UOp u);
  std::string bounds_formula(const SmtValue& offset, DType d, int64_t size) const;
  SmtValue integer_op_value(UOp u, int lane);
  SmtValue bits_op_value(UOp u, int lane);
  SmtValue float_op_value(UOp u, int lane);
  std::string real_reciprocal(UOp u, const SmtValue& value, int lane);
  std::string float_term(Op op, DType d, const std::vector<std::string>& x);
  void add_ieee_cost(Op op, DType d, const std::vector<std::string>& x);
  std::string float_cast(DType from, DType to, const std::string& x);
  SmtValue bitcast_value(UOp u, int lane);
  SmtValue exact_cast_value(UOp u, int lane);
  SmtValue comparison_value(UOp u, int lane);
  SmtValue bool_op_value(UOp u, int lane);
  SmtValue cast_value(UOp u, int lane);
  SmtValue value_of_int_cast(UOp u, const SmtValue& a, int lane);
  SmtValue value_of_float_cast(UOp u, const SmtValue& a, DType from, int lane);
  SmtValue where_value(UOp u, int lane);
  SmtValue threefry_value(UOp u, int lane);
  SmtValue unknown_value(UOp u, int lane);
  SmtValue rounded_value(UOp u, int lane);
  SmtValue fresh_value(UOp u, DType dtype, Interval interval, int64_t element, const std::string& at = "");
  SmtValue wrapped_value(const std::string& term, UOp u, int lane);
  SmtValue source_value(UOp u, size_t i, int lane);
  bool is_leaf_load(UOp u) const;
  std::string definedness(UOp u, int lane);
  std::string define_term(DType dtype, const std::string& term);
  std::string smt_sort(DType dtype);
  int bit_width(DType dtype) const;
  void check_index_fits(const Interval& interval) const;
  std::string extended_term(const std::string& term, DType dtype, int bits) const;
  std::string int_literal(const Int& value, DType dtype) const;
  std::string float_literal(double value, DType dtype);
  std::string declare_function(const std::string& name, const std::string& arguments, const std::string& result);
  void assert_interval(const std::string& term, const Interval& interval, DType dtype);
  bool is_ieee() const { return tgc::is_ieee(senses_.float_sense); }
  bool is_over_reals() const { return senses_.float_sense == FloatSense::Real; }
  bool is_exact_real(UOp u, int depth = 0) const;
  void assume_finite(const std::string& result, const std::vector<std::string>& operands);

  IntervalAnalysis& intervals_;
  const ProofSenses senses_;
  std::set<uint32_t> cut_nodes_;
  std::map<uint32_t, UOp> node_aliases_;
  LaneValues<SmtValue> encoded_values_;
  std::set<std::string> declared_names_;
  std::map<uint32_t, size_t> memory_numbers_;
  std::vector<SmtVariable> variables_;
  std::vector<std::string> assumptions_;
  std::string smt_text_;
  size_t num_names_ = 0;
  double ieee_cost_ = 0;  // estimated effort of the IEEE ops so far, which Z3's resource limit does not count
  bool has_unknown_ = false, has_floats_ = false, has_bit_ops_ = false;
};

// If a lane of `u` is a lane of one of its sources (GEP, VECTORIZE, CAT), returns this source and its lane.
std::optional<std::pair<UOp, int>> lane_source(UOp u, int lane);

// Thrown if an expression cannot be encoded in the senses.
struct UnencodableExpr {
  std::string reason;
  bool is_index_too_narrow = false;  // a larger ProofSenses::index_width_bits may suffice
};

}  // namespace tgc
