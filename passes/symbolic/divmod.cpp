// Folds integer division and remainder. Division truncates towards zero, as in C. Mirrors tinygrad uop/divandmod.py.
#include <algorithm>

#include "lib/rewrite/rewrite.h"
#include "lib/rewrite/shortcut.h"
#include "lib/uop/graph.h"
#include "lib/uop/integer_math.h"
#include "passes/symbolic/guards.h"
#include "passes/symbolic/memoize.h"
#include "passes/symbolic/symbolic.h"

namespace tgc {

using namespace pat;

namespace {

Int int_value(UOp c) { return int_of_const(c); }

FoldingResult fold_divmod_general(UOp d);

// A summand of a numerator, represented as the product term() * factor() with a constant factor.
class Summand {
 public:
  explicit Summand(UOp u) : summand_node_(u), factor_(const_factor(u)) {
    bool plain =
        u.is(Op::MUL) && u.src(1).is_const() && factor_ != 1 && !u.src(0).in({Op::MUL, Op::ADD, Op::CONST, Op::VCONST});
    like_term_ = plain ? u.src(0) : term();  // if u is x * c, x has the bounds of term() and is in the graph already
  }
  Int factor() const { return factor_; }
  UOp term() const { return divides(summand_node_, factor_); }
  Int vmin() const { return int_vmin(like_term_); }  // vmin(), vmax(): the bounds of term()
  Int vmax() const { return int_vmax(like_term_); }

 private:
  UOp summand_node_, like_term_;
  Int factor_;
};

const Shortcut kCoprime("coprime", "simplifying a greatest common divisor that is plainly 1");

// One division or remainder x / y or x % y of indices, with x split into a sum of summands plus a constant.
class DivMod {
 public:
  explicit DivMod(UOp d) : node_(d), numerator_(d.src(0)), denominator_(d.src(1)), is_mod_(d.is(Op::MOD)) {}

  FoldingResult fold() {
    if (UOp out = cancel_divmod()) return {out, "cancel"};
    auto [peeled, constant] = pop_const(numerator_);
    x_without_constant_ = peeled;
    constant_ = constant.to_int();
    summand_uops_ = split_uop(x_without_constant_, Op::ADD);
    if (denominator_.is_const() && int_value(denominator_) > 0) {
      divisor_ = int_value(denominator_);
      if (UOp out = remove_nested_mod()) return {out, "nested-mod"};
      summands_.reserve(summand_uops_.size());
      for (UOp u : summand_uops_) summands_.emplace_back(u);
      if (UOp out = fold_binary_numerator()) return {out, "binary-numerator"};
      if (UOp out = fold_congruence()) return {out, "congruence"};
      if (UOp out = gcd_with_remainder()) return {out, "gcd-with-remainder"};
      if (UOp out = nest_by_smallest_factor()) return {out, "nest-by-factor"};
    }
    if (constant_ != 0) summand_uops_.push_back(numerator_.const_like(constant_));
    if (UOp out = divide_by_gcd()) return {out, "divide-by-gcd"};
    return {factor_remainder(), "factor-remainder"};
  }

 private:
  bool is_numerator_maybe_negative() const { return int_vmin(numerator_) < 0; }
  UOp apply_op(UOp numerator, UOp denominator) const { return numerator.alu(node_.op(), denominator); }

  // If y cannot be 0 and x / y has the same value q at all corners of the bounds of x and y, folds x / y to q and x % y
  // to x - q * y.
  UOp cancel_divmod() const {
    Int x0 = int_vmin(numerator_), x1 = int_vmax(numerator_), y0 = int_vmin(denominator_), y1 = int_vmax(denominator_);
    if (y0 == 0 && y1 == 0) throw Failure(std::string(is_mod_ ? "remainder" : "division") + " by zero");
    if (y0.sign() * y1.sign() <= 0) return {};
    Int q = cdiv(x0, y0);
    if (q != cdiv(x0, y1) || q != cdiv(x1, y0) || q != cdiv(x1, y1)) return {};
    return is_mod_ ? numerator_ - q * denominator_ : node_.const_like(q);
  }

  // (a % 4 + b) % 2 -> (a + b) % 2
  UOp remove_nested_mod() const {
    if (!is_mod_ || is_numerator_maybe_negative()) return {};
    auto nested = [&](UOp u) { return u.is(Op::MOD) && is_divisible(u.src(1), divisor_); };
    if (std::none_of(summand_uops_.begin(), summand_uops_.end(), nested)) return {};
    std::vector<UOp> xs;
    for (UOp u : summand_uops_) xs.push_back(nested(u) ? u.src(0) : u);
    UOp x = sum(xs) + constant_;
    return int_vmin(x) >= 0 ? x % denominator_ : UOp();
  }

