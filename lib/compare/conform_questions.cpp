#include "lib/compare/conform_questions.h"

#include "lib/compare/replay.h"
#include "lib/compilation/compilation.h"
#include "lib/records/recorded_stages.h"
#include "lib/text/print_uops.h"
#include "lib/text/pyrender.h"

namespace tgc {
namespace {

// Compiles the AST of a record with the native pipeline, as long as its graphs print like the recorded ones.
class NativeGraphs {
 public:
  NativeGraphs(const GoldenRecord& r, const GoldenHeader& header) {
    if (detect_kind(r.ast) != InputKind::Pyrender) return;
    auto settings = settings_from(settings_of(header, r));
    if (!settings) return;
    auto in = load_text(*settings, InputKind::Pyrender, r.ast, r.id, false, header.producer);
    if (!in) return;
    in->is_tensor_graph = r.target.empty();
    auto begun = Compilation::begin(std::move(*in), {.target = r.target});
    if (begun) c_.emplace(std::move(*begun));
  }

  // Returns the graph after `stage` as JSON; "" if this graph or an earlier one does not print like the recorded one.
  std::string after(const std::string& stage, std::string_view recorded) {
    const StageRow* row = find_row(stage);
    if (!c_ || !row || !c_->run_through(*row)) return c_.reset(), "";
    auto text = pyrender(c_->current());
    if (!text || *text != recorded) return c_.reset(), "";
    return graph_to_json(c_->current(), {});
  }
  std::string list(const std::string& recorded) {
    if (!c_ || !c_->list() || print_uops(*c_->list()) != recorded) return recorded;
    return list_to_json(*c_->list(), {});
  }

 private:
  std::optional<Compilation> c_;  // unset after the first graph that prints differently
};

}  // namespace

std::vector<Question> questions_of(const GoldenRecord& r, const GoldenHeader& header, bool with_source) {
  NativeGraphs native(r, header);
  std::vector<Question> out;
  std::string before = r.ast_full.value_or(r.ast);
  std::optional<std::string_view> recorded = before;  // the graph before the next stage; nullopt: not printable
  for (const RecordedStage& s : RecordedStages(r)) {
    if (s.kind != RecordedStage::Kind::Stage) continue;
    std::string all = s.text ? native.after(s.name, *s.text) : "";
    const bool loses_facts = s.letters && detect_kind(*s.text) != InputKind::Json;
    if (loses_facts) all = *s.text;
    if (recorded && s.text) out.push_back({s.name, before, loses_facts ? *s.letters : *s.text});
    // Only for kernels: unique constants of a tensor graph may have other numbers in a port, and pyrender omits them.
    if (recorded && s.text && !r.target.empty()) out.back().after_json = all;
    if (s.text) before = all.empty() ? std::string(*s.text) : std::move(all);
    recorded = s.text;
  }
  if (!r.linear) return out;
  if (recorded) out.push_back({"linear", before, *r.linear, Question::After::List});
  if (r.source && with_source) out.push_back({"source", native.list(*r.linear), *r.source, Question::After::Source});
  return out;
}

}  // namespace tgc
