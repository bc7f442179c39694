#include "lib/compare/live_check.h"

#include <algorithm>
#include <map>
#include <set>

#include "lib/compilation/selection.h"
#include "lib/driver/runtime_kernel.h"
#include "lib/records/read_graph.h"
#include "lib/records/recorded_stages.h"
#include "lib/support/line_diff.h"
#include "lib/text/formats.h"

namespace tgc {
namespace {

constexpr std::string_view kGraphs = "graphs", kAll = "all", kKernels = "kernels";
constexpr std::string_view kOutputs[] = {"linear", "source", "program"};
constexpr std::string_view kWithoutTinygrad[] = {"text", "forms", "spec", "resume"};

// Replaces the numbers of the buffers in pyrender's text that are not in `known` by their order in the text. tinygrad
// numbers a new buffer after those that the program has made before.
std::string with_numbered_buffers(const std::string& text, std::set<std::string>& known, bool learns) {
  constexpr std::string_view kBuffer = "UOp.new_buffer(";
  std::string out;
  std::map<std::string, std::string> numbers;
  size_t at = 0;
  for (size_t begin; (begin = text.find(kBuffer, at)) != text.npos;) {
    size_t end = begin + kBuffer.size();
    for (int depth = 1; end < text.size() && depth; end++) depth += text[end] == '(' ? 1 : text[end] == ')' ? -1 : 0;
    const size_t comma = text.rfind(' ', end) + 1;
    const std::string number = text.substr(comma, end - 1 - comma);
    if (learns) known.insert(number);
    out.append(text, at, comma - at);
    if (known.contains(number)) out += number;
    else out += numbers.try_emplace(number, "new" + std::to_string(numbers.size())).first->second;
    at = end - 1;
  }
  return out.append(text, at);
}

class LiveCheck {
 public:
  LiveCheck(const GoldenHeader& header, const GoldenRecord& recorded, const GoldenRecord& made, const CheckPlan& plan)
      : recorded_(recorded), made_(made), plan_(plan) {
    graph_.set_release(release_of(header.producer));
    producer_ = header.producer;
  }

  RecordReport run() {
    report_.id = recorded_.id;
    report_.target = recorded_.target.empty() ? recorded_.device : recorded_.target;
    if (bool(recorded_.error) != bool(made_.error)) {
      report_.items.push_back({"refusal", CheckVerdict::Error});
      diverge("refusal", "  recorded: " + recorded_.error.value_or("compiled") + "\n  live: " +
                             made_.error.value_or("compiled") + "\n");
      return std::move(report_);
    }
    std::map<std::string, size_t> seen;  // number of stages of a name so far
    const RecordedStages theirs(recorded_), ours(made_);
    for (const RecordedStage& s : theirs)
      if (s.kind != RecordedStage::Kind::Ast) check(s, find(ours, s.name, seen[s.name]++));
      else if (s.text && recorded_.target.empty()) learn_buffers(s);
    return std::move(report_);
  }

 private:
  bool wanted(const RecordedStage& s) const {
    using enum RecordedStage::Kind;
    if (plan_.wanted.contains(kAll)) return true;
    const std::string_view group = s.kind == Stage ? kGraphs : s.kind == Kernel ? kKernels : std::string_view(s.name);
    const std::string slug = slug_of_stage(s.name);
    return plan_.wanted.contains(group) || plan_.wanted.contains(s.name) || plan_.wanted.contains(slug);
  }

  // Returns the stage `name` that follows `before` other stages of this name; null if there is none.
  static const RecordedStage* find(const RecordedStages& stages, std::string_view name, size_t before) {
    for (const RecordedStage& s : stages)
      if (s.name == name && before-- == 0) return &s;
    return nullptr;
  }

  void learn_buffers(const RecordedStage& ast) {
    auto root = root_of(recorded_, ast);
    auto text = root ? write_graph(Format::Pyrender, *root) : Result<std::string>(root.diag());
    if (text) with_numbered_buffers(*text, buffers_, true);
  }
  void diverge(const std::string& name, const std::string& explanation) {
    if (report_.first.empty()) report_.first = name, report_.explanation = explanation;
  }
  void settle(const std::string& name, CheckVerdict verdict, const std::string& explanation) {
    report_.items.push_back({name, verdict});
    if (verdict != CheckVerdict::Same) diverge(name, explanation);
  }

