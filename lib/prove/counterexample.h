// Searches values of leaves for which the two sides of a rewrite differ. REF evaluates both sides at each point, so a
// counterexample is always confirmed. The points are small numbers first, then the ends of the dtypes and random
// numbers, then the models that Z3 finds.
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
  // The value of each leaf by its name ("data1" for an element of this memory), and the sides: "before" and "after".
  std::map<std::string, std::string> point = {};
};

// Returns the first counterexample of kind Value; nullopt if none is found, or if REF cannot evaluate the sides. Points
// at which `before` is undefined do not count (lib/prove/README.md). With `rlimit` of 0, Z3 is not asked, and there are
// fewer points.
std::optional<Counterexample> find_counterexample(const ExprIsolator& isolator, const ComparedValues& values,
                                                  uint64_t rlimit = 300'000);

// Returns the first counterexample to the equality of the two sides: one of any pair of their values.
std::optional<Counterexample> find_counterexample(SideIsolator& isolator, const Sides& sides,
                                                  uint64_t rlimit = 300'000);

// Returns a difference of any kind at points that contain NaN, infinities, -0.0, and the least and greatest floats.
std::optional<Counterexample> find_special_counterexample(const ExprIsolator& isolator, const ComparedValues& values);
// Returns such a difference of any pair of values of the two sides.
std::optional<Counterexample> find_special_counterexample(SideIsolator& isolator, const Sides& sides);

// Returns a point at which `values` differ and `right` do not, in any way; or at which the error of `values` is 100
// times that of `right` and of a few roundings. For wrong variants of right sides that are approximations. If `right`
// is null, returns a point at which `values` differ in any bit of a number.
std::optional<Counterexample> find_larger_error(const ExprIsolator& isolator, const ComparedValues& values,
                                                const ComparedValues* right);

// Returns the largest error of a rewrite of floats at random points, in units of the last place; nullopt if REF cannot
// evaluate the sides alone.
std::optional<double> largest_error(SideIsolator& isolator, const Sides& sides);

}  // namespace tgc
