// String ops: StringNormalizer and TfIdfVectorizer. They are computed while the graph is built, on the host.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "lib/model/op.h"

namespace tgc {
namespace {

// Changes the case of ASCII letters; other characters are kept. The locale is ignored.
std::string cased(std::string text, const std::string& action) {
  for (char& ch : text) {
    if (action == "LOWER" && ch >= 'A' && ch <= 'Z') ch = char(ch - 'A' + 'a');
    if (action == "UPPER" && ch >= 'a' && ch <= 'z') ch = char(ch - 'a' + 'A');
  }
  return text;
}

Values string_normalizer(OpCall& c) {
  const Strings& in = c.value(0).strings();
  if (in.shape.empty() || in.shape.size() > 2 || (in.shape.size() == 2 && in.shape[0] != 1))
    throw Failure("its input must be a list of strings, or one row of them");
  std::string action = c.attr_string("case_change_action", "NONE");
  if (action != "LOWER" && action != "UPPER" && action != "NONE")
    throw Failure("its case_change_action is '" + action + "'");
  bool sensitive = c.attr_int("is_case_sensitive", 0) != 0;
  std::unordered_set<std::string> stopwords;
  if (auto* words = c.attr("stopwords"))
    for (auto& w : words->strings) stopwords.insert(sensitive ? w : cased(w, "LOWER"));
  Strings out;
  for (auto& s : in.items)
    if (!stopwords.contains(sensitive ? s : cased(s, "LOWER"))) out.items.push_back(cased(s, action));
  if (out.items.empty()) out.items.push_back("");
  if (in.shape.size() == 2) out.shape.push_back(1);
  out.shape.push_back(int64_t(out.items.size()));
  return {out};
}

// ---- TfIdfVectorizer

using Words = std::vector<std::string>;

struct Vectorizer {
  int64_t shortest, longest, skips;
  std::unordered_map<std::string, int64_t> place;  // index in the result of each n-gram (joined words)
  std::vector<double> weights;                     // weight of each result element; empty: all are 1
  int64_t size = 0;

  static std::string joined(const Words& words, size_t from, size_t step, size_t n) {
    std::string out;
    for (size_t i = 0; i < n; i++) out += words[from + i * step] + '\0';
    return out;
  }

  explicit Vectorizer(OpCall& c)
      : shortest(c.attr_int("min_gram_length")),
        longest(c.attr_int("max_gram_length")),
        skips(c.attr_int("max_skip_count")) {
    Ints begins = c.attr_ints("ngram_counts"), indexes = c.attr_ints("ngram_indexes");
    Words pool;
    if (auto* strings = c.attr("pool_strings")) pool = strings->strings;
    else for (int64_t v : c.attr_ints("pool_int64s")) pool.push_back(std::to_string(v));
    if (shortest < 1 || longest < shortest || skips < 0) throw Failure("its lengths of n-grams do not fit");
    size_t number = 0;
    for (size_t n = 1; n <= begins.size(); n++) {  // the pool lists n-grams in order of their length n
      auto from = begins[n - 1], to = n < begins.size() ? begins[n] : int64_t(pool.size());
      if (from < 0 || to < from || to > int64_t(pool.size())) throw Failure("its ngram_counts do not fit its pool");
      for (auto at = size_t(from); at + n <= size_t(to); at += n, number++) {
        if (number >= indexes.size() || indexes[number] < 0) throw Failure("its ngram_indexes do not fit its pool");
        place.emplace(joined(pool, at, 1, n), indexes[number]);
        size = std::max(size, indexes[number] + 1);
      }
    }
    if (auto* w = c.attr("weights")) {
      weights.assign(size_t(size), 1);
      if (w->floats.size() > number) throw Failure("it has more weights than n-grams");
      for (size_t i = 0; i < w->floats.size(); i++) weights[size_t(indexes[i])] = w->floats[i];
    }
  }

  // Counts how often each n-gram occurs in the text. Up to `skips` words may lie between two words of an n-gram.
  std::vector<double> count(const Words& text) const {
    std::vector<double> out(static_cast<size_t>(size));
    for (auto n = size_t(shortest); n <= size_t(longest); n++)
      for (size_t step = 1; step <= size_t(n == 1 ? 0 : skips) + 1; step++)
        for (size_t at = 0; at + (n - 1) * step < text.size(); at++)
          if (auto found = place.find(joined(text, at, step, n)); found != place.end()) out[size_t(found->second)]++;
    return out;
  }

  double weigh(const std::string& mode, double count, size_t i) const {
    double weight = weights.empty() ? 1 : weights[i];
    return mode == "TF" ? count
                        : (count > 0 ? 1 : 0) * (mode == "IDF" ? weight : 1) * (mode == "TFIDF" ? count * weight : 1);
  }
};

Values tf_idf_vectorizer(OpCall& c) {
  Vectorizer vectorizer(c);
  std::string mode = c.attr_string("mode", "");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF") throw Failure("its mode is '" + mode + "'");
  Words words;
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
    auto counts = vectorizer.count(Words(first, first + ptrdiff_t(width)));
    for (size_t i = 0; i < counts.size(); i++) values.push_back(vectorizer.weigh(mode, counts[i], i));
  }
  shape.back() = vectorizer.size;
  return {Tensor::of(c.graph(), values).reshape(shape)};
}

}  // namespace

std::span<const OpDef> text_ops() {
  // clang-format off
  static const OpDef kOps[] = {
    {"StringNormalizer", 10, "case_change_action is_case_sensitive locale stopwords", string_normalizer},
    {"TfIdfVectorizer", 9, "max_gram_length max_skip_count min_gram_length mode ngram_counts ngram_indexes pool_int64s pool_strings weights", tf_idf_vectorizer},
  };
  // clang-format on
  return kOps;
}

}  // namespace tgc
