// Strings are processed on the host while the graph is built.
#include <algorithm>
#include <regex>
#include <unordered_map>
#include <unordered_set>

#include "lib/model/model.h"
#include "lib/support/pytext.h"

namespace tgc {
namespace {

// Throws Failure for a character outside of ASCII, whose case may depend on the locale, unless the action is NONE.
std::string change_case(std::string text, const std::string& action) {
  bool ascii = std::ranges::all_of(text, [](char ch) { return uint8_t(ch) < 128; });
  if (!ascii && action != "NONE") throw Failure("the case of '" + text + "' depends on the locale: not supported");
  for (char& ch : text) {
    if (action == "LOWER" && ch >= 'A' && ch <= 'Z') ch = char(ch - 'A' + 'a');
    if (action == "UPPER" && ch >= 'a' && ch <= 'z') ch = char(ch - 'a' + 'A');
  }
  return text;
}

Values string_normalizer(OpCall& c) {
  const StringTensor& in = c.value(0).strings();
  if (in.shape.empty() || in.shape.size() > 2 || (in.shape.size() == 2 && in.shape[0] != 1))
    throw Failure("its input must be a list of strings, or one row of them");
  std::string action = c.attribute_string("case_change_action", "NONE");
  if (action != "LOWER" && action != "UPPER" && action != "NONE")
    throw Failure("its case_change_action is '" + action + "'");
  bool sensitive = c.attribute_flag("is_case_sensitive", false);
  std::unordered_set<std::string> stopwords;
  if (auto* words = c.op_attribute("stopwords"))
    for (auto& w : words->strings) stopwords.insert(sensitive ? w : change_case(w, "LOWER"));
  StringTensor out;
  for (auto& s : in.items)
    if (!stopwords.contains(sensitive ? s : change_case(s, "LOWER"))) out.items.push_back(change_case(s, action));
  if (out.items.empty()) out.items.push_back("");
  if (in.shape.size() == 2) out.shape.push_back(1);
  out.shape.push_back(int64_t(out.items.size()));
  return {out};
}

// Calls f(a, b) for the broadcast pairs of strings, and returns the broadcast shape.
template <class F>
Ints for_each_string_pair(OpCall& c, F f) {
  const StringTensor &a = c.value(0).strings(), &b = c.value(1).strings();
  Ints shape = broadcast_shape({a.shape, b.shape});
  auto item = [&](const StringTensor& s, int64_t i) {
    int64_t at = 0, step = 1;
    for (size_t d = 1; d <= shape.size(); d++) {
      int64_t place = i % shape[shape.size() - d];
      i /= shape[shape.size() - d];
      if (d > s.shape.size()) continue;
      int64_t own = s.shape[s.shape.size() - d];
      at += own == 1 ? 0 : place * step;
      step *= own;
    }
    return std::string_view(s.items.at(size_t(at)));
  };
  for (int64_t i = 0; i < product(shape); i++) f(item(a, i), item(b, i));
  return shape;
}

Values string_concat(OpCall& c) {
  StringTensor out;
  out.shape = for_each_string_pair(c, [&](auto a, auto b) { out.items.push_back(std::string(a) + std::string(b)); });
  return {out};
}

std::wstring decode_characters(const std::string& text) {
  if (!is_valid_utf8(text)) throw Failure("a text that is not UTF-8");
  std::wstring out;
  for (size_t i = 0; i < text.size();) out += wchar_t(decode_utf8(text, i));
  return out;
}

// Throws Failure for some constructs that RE2, which ONNX prescribes, and ECMAScript read differently.
void check_pattern(std::string_view pattern) {
  auto refuse = [](std::string_view part) {
    throw Failure("its pattern has '" + std::string(part) + "': not supported");
  };
  for (std::string_view part : {"[]", "[^]"})
    if (pattern.find(part) != pattern.npos) refuse(part);
  for (size_t at = 0; (at = pattern.find("(?", at)) != pattern.npos; at++)
    if (pattern.substr(at, 3) != "(?:") refuse(pattern.substr(at, 3));
  for (size_t i = 0; i + 1 < pattern.size(); i++) {
    if (pattern[i] != '\\') continue;
    const char next = pattern[++i];
    if (std::isalnum(uint8_t(next)) && std::string_view("dDwWsSbBntrfv").find(next) == std::string_view::npos)
      refuse(pattern.substr(i - 1, 2));
  }
}

Values regex_full_match(OpCall& c) {
  const StringTensor& in = c.value(0).strings();
  const std::string pattern = c.attribute_string("pattern", "");
  check_pattern(pattern);
  Ints matches;
  try {
    // __polynomial avoids exponential time, and recursion for each character
    const std::wregex regex(decode_characters(pattern), std::regex::ECMAScript | std::regex_constants::__polynomial);
    for (const std::string& text : in.items) {
      if (text.find('\r') != text.npos) throw Failure("a carriage return, which '.' does not match, is not supported");
      matches.push_back(std::regex_match(decode_characters(text), regex));
    }
  } catch (const std::regex_error& e) { throw Failure("its pattern '" + pattern + "' is not supported: " + e.what()); }
  return {Tensor::from_values(c.graph(), matches, dtypes::bool_).reshape(in.shape)};
}

// Splits a text. An empty delimiter means white space. `most` is the maximum number of splits; -1 means no limit.
std::vector<std::string> split_text(std::string_view text, std::string_view delimiter, int64_t most) {
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  std::vector<std::string> out;
  bool by_space = delimiter.empty();
  if (by_space) text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  if (by_space && text.empty()) return out;
  for (;;) {
    size_t at = by_space ? text.find_first_of(kSpace) : text.find(delimiter);
    if (int64_t(out.size()) == most || at == text.npos) break;
    out.emplace_back(text.substr(0, at));
    text.remove_prefix(by_space ? std::min(text.find_first_not_of(kSpace, at), text.size()) : at + delimiter.size());
    if (by_space && text.empty()) return out;
  }
  if (by_space && int64_t(out.size()) < most) text = text.substr(0, text.find_last_not_of(kSpace) + 1);
  out.emplace_back(text);
  return out;
}

Values string_split(OpCall& c) {
  const StringTensor& in = c.value(0).strings();
  int64_t most = c.op_attribute("maxsplit") ? c.attribute_int("maxsplit") : -1;
  std::vector<std::vector<std::string>> all;
  Ints counts;
  for (auto& s : in.items) {
    all.push_back(split_text(s, c.attribute_string("delimiter", ""), most));
    counts.push_back(int64_t(all.back().size()));
  }
  int64_t width = counts.empty() ? 0 : *std::ranges::max_element(counts);
  StringTensor out{in.shape, {}};
  out.shape.push_back(width);
  for (auto& parts : all) {
    parts.resize(size_t(width));
    out.items.insert(out.items.end(), parts.begin(), parts.end());
  }
  return {out, Tensor::from_values(c.graph(), counts).reshape(in.shape)};
}

using WordList = std::vector<std::string>;

struct NgramVectorizer {
  int64_t min_length, max_length, max_skips;
  std::unordered_map<std::string, int64_t> ngram_indices;
  std::vector<double> weights;                     // empty means that all are 1
  int64_t vector_size = 0;

