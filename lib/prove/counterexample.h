// find_counterexample: searches values of leaves for which the two sides of a rewrite differ. REF evaluates both sides
// at each point, so a counterexample is always confirmed. The points are small numbers first, then the limits of dtypes
// and random numbers, then the models that Z3 finds.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "lib/validate/side_expressions.h"

namespace tgc {

struct Counterexample {
  enum class Kind : uint8_t {
    Value,    // integers or bools differ, or floats differ by more than rounding explains
    Special,  // a NaN, an infinity, or the sign of zero differs
  };
  Kind kind = Kind::Value;
  // By name: the value of each leaf ("data1" for an element of this memory), and the values of the sides, "before" and
  // "after".
  std::map<std::string, std::string> point = {};
};

// Returns the first counterexample of kind Value; nullopt if none is found, or if REF cannot evaluate the sides. Skips
// points at which `before` is undefined (lib/prove/README.md). `rlimit` is the limit for Z3's work; with 0, Z3 is not
// used, and fewer points are tried.
std::optional<Counterexample> find_counterexample(const ExprIsolator& isolator, const ComparedValues& values,
                                                  uint64_t rlimit = 300'000);

// Returns the first counterexample for any pair of values of the two sides; nullopt for sides that are stores.
std::optional<Counterexample> find_counterexample(SideIsolator& isolator, const Sides& sides,
                                                  uint64_t rlimit = 300'000);

// Returns a counterexample of any kind, from points with NaN, infinities, -0.0, and the smallest and largest floats.
std::optional<Counterexample> find_special_counterexample(const ExprIsolator& isolator, const ComparedValues& values);
// Returns a counterexample of any kind for any pair of values of the two sides; nullopt for sides that are stores.
std::optional<Counterexample> find_special_counterexample(SideIsolator& isolator, const Sides& sides);

// For a wrong variant of a rule whose right side is an approximation. `values` are the sides of the variant, and
// `right` those of the rule. Returns a point at which `values` differ and `right` do not, or at which the error of
// `values` is more than 100 times the error of `right` and of a few roundings, or at which tiny values clearly differ
// and those of `right` do not. If `right` is null, returns a point at which `values` differ in any bit of a number.
// Returns nullopt if no such point is found.
std::optional<Counterexample> find_larger_error(const ExprIsolator& isolator, const ComparedValues& values,
                                                const ComparedValues* right);

// Returns the largest error of a rewrite of floats at random points, in units in the last place; nullopt if it is not
// known, for example because the sides are not floats, are large, or cannot be evaluated without the rest of the
// kernel.
std::optional<double> largest_error(SideIsolator& isolator, const Sides& sides);

}  // namespace tgc