  void check(const RecordedStage& recorded, const RecordedStage* made) {
    if (!wanted(recorded)) return;
    const std::string name = recorded.kind == RecordedStage::Kind::Kernel ? std::string(kKernels) : recorded.name;
    if (!recorded.text && !full_text(recorded_, recorded)) return;  // tinygrad could not print the graph
    if (!made) return settle(name, CheckVerdict::Different, "  this tinygrad does not make it\n");
    if (!recorded.is_graph()) {
      const bool same = recorded.text == made->text;
      return settle(name, same ? CheckVerdict::Same : CheckVerdict::Different,
                    same ? "" : difference(*recorded.text, made->text.value_or("")));
    }
    auto theirs = root_of(recorded_, recorded), ours = root_of(made_, *made);
    if (!theirs || !ours)
      return settle(name, CheckVerdict::Error, "  " + (theirs ? ours : theirs).diag().text() + "\n");
    if (*theirs == *ours) return settle(name, CheckVerdict::Same, "");
    auto their_text = write_graph(Format::Pyrender, *theirs), our_text = write_graph(Format::Pyrender, *ours);
    if (!their_text || !our_text) return settle(name, CheckVerdict::Different, "  tgc cannot print the graphs\n");
    if (recorded_.target.empty())
      for (std::string* text : {&*their_text, &*our_text}) *text = with_numbered_buffers(*text, buffers_, false);
    const bool same = *their_text == *our_text;  // what the reader of a text added may differ
    settle(name, same ? CheckVerdict::Same : CheckVerdict::Different, same ? "" : difference(*their_text, *our_text));
  }

  std::string difference(std::string_view theirs, std::string_view ours) const {
    if (!plan_.explain || !report_.first.empty()) return {};
    return "  - recorded  + live\n" + line_diff(theirs, ours, {.color = plan_.color});
  }

  // Returns the text of a stage from which its graph can be read, if it is another than RecordedStage::text.
  static std::optional<std::string_view> full_text(const GoldenRecord& record, const RecordedStage& s) {
    if (s.kind != RecordedStage::Kind::Stage) return {};
    std::optional<std::string_view> out;
    for (const GoldenStage& stage : record.stages)
      if (stage.name == s.name && stage.full) out = *stage.full;
    return out;
  }

  // Returns the root of the graph after a stage. All graphs have one Graph, in which equal nodes are the same.
  Result<UOp> root_of(const GoldenRecord& record, const RecordedStage& s) {
    auto text = full_text(record, s);
    if (!text) text = s.text;
    if (!text) return Diag{"tinygrad could not print the graph"};
    ReadReport report{.take_malformed = true, .producer = producer_};
    auto read = read_graph(graph_, detect_kind(*text), *text, record.id + " (" + s.name + ")", &report);
    if (!read) return read.diag();
    // A program also holds the list and the source, which are compared as such, and what the compiler made of them.
    return read->root.is(Op::PROGRAM) && read->root.num_src() > 0 ? read->root.src(0) : read->root;
  }

  const GoldenRecord &recorded_, &made_;
  const CheckPlan& plan_;
  std::string producer_;
  std::set<std::string> buffers_;  // the numbers of the buffers of a tensor graph
  Graph graph_;
  RecordReport report_;
};

}  // namespace

Result<CheckPlan> LiveRecordChecker::plan(std::string_view stages) const {
  CheckPlan plan;
  for (size_t at = 0; at <= stages.size();) {
    const size_t end = std::min(stages.find(',', at), stages.size());
    const std::string word(stages.substr(at, end - at));
    if (std::ranges::count(kWithoutTinygrad, word))
      return Diag{.message = "'" + word + "' compares with no tinygrad", .expected = "`tgc check` without --live"};
    plan.wanted.insert(word.empty() ? std::string(kAll) : word);
    at = end + 1;
  }
  return plan;
}

Result<RecordReport> LiveRecordChecker::check(const GoldenHeader& header, const GoldenRecord& record,
                                              const CheckPlan& plan) const {
  return catch_failures([&] {
    RecordReport skipped{.id = record.id, .target = record.target};
    if (is_runtime_kernel(record, header.producer)) {
      skipped.skipped = "a kernel of tinygrad's runtime";
      return skipped;
    }
    const std::string& text = record.ast_full ? *record.ast_full : record.ast;
    auto in = load_text({}, detect_kind(text), text, record.id);
    if (!in) {
      skipped.items.push_back({"ast", CheckVerdict::Error});
      skipped.first = "ast", skipped.explanation = "  " + in.diag().text() + "\n";
      return skipped;
    }
    in->info.name = record.id, in->info.target = record.target, in->info.settings = settings_of(header, record);
    in->info.stage.clear(), in->is_tensor_graph = record.target.empty();
    const GoldenRecord made = session_.compiler()->record(*in).value_or_throw();
    return LiveCheck(header, record, made, plan).run();
  });
}

}  // namespace tgc
