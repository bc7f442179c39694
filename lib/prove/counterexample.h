// Functions that evaluate the sides of a rewrite in REF at many points (a value for each leaf), to find where they
// differ and how much.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "lib/validate/side_expressions.h"

namespace tgc {

struct Counterexample {
  enum class Kind : uint8_t {
    Value,    // integers or bools differ, floats differ by more than is allowed, or one side is wrongly Invalid
    Special,  // floats differ in another way, for example in a NaN or the sign of zero
  };
  Kind kind = Kind::Value;
  // Values by name: of the leaves ("data1" for a loaded element of data1), and of both sides ("before" and "after").
  std::map<std::string, std::string> point = {};
};

// Returns the first counterexample of kind Value. Skips points at which `before` is undefined. `rlimit` limits Z3's
// work, in Z3's unit; 0: fewer points, without Z3.
std::optional<Counterexample> find_counterexample(const ExprIsolator& isolator, const ComparedValues& values,
                                                  uint64_t rlimit = 300'000);

// As above, for the pairs of values of the two sides, except comparisons of bounds. Returns nullopt if the sides are no
// values, such as stores.
std::optional<Counterexample> find_counterexample(SideIsolator& isolator, const RewriteSides& sides,
                                                  uint64_t rlimit = 300'000);

// Returns a counterexample of any kind, from points with special floats, such as NaN and -0.0.
std::optional<Counterexample> find_special_float_witness(const ExprIsolator& isolator, const ComparedValues& values);
// As above, for the pairs of values of the two sides, except comparisons of bounds.
std::optional<Counterexample> find_special_float_witness(SideIsolator& isolator, const RewriteSides& sides);

// Searches for a point at which a mutant of a rule is wrong and the rule is not: only the sides of the mutant
// (`values`) differ, or their error is far larger than that of the rule's sides (`right`). If `right` is null, each
// difference counts. Returns nullopt if no point is found.
std::optional<Counterexample> find_larger_error(const ExprIsolator& isolator, const ComparedValues& values,
                                                const ComparedValues* right);

// Returns the largest error of a rewrite of floats at random points, in units in the last place; nullopt if it was not
// measured.
std::optional<double> largest_error(SideIsolator& isolator, const RewriteSides& sides);

}  // namespace tgc
