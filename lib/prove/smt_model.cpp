#include "lib/prove/smt_model.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>

#include "lib/prove/obligation.h"
#include "lib/prove/proof_time.h"
#include "lib/prove/smt_text.h"

namespace tgc {
namespace {

using namespace smt;

struct SExpr {
  std::string word;
  std::vector<SExpr> list;
};

SExpr read_sexpr(std::string_view text, size_t& at) {
  auto skip = [&] {
    while (at < text.size() && std::isspace(uint8_t(text[at]))) at++;
  };
  skip();
  SExpr out;
  if (at < text.size() && text[at] == '(') {
    for (at++, skip(); at < text.size() && text[at] != ')'; skip()) out.list.push_back(read_sexpr(text, at));
    at++;
    return out;
  }
  const size_t begin = at;
  while (at < text.size() && !std::isspace(uint8_t(text[at])) && text[at] != '(' && text[at] != ')') at++;
  out.word = text.substr(begin, at - begin);
  if (at == begin) at++;
  return out;
}

std::optional<Int> parse_bits(const std::string& word) {
  if (word.size() < 3 || word[0] != '#') return std::nullopt;
  return Int::parse(std::string("0") + word[1] + word.substr(2));
}

std::optional<double> parse_real(const SExpr& e) {
  if (!e.word.empty()) {
    if (!std::isdigit(uint8_t(e.word[0]))) return std::nullopt;
    return std::strtod(e.word.c_str(), nullptr);
  }
  if (e.list.size() == 2 && e.list[0].word == "-") {
    auto v = parse_real(e.list[1]);
    return v ? std::optional(-*v) : v;
  }
  if (e.list.size() == 3 && e.list[0].word == "/") {
    auto a = parse_real(e.list[1]), b = parse_real(e.list[2]);
    return a && b ? std::optional(*a / *b) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<double> parse_ieee(const SExpr& e) {
  if (e.list.size() == 4 && e.list[0].word == "_") {
    const std::string& name = e.list[1].word;
    if (name == "NaN") return std::numeric_limits<double>::quiet_NaN();
    const double sign = name[0] == '-' ? -1 : 1;
    return sign * (name.ends_with("oo") ? std::numeric_limits<double>::infinity() : 0.0);
  }
  if (e.list.size() != 4 || e.list[0].word != "fp") return std::nullopt;
  auto sign = parse_bits(e.list[1].word), exponent = parse_bits(e.list[2].word), digits = parse_bits(e.list[3].word);
  if (!sign || !exponent || !digits) return std::nullopt;
  auto width = [](const std::string& word) { return int(word.size() - 2) * (word[1] == 'x' ? 4 : 1); };
  const int bias = (1 << (width(e.list[2].word) - 1)) - 1, places = width(e.list[3].word);
  const double hidden = *exponent == 0 ? 0 : 1;
  const int power = int(exponent->small_value()) + (*exponent == 0 ? 1 : 0) - bias;
  const double value = std::ldexp(hidden + std::ldexp(digits->to_double(), -places), power);
  return *sign == 0 ? value : -value;
}

// Converts a value in a model of Z3 to a number of the dtype `d`; nullopt if it is no number.
std::optional<Const> parse_value(const SExpr& e, DType d) {
  if (e.word == "true" || e.word == "false") return Const(e.word == "true");
  if (dtypes::is_float(d)) {
    auto v = parse_ieee(e);
    if (!v) v = parse_real(e);
    return v ? std::optional(Const(*v)) : std::nullopt;
  }
  if (auto bits = parse_bits(e.word)) {
    if (is_signed(d) && *bits >= Int::pow2(uint32_t(bit_width_of(d) - 1)))
      *bits = *bits - Int::pow2(uint32_t(bit_width_of(d)));
    return Const(*bits);
  }
  const bool is_negative = e.list.size() == 2 && e.list[0].word == "-";
  auto v = Int::parse(is_negative ? e.list[1].word : e.word);
  return v ? std::optional(Const(is_negative ? -*v : *v)) : std::nullopt;
}

// Returns the formula that the variable is in -most..most; "" if this is not restricted.
std::string small_range_formula(const SmtVariable& v, DType d, ProofSenses senses, int most) {
  if (!dtypes::is_int(d)) return "";
  std::string number = std::to_string(most);
  if (senses.int_sense == IntSense::Numbers) return "(<= (- " + number + ") " + v.name + " " + number + ")";
  std::string literal = "(_ bv" + number + " " + std::to_string(bit_width_of(d)) + ")";
  if (bit_width_of(d) <= 8) return "";
  if (!is_signed(d)) return smt_call("bvule", v.name, literal);
  return smt_call("and", smt_call("bvsle", smt_call("bvneg", literal), v.name), smt_call("bvsle", v.name, literal));
}

}  // namespace

void for_each_smt_model(const ExprIsolator& isolator, const ComparedValues& values,
                        std::span<const SideEvaluator::PointInput> inputs, uint64_t rlimit,
                        const std::function<bool(const SideEvaluator::Point&)>& visit) {
  IntervalAnalysis intervals(isolator);
  constexpr ProofSenses kSenses[] = {{FloatSense::Uninterpreted, IntSense::Bits},
                                {FloatSense::Uninterpreted, IntSense::Numbers},
                                {FloatSense::Real, IntSense::Numbers},
                                {FloatSense::Finite, IntSense::Bits}};
  // seconds for one question: Z3 counts no resources while it makes products and quotients of many bits
  constexpr double kMostSeconds = 2;
  constexpr int kMostSmall[] = {1000, 0};
  for (ProofSenses senses : kSenses) {
    bool has_floats = std::ranges::any_of(inputs, [](auto& in) { return dtypes::is_float(in.dtype); });
    if (has_floats == (senses.float_sense == FloatSense::Uninterpreted)) continue;
    for (int lane = 0; lane < values.before.dtype().count(); lane++) {
      SmtEncoder encoder(intervals, senses);
      ProofObligation obligation;
      try {
        obligation = obligation_of_lane(encoder, values, lane, senses.float_sense);
      } catch (const UnencodableExpr&) {
        continue;
      }
      if (obligation.is_trivial || encoder.variables().empty()) continue;
      auto input_of = [&](const SmtVariable& v) {
        return std::ranges::find_if(inputs, [&](auto& in) { return in.leaf ? in.leaf == v.node : in.load == v.node; });
      };
      std::string names;
      for (const SmtVariable& v : encoder.variables()) names += " " + v.name;
      for (int most : kMostSmall) {
        std::string small;
        for (const SmtVariable& v : encoder.variables())
          if (auto in = input_of(v); most && in != inputs.end())
            if (std::string formula = small_range_formula(v, in->dtype, senses, most); !formula.empty())
              small += "(assert " + formula + ")\n";
        if (most && small.empty()) continue;
        Z3Session z3;
        std::string said = z3.ask_z3("(set-option :rlimit " + std::to_string(rlimit) + ")\n" + obligation.text + small +
                                     "(check-sat)\n", kMostSeconds, StopScope::current_check());
        if (!said.starts_with("sat")) continue;
        said = z3.ask_z3("(get-value (" + names + "))\n");
        size_t at = 0;
        const SExpr model = read_sexpr(said, at);
        SideEvaluator::Point point;
        for (auto& in : inputs) point.push_back(dtypes::is_float(in.dtype) ? Const(0.0) : Const(in.min_value));
        bool is_good = model.list.size() == encoder.variables().size();
        for (size_t i = 0; is_good && i < model.list.size(); i++) {
          auto in = input_of(encoder.variables()[i]);
          if (in == inputs.end() || model.list[i].list.size() != 2) continue;
          auto value = parse_value(model.list[i].list[1], in->dtype);
          if (value) point[size_t(in - inputs.begin())] = *value;
          is_good = value.has_value();
        }
        if (is_good && !visit(point)) return;
        if (is_good) break;
      }
    }
  }
}

}  // namespace tgc
