// LinearSum: a sum of integers in normal form, which is a constant and a factor for each atom. An atom is an integer
// that is no sum. Sums with equal forms are equal.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "lib/prove/encode.h"

namespace tgc {

struct LinearSum {
  Int constant = 0;
  std::map<uint32_t, Int> factors = {};  // by the number of the atom; no factor is 0

  bool is_constant() const { return factors.empty(); }
  friend bool operator==(const LinearSum&, const LinearSum&) = default;
};

// Thrown if a form has too many parts or too large numbers.
struct FormTooLarge : UnencodableExpr {};

// Computes with sums, and assigns numbers to the texts that describe atoms and other forms. Functions may throw
// FormTooLarge.
class LinearSumMath {
 public:
  uint32_t atom_number(const std::string& text);
  uint32_t atom_number(const LinearSum& s) { return atom_number(text_of(s)); }
  // Returns a sum of one atom, which `text` describes. `interval` must contain the atom's value.
  LinearSum make_atom(const std::string& text, const Interval& interval);

  LinearSum add_scaled(const LinearSum& a, const LinearSum& b, const Int& times = 1) const;  // returns a + times * b
  LinearSum scale_sum(const LinearSum& a, const Int& by) const { return add_scaled({}, a, by); }
  LinearSum multiply_sums(const LinearSum& a, const LinearSum& b);
  LinearSum divide_sum(const LinearSum& a, const Int& by);
  LinearSum remainder_by(const LinearSum& a, const Int& by);  // returns the remainder, which is in 0..by-1
  // Returns the value that an integer of `bits` bits has after it wraps around.
  LinearSum wrap_to_bits(const LinearSum& a, int bits, bool is_signed);
  Interval interval(const LinearSum& s) const;
  struct Quotient {
    LinearSum dividend;
    Int divisor;
  };
  const Quotient* quotient_of_atom(uint32_t atom) const;
  // Returns the greatest common divisor of the factors of `s` and of `by`.
  static Int common_factor(const LinearSum& s, Int by = 0);

 private:
  static std::string text_of(const LinearSum& s);
  LinearSum reduce_modulo(const LinearSum& a, const Int& by, bool is_symmetric) const;

  std::map<std::string, uint32_t> atom_numbers_;
  std::map<uint32_t, Interval> intervals_;
  std::map<uint32_t, Quotient> quotients_;
};

}  // namespace tgc