  // If the numerator has a single term with only two possible values, the result is linear in the term: interpolates
  // it.
  UOp fold_binary_numerator() const {
    if (summands_.size() != 1) return {};
    Int v0 = summands_[0].vmin(), v1 = summands_[0].vmax();
    if (v1 - v0 != 1) return {};
    auto result = [&](Int at) {
      Int n = summands_[0].factor() * at + constant_;
      return is_mod_ ? cmod(n, divisor_) : cdiv(n, divisor_);
    };
    Int r0 = result(v0), r1 = result(v1);
    return (r1 - r0) * (summands_[0].term() - v0) + r0;
  }

  // Reduces every factor modulo c. If the reduced sum stays within one interval [q * c, (q + 1) * c), the remainder is
  // the reduced sum minus q * c, and the quotient is q plus the removed multiples of c, divided by c.
  UOp fold_congruence() const {
    if (is_numerator_maybe_negative() && node_.graph().settings().CORRECT_DIVMOD_FOLDING) return {};
    Int low = floor_mod(constant_, divisor_), high = low;  // bounds of the reduced sum
    std::vector<Int> rests;
    rests.reserve(summands_.size());
    for (const Summand& s : summands_) {
      Int r = floor_mod(s.factor(), divisor_);
      rests.push_back((r - divisor_).abs() < r.abs() ? r - divisor_ : r);
      Int a = rests.back() * s.vmin(), b = rests.back() * s.vmax();
      low += std::min(a, b);
      high += std::max(a, b);
    }
    Int q = floor_div(low, divisor_);
    if (q != floor_div(high, divisor_)) return {};
    if (is_mod_) {
      std::vector<UOp> rest_terms;
      for (size_t i = 0; i < rests.size(); i++) rest_terms.push_back(rests[i] * summands_[i].term());
      return sum_from_zero(rest_terms) + floor_mod(constant_, divisor_) - q * divisor_;
    }
    std::vector<UOp> quotients;
    for (size_t i = 0; i < rests.size(); i++)
      quotients.push_back(floor_div(summands_[i].factor() - rests[i], divisor_) * summands_[i].term());
    return sum_from_zero(quotients) + floor_div(constant_ - floor_mod(constant_, divisor_) + q * divisor_, divisor_);
  }

  UOp common_divisor() const {
    auto plainly_one = [&]() -> std::optional<UOp> {
      if (!denominator_.is_const()) return std::nullopt;
      Int g = int_value(denominator_);
      for (size_t i = 0; i < summand_uops_.size() && g != 1; i++) g = gcd(g, const_factor(summand_uops_[i]));
      return g == 1 ? std::optional(denominator_.const_like(1)) : std::nullopt;
    };
    return run_shortcut(kCoprime, node_.graph(), plainly_one, [&] {
      std::vector<UOp> all = summand_uops_;
      all.push_back(denominator_);
      return gcd(all).simplify();
    });
  }

  // (g * x + b) / (g * d) -> (x + b / g) / d, for a constant b and a common factor g > 1; similarly for remainders
  UOp gcd_with_remainder() const {
    if (is_numerator_maybe_negative()) return {};
    UOp g = common_divisor();
    if (!g.is_const() || int_value(g) <= 1) return {};
    Int f = int_value(g);
    UOp x = exact_quotient(x_without_constant_, g).simplify() + floor_div(floor_mod(constant_, divisor_), f);
    if (int_vmin(x) < 0) return {};
    UOp out = apply_op(x, numerator_.const_like(floor_div(divisor_, f)));
    return is_mod_ ? out * g + floor_mod(constant_, f) : out + floor_div(constant_, divisor_);
  }

  // x / c -> (x / f) / (c / f), for a factor f of c such that x / f folds
  UOp nest_by_smallest_factor() const {
    if (is_mod_ || is_numerator_maybe_negative()) return {};
    Int f = divisor_;
    for (size_t i = 0; i < summand_uops_.size(); i++)
      if (Int a = summands_[i].factor().abs(); !summand_uops_[i].in({Op::CONST, Op::VCONST}) && a > 1 &&
                                               floor_mod(divisor_, summands_[i].factor()) == 0 && a < f)
        f = a;
    if (f >= divisor_) return {};
    UOp x = fold_divmod_general(numerator_ / f).node;
    return x && int_vmin(x) >= 0 ? x / floor_div(divisor_, f) : UOp();
  }

