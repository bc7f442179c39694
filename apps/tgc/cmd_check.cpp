// tgc check GOLDENS...: replay golden records and compare every stage, to the letter.
#include <CLI/CLI.hpp>
#include <iostream>

#include "apps/tgc/commands.h"
#include "lib/text/golden.h"
#include "lib/text/pyrender.h"
#include "passes/pipeline.h"

namespace tgc {
namespace {

struct CheckOptions {
  std::vector<std::string> files;
  std::string stages;
  std::string id;
  bool isolated = false;
  int show = 0;
};

struct Counts {
  size_t same = 0, different = 0, error = 0, skipped = 0;
};

class Checker {
 public:
  explicit Checker(const CheckOptions& options) : o_(options) {}

  int run() {
    for (const std::string& file : o_.files) {
      auto reader = GoldenReader::open(file);
      if (!reader) return trouble(reader.diag());
      Settings settings;
      for (auto& [key, value] : reader->header().settings)
        if (auto status = settings.set(key, value); !status) return trouble(status.diag());
      for (;;) {
        auto record = reader->next();
        if (!record) return trouble(record.diag());
        if (!*record) break;
        if (!o_.id.empty() && (*record)->id != o_.id) continue;
        records_++;
        check(**record, settings);
      }
    }
    std::cout << records_ << " records, " << identical_ << " identical\n";
    for (auto& [name, c] : counts_)
      std::cout << "  " << name << ": " << c.same << " same, " << c.different << " different, " << c.error << " errors, " << c.skipped << " skipped\n";
    for (auto& [name, n] : first_) std::cout << "  first divergence at " << name << ": " << n << "\n";
    return identical_ == records_ ? 0 : 1;
  }

 private:
  int trouble(const Diag& diag) {
    std::cerr << "tgc: " << diag.text() << "\n";
    return 2;
  }

  void differ(const GoldenRecord& r, std::string_view stage, std::string_view ours, std::string_view theirs) {
    if (shown_ >= o_.show) return;
    shown_++;
    std::cout << "--- " << r.id << " (" << r.target << "), stage '" << stage << "'\n";
    size_t line = 0, at = 0, bt = 0;
    while (at < ours.size() || bt < theirs.size()) {
      size_t ae = std::min(ours.find('\n', at), ours.size()), be = std::min(theirs.find('\n', bt), theirs.size());
      auto a = ours.substr(std::min(at, ours.size()), ae - std::min(at, ours.size())), b = theirs.substr(std::min(bt, theirs.size()), be - std::min(bt, theirs.size()));
      if (a != b) {
        std::cout << "  line " << line + 1 << "\n  tinygrad: " << b << "\n  tgc:      " << a << "\n";
        return;
      }
      line++, at = ae + 1, bt = be + 1;
    }
  }

  void check(const GoldenRecord& r, const Settings& settings) {
    auto target = parse_target(r.target, settings);
    bool all_same = true;
    std::string_view first;
    auto diverge = [&](std::string_view stage) {
      all_same = false;
      if (first.empty()) first = stage;
    };
    if (!target) {
      diverge("target");
    } else {
      auto graph = std::make_unique<Graph>(settings);
      auto job = std::make_unique<KernelJob>(*graph, *target);
      auto ast = read_pyrender(*graph, r.ast, r.id);
      if (!ast) diverge("ast");
      UOp current = ast ? *ast : UOp();
      if (current && current.tag().is_none() == false) job->optimize = false;
      if (current && current.arg().is_none()) current = current.with_arg(graph->record(RecordClass::KernelInfo, {graph->str("test"), graph->tuple({}), false, graph->tuple({}), Arg()}));
      std::string text = r.ast;
      for (const GoldenStage& g : r.stages) {
        if (!current) break;
        Counts& counts = counts_[g.name];
        const Stage* stage = find_stage(g.name);
        std::string expected = g.same ? text : g.ir.value_or("");
        if (!stage) {
          counts.skipped++;
          if (!o_.isolated) break;
        } else {
          auto out = run_stage(*stage, *job, current);
          if (!out) {
            counts.error++;
            if (shown_ < o_.show) shown_++, std::cout << "--- " << r.id << " (" << r.target << "): " << out.diag().text() << "\n";
            diverge(g.name);
            if (!o_.isolated) break;
          } else {
            auto ours = pyrender(*out);
            bool same = ours && *ours == expected;
            if (g.same && g.ir == std::nullopt && *out == current) same = true;
            if (same) {
              counts.same++;
              current = *out;
            } else {
              counts.different++;
              differ(r, g.name, ours ? *ours : ours.diag().text(), expected);
              diverge(g.name);
              if (!o_.isolated) break;
            }
          }
        }
        text = expected;
        if (o_.isolated && !expected.empty() && !g.same) {  // the next stage starts from tinygrad's own graph
          graph = std::make_unique<Graph>(settings);
          job = std::make_unique<KernelJob>(*graph, *target);
          auto next = read_pyrender(*graph, expected, r.id);
          current = next ? *next : UOp();
        }
      }
    }
    if (all_same) identical_++;
    else first_[std::string(first)]++;
  }

  const CheckOptions& o_;
  size_t records_ = 0, identical_ = 0;
  int shown_ = 0;
  std::map<std::string, Counts> counts_;
  std::map<std::string, size_t> first_;
};

}  // namespace

void add_check(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* cmd = app.add_subcommand("check", "replay golden records, compare every stage");
  cmd->add_option("goldens", options->files, "golden files, plain or gzip")->required();
  cmd->add_option("--stages", options->stages, "the stages to compare");
  cmd->add_option("--id", options->id, "only the record of that id");
  cmd->add_flag("--isolated", options->isolated, "start every stage from tinygrad's graph of the stage before, to test each on its own");
  cmd->add_option("--show", options->show, "print the first N differences");
  cmd->callback([options, &exit_code] { exit_code = Checker(*options).run(); });
}

}  // namespace tgc