  static std::string ngram_key(const WordList& words, size_t from, size_t step, size_t n) {
    std::string out;
    for (size_t i = 0; i < n; i++) out += words[from + i * step] + '\0';
    return out;
  }

  explicit NgramVectorizer(OpCall& c)
      : min_length(c.attribute_int("min_gram_length")), max_length(c.attribute_int("max_gram_length")),
        max_skips(c.attribute_int("max_skip_count")) {
    Ints begins = c.attribute_ints("ngram_counts"), indexes = c.attribute_ints("ngram_indexes");
    WordList pool;
    if (auto* strings = c.op_attribute("pool_strings")) pool = strings->strings;
    else for (int64_t v : c.attribute_ints("pool_int64s")) pool.push_back(std::to_string(v));
    if (min_length < 1 || max_length < min_length || max_skips < 0) throw Failure("its lengths of n-grams do not fit");
    size_t number = 0;
    for (size_t n = 1; n <= begins.size(); n++) {  // the pool lists n-grams in order of their length n
      auto from = begins[n - 1], to = n < begins.size() ? begins[n] : int64_t(pool.size());
      if (from < 0 || to < from || to > int64_t(pool.size())) throw Failure("its ngram_counts do not fit its pool");
      for (auto at = size_t(from); at + n <= size_t(to); at += n, number++) {
        if (number >= indexes.size() || indexes[number] < 0) throw Failure("its ngram_indexes do not fit its pool");
        ngram_indices.emplace(ngram_key(pool, at, 1, n), indexes[number]);
        vector_size = std::max(vector_size, indexes[number] + 1);
      }
    }
    if (auto* w = c.op_attribute("weights")) {
      weights.assign(size_t(vector_size), 1);
      if (w->floats.size() > number) throw Failure("it has more weights than n-grams");
      for (size_t i = 0; i < w->floats.size(); i++) weights[size_t(indexes[i])] = w->floats[i];
    }
  }

