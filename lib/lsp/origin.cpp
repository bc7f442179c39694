#include "lib/lsp/origin.h"

#include <algorithm>
#include <filesystem>

#include "lib/compilation/pipeline.h"
#include "lib/contain/contain.h"
#include "lib/driver/source.h"
#include "lib/lsp/answers.h"
#include "lib/trace/provenance.h"
#include "lib/uop/release.h"

namespace tgc {
namespace {

// Answers the question about its node when a kernel has been traced, because the graph is freed afterwards.
class OriginConsumer : public Provenance {
 public:
  explicit OriginConsumer(const OriginQuestion& question) : question_(question) {}
  void kernel_end() override { answer(); }
  void kernel_given_up() override { answer(); }
  const std::string& text() const { return text_; }

 private:
  void answer() {
    for (std::string_view stage : stages()) {
      if (stage != question_.stage || !result_of(stage)) continue;
      const auto nodes = toposort(result_of(stage));
      if (nodes.size() != question_.nodes || question_.position >= nodes.size()) return;
      const UOp node = nodes[question_.position];
      if (shown_op(node) != question_.op) return;  // another graph than the recorded one
      bool from_ast = false;
      const std::vector<Step> steps = back(node, stage, from_ast);
      for (auto s = steps.rbegin(); s != steps.rend(); ++s)
        if (!s->rule.name.empty()) return void(text_ = describe(*s, s == steps.rbegin()));
      if (from_ast) text_ = std::string("no rule: it is in the AST") + (steps.empty() ? "" : ", with other sources");
    }
  }

  static std::string describe(const Step& step, bool is_last) {
    std::string out = code_span(name_with_branch(step.rule));
    if (const std::string place = places_of(step.rule); place != step.rule.name) out += " " + code_span(place);
    out += " in '" + plain_markdown(step.stage) + "'";
    if (step.kind == Step::Kind::Part) out += ", as a part";
    return out + (is_last ? "" : ", later with other sources");
  }

  const OriginQuestion& question_;
  std::string text_;
};

Result<std::string> origin(const std::string& file, const OriginQuestion& question) {
  const Session session;
  auto source = Source::open(session, file);
  if (!source) return source.diag();
  auto in = source->next();
  if (!in || !*in) return in ? Diag{"no record"} : in.diag();
  OriginConsumer consumer(question);
  auto pipeline = session.pipeline(std::move(**in));
  if (!pipeline) return pipeline.diag();
  StageSelection every;
  (void)(*pipeline)->trace(consumer, every);  // a stage after the node's may fail
  return consumer.text();
}

}  // namespace

std::string find_origin(const std::string& file, const OriginQuestion& question, double seconds) {
  auto body = [&](Worker&) { return catch_failures([&] { return origin(file, question).value_or_throw(); }); };
  auto found = contain(body, {.timeout_seconds = seconds});
  return found ? *found : "";
}

std::string OriginFinder::find(const std::string& section, const OriginQuestion& question,
                               const std::function<std::string()>& write) {
  constexpr size_t kMostRunning = 2, kMostKept = 1000;
  constexpr double kSeconds = 5;
  const std::string later = "(tgc is looking for it: ask again)";
  auto known = std::ranges::find_if(origins_, [&](const Origin& o) {
    return o.section == section && o.position == question.position;
  });
  if (known == origins_.end()) {
    if (origins_.size() > kMostKept) std::erase_if(origins_, [](const Origin& o) { return o.is_ready(); });
    const auto running = std::ranges::count_if(origins_, [](const Origin& o) { return !o.is_ready(); });
    if (size_t(running) >= kMostRunning) return later;
    auto ask = [file = write(), question] {
      std::string found = find_origin(file, question, kSeconds);
      std::error_code ignored;
      std::filesystem::remove(file, ignored);
      return found;
    };
    origins_.push_back({section, question.position, std::async(std::launch::async, ask).share()});
    known = origins_.end() - 1;
  }
  constexpr std::chrono::milliseconds kSoon(20);
  return known->answer.wait_for(kSoon) == std::future_status::ready ? known->answer.get() : later;
}

}  // namespace tgc
