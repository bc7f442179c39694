// find_counterexample: searches for a point (a value for each leaf) at which the two sides of a rewrite differ. REF
// evaluates both sides at each point, so a counterexample is always confirmed. Tries small numbers first, then limits
// of dtypes and random numbers, then the models that Z3 finds. Other functions try special floats, and measure errors.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "lib/validate/side_expressions.h"

namespace tgc {

struct Counterexample {
  enum class Kind : uint8_t {
    Value,    // integers or bools differ, floats differ by more than is allowed, or only one side is valid
    Special,  // a NaN, an infinity, or the sign of zero differs
  };
  Kind kind = Kind::Value;
  // By name: the value of each leaf ("data1" for a loaded element of data1), and the values of the two sides ("before"
  // and "after").
  std::map<std::string, std::string> point = {};
};

// Returns the first counterexample of kind Value; nullopt if none is found, or if REF cannot evaluate the sides. Skips
// points at which `before` is undefined (lib/prove/README.md). `rlimit` limits Z3's work, in Z3's unit; with 0, Z3 is
// not used, and fewer points are tried.
std::optional<Counterexample> find_counterexample(const ExprIsolator& isolator, const ComparedValues& values,
                                                  uint64_t rlimit = 300'000);

// Returns the first counterexample for any pair of values of the two sides. Also returns nullopt for sides that are no
// values, such as stores.
std::optional<Counterexample> find_counterexample(SideIsolator& isolator, const Sides& sides,
                                                  uint64_t rlimit = 300'000);

// Returns a counterexample of any kind, from points with NaN, infinities, -0.0, and the smallest and largest floats.
std::optional<Counterexample> find_special_counterexample(const ExprIsolator& isolator, const ComparedValues& values);
// Returns a counterexample of any kind for any pair of values of the two sides. Also returns nullopt for sides that are
// no values, such as stores.
std::optional<Counterexample> find_special_counterexample(SideIsolator& isolator, const Sides& sides);

// Searches for a point at which a mutant of a rule is wrong and the rule is not. `values` are the sides of the mutant,
// and `right` the sides of the rule. Returns a point at which only the sides of the mutant differ, or at which their
// error is more than 100 times the rule's error and that of a few roundings, or at which tiny values of the mutant's
// sides clearly differ, and those of the rule's sides do not. If `right` is null, returns a point at which the sides of
// the mutant differ in any bit of a number. Returns nullopt if no such point is found.
std::optional<Counterexample> find_larger_error(const ExprIsolator& isolator, const ComparedValues& values,
                                                const ComparedValues* right);

// Returns the largest error of a rewrite of floats at random points, in units in the last place. Returns nullopt if the
// error is not known, for example because the sides are no floats, are large, or cannot be evaluated without other
// parts of the kernel.
std::optional<double> largest_error(SideIsolator& isolator, const Sides& sides);

}  // namespace tgc