  // The words of an n-gram are at equal distances, with up to `max_skips` words between neighbours.
  std::vector<double> count_ngrams(const WordList& text) const {
    std::vector<double> out(static_cast<size_t>(vector_size));
    for (auto n = size_t(min_length); n <= size_t(max_length); n++)
      for (size_t step = 1; step <= size_t(n == 1 ? 0 : max_skips) + 1; step++)
        for (size_t at = 0; at + (n - 1) * step < text.size(); at++)
          if (auto found = ngram_indices.find(ngram_key(text, at, step, n)); found != ngram_indices.end())
            out[size_t(found->second)]++;
    return out;
  }

  double ngram_weight(const std::string& mode, double count, size_t i) const {
    double weight = weights.empty() ? 1 : weights[i];
    return mode == "TF" ? count
                        : (count > 0 ? 1 : 0) * (mode == "IDF" ? weight : 1) * (mode == "TFIDF" ? count * weight : 1);
  }
};

Values tf_idf_vectorizer(OpCall& c) {
  NgramVectorizer vectorizer(c);
  std::string mode = c.attribute_string("mode", "");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF") throw Failure("its mode is '" + mode + "'");
  WordList words;
  Ints shape;
  if (c.value(0).is_strings()) {
    words = c.value(0).strings().items, shape = c.value(0).strings().shape;
  } else {
    for (int64_t v : c.ints(0)) words.push_back(std::to_string(v));
    shape = c.tensor(0).shape();
  }
  if (shape.empty() || shape.size() > 2) throw Failure("its input must be a text, or rows of texts");
  size_t rows = shape.size() == 2 ? size_t(shape[0]) : 1, width = size_t(shape.back());
  std::vector<double> values;
  for (size_t r = 0; r < rows; r++) {
    auto first = words.begin() + ptrdiff_t(r * width);
    auto counts = vectorizer.count_ngrams(WordList(first, first + ptrdiff_t(width)));
    for (size_t i = 0; i < counts.size(); i++) values.push_back(vectorizer.ngram_weight(mode, counts[i], i));
  }
  shape.back() = vectorizer.vector_size;
  return {Tensor::from_values(c.graph(), values).reshape(shape)};
}

// Returns the attribute PREFIX_tensor, PREFIX_strings, PREFIX_int64s or PREFIX_floats.
Value labels_of_attribute(OpCall& c, const std::string& prefix) {
  using Kind = onnx::Attribute::Kind;
  if (auto* t = c.op_attribute(prefix + "_tensor", Kind::Tensor)) {
    Value v = c.builder().value_of(*t->t);
    return v.is_tensor() ? Value(v.tensor().flatten()) : v;
  }
  if (auto* a = c.op_attribute(prefix + "_strings", Kind::Strings))
    return StringTensor{{int64_t(a->strings.size())}, a->strings};
  if (auto* a = c.op_attribute(prefix + "_int64s", Kind::Ints)) return Tensor::from_values(c.graph(), a->ints);
  if (auto* a = c.op_attribute(prefix + "_floats", Kind::Floats)) return Tensor::from_values(c.graph(), a->floats);
  throw Failure("it has no " + prefix);
}

int64_t num_labels(const Value& list) {
  return list.is_strings() ? int64_t(list.strings().items.size()) : list.tensor().numel();
}

Value default_label(OpCall& c, const Value& values) {
  if (auto* t = c.op_attribute("default_tensor", onnx::Attribute::Kind::Tensor)) return c.builder().value_of(*t->t);
  if (values.is_strings()) return StringTensor{{}, {c.attribute_string("default_string", "_Unused")}};
  DType dtype = values.tensor().dtype();
  if (dtypes::is_float(dtype)) return Tensor::constant(c.graph(), c.attribute_float("default_float", 0), dtype);
  return Tensor::constant(c.graph(), c.attribute_int("default_int64", -1), dtype);
}

// Replaces each element of input 0 by the value of its key, or by the default if it is no key. If keys are equal,
// the last one counts.
Values encode_labels(OpCall& c, const Value& keys, const Value& values) {
  Value missing = default_label(c, values);
  if (num_labels(keys) != num_labels(values)) throw Failure("its numbers of keys and values differ");
  if (num_labels(missing) != 1 || missing.is_strings() != values.is_strings())
    throw Failure("its default is not one value of the type of its values");
  if (c.value(0).is_strings() != keys.is_strings()) throw Failure("its keys are not of the type of its input");
  Tensor place;  // number of the element's key, from 1; 0 if it is no key
  if (keys.is_strings()) {
    std::unordered_map<std::string, int64_t> number;
    for (size_t i = 0; i < keys.strings().items.size(); i++) number[keys.strings().items[i]] = int64_t(i + 1);
    const StringTensor& in = c.value(0).strings();
    Ints found;
    for (auto& s : in.items) found.push_back(number.contains(s) ? number.at(s) : 0);
    place = Tensor::from_values(c.graph(), found).reshape(in.shape);
  } else {
    Tensor x = c.tensor(0).unsqueeze(-1), k = keys.tensor();
    Tensor same = x.eq(k);
    if (k.is_floating_point()) same = same | (x.isnan() & k.isnan());
    place = same.where(Tensor::arange(c.graph(), 1, k.numel() + 1, 1, dtypes::int64), Const(0)).max(Ints{-1});
  }
  if (values.is_tensor()) {
    Tensor found = values.tensor().getitem({(place - 1).maximum(Const(0))});
    return {place.eq(Const(0)).where(missing.tensor().reshape({}), found).cast(values.tensor().dtype())};
  }
  Array at = c.builder().evaluate_tensor(place.cast(dtypes::int64));
  StringTensor out{place.shape(), {}};
  for (int64_t i = 0; i < at.size(); i++) {
    auto n = size_t(element_as_double(at, i));
    out.items.push_back(n == 0 ? missing.strings().items[0] : values.strings().items[n - 1]);
  }
  return {out};
}

Values label_encoder(OpCall& c) {
  return encode_labels(c, labels_of_attribute(c, "keys"), labels_of_attribute(c, "values"));
}

// Maps strings to their index in `classes_strings`, or indices to strings.
Values label_encoder_opset1(OpCall& c) {
  Value classes = labels_of_attribute(c, "classes"),
        numbers = Tensor::from_values(c.graph(), int_range(0, num_labels(classes)));
  return c.value(0).is_strings() ? encode_labels(c, classes, numbers) : encode_labels(c, numbers, classes);
}

}  // namespace

Tensor equality_of_strings(OpCall& c) {
  Ints equal, shape = for_each_string_pair(c, [&](auto a, auto b) { equal.push_back(a == b); });
  return Tensor::from_values(c.graph(), equal, dtypes::bool_).reshape(shape);
}

std::span<const OpDef> text_ops() {
  constexpr std::string_view kMl = "ai.onnx.ml";
  // clang-format off
  static const OpDef kOps[] = {
    {"LabelEncoder", 1, "classes_strings default_int64 default_string", label_encoder_opset1, kMl},
    {"LabelEncoder", 2, "default_float default_int64 default_string keys_floats keys_int64s keys_strings values_floats values_int64s values_strings", label_encoder, kMl},
    {"LabelEncoder", 4, "default_float default_int64 default_string default_tensor keys_floats keys_int64s keys_strings keys_tensor values_floats values_int64s values_strings values_tensor", label_encoder, kMl},
    {"StringConcat", 20, "", string_concat},
    {"StringSplit", 20, "delimiter maxsplit", string_split},
    {"RegexFullMatch", 20, "pattern", regex_full_match},
    {"StringNormalizer", 10, "case_change_action is_case_sensitive locale stopwords", string_normalizer},
    {"TfIdfVectorizer", 9, "max_gram_length max_skip_count min_gram_length mode ngram_counts ngram_indexes pool_int64s pool_strings weights", tf_idf_vectorizer},
  };
  // clang-format on
  return kOps;
}

}  // namespace tgc
