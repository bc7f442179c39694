#include "lib/recordings/recorded_pipeline.h"

#include <algorithm>

#include "lib/text/formats.h"

namespace tgc {
std::vector<const RecordedMatch*> RecordedPipeline::Row::own_matches() const {
  std::vector<const RecordedMatch*> out;
  if (matches.empty()) return out;
  const int own_depth = std::ranges::min_element(matches, {}, &RecordedMatch::depth)->depth;
  for (const RecordedMatch& m : matches)
    if (m.depth == own_depth) out.push_back(&m);
  return out;
}

UOp RecordedPipeline::Row::replay(size_t count, bool bottom_up) const {
  std::unordered_map<UOp, UOp> rewrites;
  for (const RecordedMatch* m : own_matches()) {
    if (count-- == 0) break;
    rewrites[m->before] = m->after;
  }
  return apply_rewrites(input, rewrites, bottom_up);
}

Result<RecordedPipeline> RecordedPipeline::read(std::shared_ptr<const GoldenRecord> record, const std::string& producer,
                                                const std::string& file) {
  return catch_failures([&] {
    RecordedPipeline out;
    out.record_ = record;
    auto read = [&](const std::string& text, const std::string& name, InputKind kind) {
      ReadReport report{.take_malformed = true};
      report.producer = producer;
      return std::move(read_graph(*out.graph_, kind, text, file + " (" + name + ")", &report).value_or_throw());
    };
    const std::string& ast = record->ast_full ? *record->ast_full : record->ast;
    UOp last = out.ast_ = read(ast, "ast", detect_kind(ast)).root;
    for (const GoldenStage& s : record->stages) {
      Row row{.stage = &s, .name = s.name, .input = last, .result = s.same ? last : UOp()};
      const std::optional<std::string>& text = s.full ? s.full : s.ir;
      if (!s.same && text) row.result = read(*text, s.name, detect_kind(*text)).root;
      if (row.result) last = row.result;
      out.rows_.push_back(std::move(row));
    }
    if (record->linear) {
      Row row{.name = "linear", .input = last, .result = UOp()};
      row.list = std::move(read(*record->linear, row.name, InputKind::Uops).list);
      out.rows_.push_back(std::move(row));
    }
    if (record->rewrites.empty()) return out;
    out.matches_ = std::move(read_rewrites(*out.graph_, record->rewrites, producer, file).value_or_throw());
    std::span<const RecordedMatch> rest = out.matches_;
    for (size_t stage = 0; stage < record->stages.size() && !rest.empty(); stage++) {
      size_t n = 0;
      while (n < rest.size() && rest[n].stage <= stage) n++;
      out.rows_[stage].matches = rest.first(n);
      rest = rest.subspan(n);
    }
    return out;
  });
}

}  // namespace tgc
