// Encodes isolated expressions (lib/validate/isolated_expr.h) as SMT-LIB text. lib/prove/README.md says what each op
// means; REF computes the same, and encode_test.cpp compares both on random points for every op and dtype.
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

// How floats are encoded. Each sense but the first is weaker than the one before it.
enum class FloatSense : uint8_t {
  Uninterpreted,  // each float op is an unknown function: what is proven holds bit by bit
  Exact,  // IEEE 754, NaN as one value: bit by bit, but for the payload of NaN
  ButNan,  // the same, and 0.0 equals -0.0
  Finite,  // the same, if the inputs are numbers, and no operation of the left side makes an infinity or NaN of numbers
  Rounding,  // equal up to a few units in the last place, by evaluation; no encoding
  Real,  // numbers without rounding
};
// Returns whether the sense is one of IEEE 754.
inline bool is_ieee(FloatSense s) { return s >= FloatSense::Exact && s <= FloatSense::Finite; }
// Returns the name of a sense in reports: "bit-exact", "but-nan", "finite", "rounding" or "reals".
std::string_view name_of(FloatSense sense);

// How integers are encoded: as unbounded integers, wrapped where an op of a fixed dtype may overflow, or as
// bit-vectors. Bit-vectors cannot encode an index beyond 62 bits.
enum class IntSense : uint8_t { Numbers, Bits };

struct Senses {
  FloatSense floats = FloatSense::Uninterpreted;
  IntSense ints = IntSense::Numbers;
};

// The least and the greatest value of an integer, computed with the wrapping of REF (UOp::bounds() ignores wrapping).
struct Interval {
  std::optional<Int> least, most;  // empty: unbounded
};

// Computes intervals of isolated expressions. One object serves all obligations of a graph.
class Intervals {
 public:
  explicit Intervals(const ExprIsolator& isolator) : isolator_(isolator) {}
  Interval of(UOp u, int lane);
  // Returns the number of scalars of the memory that an INDEX of isolated expressions addresses; -1 if it is not known.
  int64_t elements_of(UOp index) const;
  // Returns whether a leaf, or an element of a memory, is a number if the kernel's inputs are: no infinite constant and
  // no NaN takes part in it. Then nothing but an arithmetic operation can make it infinite.
  bool is_number(UOp u);
  // Says that registers and shared memory of the kernel may hold infinities.
  void set_infinities() { has_infinities_ = true; }
  // Returns the leaf that a LOAD reads, and the number of the element within the leaf; nullptr if it reads memory.
  const Leaf* leaf_of(UOp load, int64_t* element = nullptr) const;

 private:
  Interval compute(UOp u, int lane);
  const ExprIsolator& isolator_;
  LaneValues<Interval> known_;
  std::unordered_map<uint32_t, bool> numbers_;  // by node id
  bool has_infinities_ = false;
};

// The value of one lane of a node.
struct SmtValue {
  std::string term;
  Interval interval = {};  // bounds of an integer
  std::string defined = "";  // a formula: whether the value is defined; "": always
  // With IntSense::Numbers, the value of a sum or product before it wraps around; "": the same as `term`. Further sums
  // and products use it, and wrap around once at the end, so that Z3 can compare polynomials.
  std::string unwrapped = "";
  const std::string& exact() const { return unwrapped.empty() ? term : unwrapped; }
};

// A leaf or a load as it occurs in the text, for counterexamples.
struct SmtVariable {
  std::string name;  // in the SMT-LIB text
  UOp node;  // the leaf's node, the LOAD, or a node that was cut off
  int64_t element = 0;
  std::string at;  // of a load: the term of its offset; else ""
};

class Encoder {
 public:
  Encoder(Intervals& intervals, Senses senses) : intervals_(intervals), senses_(senses) {}

  // Makes all lanes of `u` unknown values within their intervals. Call it before the values are used.
  void cut(UOp u) { cut_.insert(u.id()); }
  // Makes `u` mean the same value as `other`.
  void alias(UOp u, UOp other) { alias_[u.id()] = other; }

