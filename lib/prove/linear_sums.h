// Sums of integers in normal form: a constant and factors of atoms. An atom is a number that no sum expresses: a leaf,
// a quotient, or another op on normal forms. Sums are equal for all values of their atoms if their forms are.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "lib/prove/encode.h"

namespace tgc {

struct LinearSum {
  Int constant = 0;
  std::map<uint32_t, Int> factors = {};  // by the number of the atom; none is 0

  bool is_constant() const { return factors.empty(); }
  friend bool operator==(const LinearSum&, const LinearSum&) = default;
};

// Thrown for a form that is too large.
struct LargeForm : Unencodable {};

// Numbers atoms and other forms: two of them have one number if their texts are equal. Throws LargeForm.
class LinearSums {
 public:
  uint32_t number_of(const std::string& text);
  // Returns the number of a form that is a sum.
  uint32_t number_of(const LinearSum& s) { return number_of(text_of(s)); }
  // Returns the sum that is one atom. `interval` must hold the atom's value.
  LinearSum atom(const std::string& text, const Interval& interval);

  LinearSum plus(const LinearSum& a, const LinearSum& b, const Int& times = 1) const;  // a + times * b
  LinearSum times(const LinearSum& a, const Int& by) const { return plus({}, a, by); }
  LinearSum product(const LinearSum& a, const LinearSum& b);
  LinearSum quotient(const LinearSum& a, const Int& by);  // rounds down; by > 0
  LinearSum remainder(const LinearSum& a, const Int& by);  // the remainder is 0 to by - 1
  // Returns the sum modulo 2**bits, as an integer of `bits` bits has it.
  LinearSum wrapped(const LinearSum& a, int bits, bool is_signed);
  Interval interval(const LinearSum& s) const;
  struct Quotient {
    LinearSum of;
    Int by;
  };
  // Returns the sum and the divisor of an atom that is a quotient; null for other atoms.
  const Quotient* quotient_of(uint32_t atom) const;
  // Returns the largest number that divides all factors of atoms, and `by`.
  static Int common_factor(const LinearSum& s, Int by = 0);

 private:
  static std::string text_of(const LinearSum& s);
  LinearSum reduced(const LinearSum& a, const Int& by, bool is_symmetric) const;

  std::map<std::string, uint32_t> numbers_;
  std::map<uint32_t, Interval> intervals_;  // bounds of the atoms
  std::map<uint32_t, Quotient> quotients_;  // atoms that are quotients
};

}  // namespace tgc