  // x / y -> (x / g) / (y / g) and x % y -> (x / g) % (y / g) * g, for the common divisor g
  UOp divide_by_gcd() const {
    UOp g = common_divisor();
    if (g.is_const() && int_value(g) == 1) return {};
    UOp out = apply_op(exact_quotient(numerator_, g), exact_quotient(denominator_, g));
    return is_mod_ ? out * g : out;
  }

  // (y * q + r) / y -> q + r / y and (y * q + r) % y -> r % y
  UOp factor_remainder() const {
    if (int_vmin(denominator_) < 0 || is_numerator_maybe_negative()) return {};
    std::vector<UOp> quotients, rests;
    for (UOp u : summand_uops_) {
      if (UOp q = divide_exact(u, denominator_)) {
        quotients.push_back(q);
        continue;
      }
      if (is_mod_ && denominator_.is_const()) {
        Int f = const_factor(u), r = floor_mod(f, int_value(denominator_));
        if (r != f) {
          rests.push_back(divides(u, f) * r);
          quotients.push_back(u.const_like(0));
          continue;
        }
      }
      rests.push_back(u);
    }
    if (quotients.empty()) return {};
    UOp zero = numerator_.const_like(0);
    UOp x = rests.empty() ? Const(0) + zero : sum_from_zero(rests) + zero;
    if (int_vmin(x) < 0) return {};
    return is_mod_ ? x % denominator_ : x / denominator_ + sum_from_zero(quotients);
  }

  static UOp exact_quotient(UOp u, UOp by) {
    UOp out = divide_exact(u, by);
    if (!out) throw Failure("a common divisor does not divide its expression");
    return out;
  }

  UOp node_, numerator_, denominator_;
  bool is_mod_;
  UOp x_without_constant_;             // x without its constant summand
  Int constant_;
  Int divisor_;                  // the denominator, if it is a positive constant
  std::vector<UOp> summand_uops_;  // the summands of x_without_constant_; later foldings also add constant_
  std::vector<Summand>
      summands_;  // the summands of x_without_constant_; empty if the denominator is no positive constant
};

struct DivModMemo {
  static inline const Shortcut kShortcut{"divmod-once", "folding a division or remainder again that was folded before"};
};

FoldingResult fold_divmod_general(UOp d) {
  return memoize<DivModMemo>(d.graph(), d.id(), [&] { return DivMod(d).fold(); });
}

bool same_sign(UOp x, UOp a) {
  return (never_negative(x) && never_negative(a)) || (never_positive(x) && never_positive(a));
}
bool not_reduced(UOp c, UOp d) { return floor_mod(int_value(c), int_value(d)) != int_value(c); }

}  // namespace

const RuleSet& div_and_mod_symbolic() {
  static const RuleSet set("div_and_mod_symbolic", {
      rule("div-of-div-plus-const", (x / c + ca) / cd, (x + ca * c) / (c * cd), when<always_positive>(c), when<always_positive>(cd), when<same_sign>(x, ca)),
      rule("div-negative-denominator", x.of(dtypes::index) / d, -(x / -d), when<always_negative>(d)),
      rule("div-negative-numerator", x.of(dtypes::index) / d, -(-x / d), when<never_positive>(x)),
      rule("div-reduce-const", (x.of(dtypes::index) + c.scalar()).as(n) / cd.scalar(),
           (x + fold(floor_mod(c, cd))) / cd + fold(floor_div(c, cd)),
           when<not_reduced>(c, cd), when<never_negative>(x), when<never_negative>(n), when<is_positive>(cd)),
      // (x + c) / d -> -(-(x + c % d - (d - 1)) / d) + c / d, when x <= 0 <= x + c and d > 0
      rule("div-reduce-const-negative", (x.of(dtypes::index) + c.scalar()).as(n) / cd.scalar(),
           -(-(fold(floor_mod(c, cd)) + x - fold(cd - 1)) / cd) + fold(floor_div(c, cd)),
           when<never_positive>(x), when<never_negative>(n), when<is_positive>(cd)),
      // x / y or x % y -> a simpler form, by the foldings of class DivMod, which split the numerator into summands
      rule("divmod-general", node({Op::IDIV, Op::MOD}).of(dtypes::index).as(d),
           with<fold_divmod_general>(d).branches({"cancel", "nested-mod", "binary-numerator", "congruence",
                                                   "gcd-with-remainder", "nest-by-factor",
                                                  "divide-by-gcd", "factor-remainder"})),
      rule("mod-negative-numerator", x.of(dtypes::index) % d, -(-x % d), when<never_positive>(x)),
      rule("mod-negative-denominator", x.of(dtypes::index) % d, x % -d, when<always_negative>(d)),
  });
  return set;
}

}  // namespace tgc