  const SmtValue& value(UOp u, int lane);
  // Returns a formula: whether two values of the dtypes `da` and `db` are equal.
  std::string equal(const SmtValue& a, DType da, const SmtValue& b, DType db) const;
  std::string take_text() { return std::exchange(text_, {}); }
  const std::vector<SmtVariable>& variables() const { return variables_; }
  // The terms of all float values so far that are no constants, for FloatSense::Finite.
  const std::vector<std::string>& float_terms() const { return float_terms_; }
  // The formulas that FloatSense::Finite assumes of the values that were encoded so far.
  const std::vector<std::string>& assumptions() const { return assumptions_; }
  // Returns whether an op was encoded as an unknown function. Then a counterexample may be spurious.
  bool has_unknown() const { return has_unknown_; }
  bool has_floats() const { return has_floats_; }  // whether floats occur
  bool has_bit_ops() const { return has_bit_ops_; }  // whether bit-vectors may decide more than numbers

 private:
  SmtValue make(UOp u, int lane);
  SmtValue constant(UOp u, int lane);
  SmtValue load(UOp u);
  std::string in_bounds(const SmtValue& offset, DType d, int64_t size) const;
  SmtValue integer_op(UOp u, int lane);
  SmtValue bits_op(UOp u, int lane);
  SmtValue float_op(UOp u, int lane);
  std::string float_term(Op op, DType d, const std::vector<std::string>& x);
  void count_ieee(Op op, DType d, const std::vector<std::string>& x);
  std::string float_cast(DType from, DType to, const std::string& x);
  SmtValue bitcast(UOp u, int lane);
  SmtValue exact_cast(UOp u, int lane);
  SmtValue comparison(UOp u, int lane);
  SmtValue bool_op(UOp u, int lane);
  SmtValue cast(UOp u, int lane);
  SmtValue cast_of_int(UOp u, const SmtValue& a, int lane);
  SmtValue cast_of_float(UOp u, const SmtValue& a, DType from, int lane);  // `a` has the dtype `from`
  SmtValue where(UOp u, int lane);
  SmtValue threefry(UOp u, int lane);
  SmtValue unknown(UOp u, int lane);
  SmtValue rounded(UOp u, int lane);
  SmtValue fresh(UOp u, DType dtype, Interval interval, int64_t element, const std::string& at = "");
  SmtValue wrapped(const std::string& term, UOp u, int lane);
  SmtValue source(UOp u, size_t i, int lane);
  bool is_leaf_load(UOp u) const;
  std::string defined(UOp u, int lane);
  std::string define(DType dtype, const std::string& term);
  std::string sort(DType dtype);
  std::string literal(const Int& value, DType dtype) const;
  std::string float_literal(double value, DType dtype);
  std::string function(const std::string& name, const std::string& arguments, const std::string& result);
  void assert_interval(const std::string& term, const Interval& interval, DType dtype);
  bool is_ieee() const { return tgc::is_ieee(senses_.floats); }
  bool is_real() const { return senses_.floats == FloatSense::Real; }
  bool is_exact_real(UOp u, int depth = 0) const;
  void assume_finite(const std::string& result, const std::vector<std::string>& operands);

  Intervals& intervals_;
  const Senses senses_;
  std::set<uint32_t> cut_;
  std::map<uint32_t, UOp> alias_;
  LaneValues<SmtValue> known_;
  std::set<std::string> declared_;
  std::map<uint32_t, size_t> memory_numbers_;
  std::vector<SmtVariable> variables_;
  std::vector<std::string> float_terms_, assumptions_;
  std::string text_;
  size_t names_ = 0;
  double ieee_cost_ = 0;  // effort of the IEEE ops so far; Z3's resource limit does not count it
  bool has_unknown_ = false, has_floats_ = false, has_bit_ops_ = false;
};

// If a lane of `u` is a lane of one of its sources (GEP, VECTORIZE, CAT), returns this source and its lane.
std::optional<std::pair<UOp, int>> lane_source(UOp u, int lane);

// Thrown if a sense cannot encode an expression: an index too large for bit-vectors, for example.
struct Unencodable {
  std::string why;
};

}  // namespace tgc
