// tgc check GOLDENS...: replay golden records and compare every stage, to the letter.
#include <CLI/CLI.hpp>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "apps/tgc/check_record.h"
#include "apps/tgc/commands.h"
#include "apps/tgc/terminal.h"
#include "lib/text/golden.h"
#include "lib/text/json_scan.h"

namespace tgc {
namespace {

struct CheckOptions {
  std::vector<std::string> files;
  std::string stages, id, filter;
  bool json = false, isolated = false, list = false;
  int show = 0;
  unsigned jobs = 0;
};

struct Counts {
  size_t same = 0, different = 0, error = 0, skipped = 0;
  void add(Verdict v) { (v == Verdict::Same ? same : v == Verdict::Different ? different : v == Verdict::Error ? error : skipped)++; }
};

// Counts by name, in the order the names first came.
template <class T>
class Tally {
 public:
  T& operator[](const std::string& name) {
    auto [it, is_new] = index_.emplace(name, items_.size());
    if (is_new) items_.emplace_back(name, T());
    return items_[it->second].second;
  }
  const std::vector<std::pair<std::string, T>>& items() const { return items_; }

 private:
  std::map<std::string, size_t> index_;
  std::vector<std::pair<std::string, T>> items_;
};

// Adds up the reports, in the order of the records, and prints differences as they come.
class Summary {
 public:
  Summary(const CheckOptions& options) : o_(options) {}

  void add(const std::string& file, const RecordReport& report) {
    records_++;
    bool error = false;
    for (const CheckItem& item : report.items) {
      counts_[item.name].add(item.verdict);
      error |= item.verdict == Verdict::Error;
    }
    errors_ += error;
    if (report.identical()) {
      identical_++;
    } else if (report.first.empty()) {
      skipped_++;
      why_skipped_[report.skipped]++;
    } else {
      first_[report.first]++;
      if (o_.list && !o_.json) show(report.id + "\t" + report.target + "\t" + report.first + "\n");
      if (shown_ < o_.show) shown_++, explain(file, report);
    }
    progress_.show(std::to_string(records_) + " records, " + std::to_string(identical_) + " identical");
  }

  int finish() {
    progress_.clear();
    print(o_.json ? json() : text());
    if (records_ > 0 && skipped_ == records_) return trouble(Diag{.message = "nothing was compared: tgc can replay none of the records"});
    return identical_ + skipped_ == records_ ? 0 : 1;
  }

 private:
  // With --json standard output is the JSON alone.
  void show(const std::string& text) {
    progress_.clear();
    if (o_.json) std::fputs(text.c_str(), stderr);
    else print(text), std::fflush(stdout);
  }

  void explain(const std::string& file, const RecordReport& r) {
    show("--- " + r.id + " (" + r.target + "): " + r.first + "\n" + r.explanation +
         "  again: tgc check " + file + " --id=" + r.id + (r.first == "text" ? " --stages=text" : "") + " --filter=" + r.target + " --show=1\n");
  }

  std::string text() const {
    std::string out = std::to_string(records_) + " records, " + std::to_string(identical_) + " identical";
    out += skipped_ ? ", " + std::to_string(skipped_) + " skipped\n" : "\n";
    size_t width = 5;
    for (auto& [name, c] : counts_.items()) width = std::max(width, name.size());
    auto row = [&](const std::string& name, auto a, auto b, auto c, auto d) {
      char buffer[256];
      std::snprintf(buffer, sizeof buffer, "  %-*s %9s %9s %9s %9s\n", int(width), name.c_str(), a.c_str(), b.c_str(), c.c_str(), d.c_str());
      out += buffer;
    };
    auto number = [](size_t n) { return n ? std::to_string(n) : std::string("-"); };
    using S = std::string;
    if (!counts_.items().empty()) row("stage", S("same"), S("different"), S("error"), S("skipped"));
    for (auto& [name, c] : counts_.items()) row(name, number(c.same), number(c.different), number(c.error), number(c.skipped));
    for (auto& [name, n] : first_.items()) out += "first divergence at " + name + ": " + std::to_string(n) + "\n";
    for (auto& [why, n] : why_skipped_.items()) out += "skipped: " + std::to_string(n) + ": " + why + "\n";
    return out;
  }

  std::string json() const {
    std::string out = "{\"records\":" + std::to_string(records_) + ",\"identical\":" + std::to_string(identical_) + ",\"errors\":" + std::to_string(errors_);
    auto object = [&](std::string_view key, const auto& items, auto value) {
      out.append(",\"").append(key).append("\":{");
      bool first = true;
      for (auto& [name, v] : items) {
        if (!first) out += ',';
        first = false;
        append_json_string(out, name);
        out += ':';
        value(v);
      }
      out += '}';
    };
    object("stages", counts_.items(), [&](const Counts& c) {
      out += "{\"same\":" + std::to_string(c.same) + ",\"different\":" + std::to_string(c.different) + ",\"error\":" + std::to_string(c.error) +
             ",\"skipped\":" + std::to_string(c.skipped) + "}";
    });
    object("first_divergence", first_.items(), [&](size_t n) { out += std::to_string(n); });
    if (skipped_) object("skipped", why_skipped_.items(), [&](size_t n) { out += std::to_string(n); });
    return out + "}\n";
  }

  const CheckOptions& o_;
  Progress progress_;
  size_t records_ = 0, identical_ = 0, errors_ = 0, skipped_ = 0;
  int shown_ = 0;
  Tally<Counts> counts_;
  Tally<size_t> first_, why_skipped_;
};

Result<Settings> settings_from(const GoldenSettings& recorded) {
  Settings settings;
  for (auto& [key, value] : recorded)
    if (auto status = settings.set(key, value); !status) return status.diag();
  return settings;
}

// Hands records to threads and their reports, in order, to the summary. At most a few records per thread are held at a time.
class Pool {
 public:
  Pool(unsigned jobs, const CheckPlan& plan, const CheckOptions& options, Summary& summary) : plan_(plan), o_(options), summary_(summary), limit_(4 * jobs) {
    for (unsigned i = 0; i < jobs; i++) threads_.emplace_back([this] { work(); });
  }
  ~Pool() { finish(); }

  // False when a record could not be read; the diag is then in `trouble`.
  bool submit(const std::string& file, const GoldenHeader& header, const Settings& settings, GoldenLine&& line) {
    std::unique_lock lock(mutex_);
    space_.wait(lock, [&] { return submitted_ - reported_ < limit_ || failed_; });
    if (failed_) return false;
    tasks_[submitted_++] = {file, &header, settings, std::move(line)};
    ready_.notify_one();
    return true;
  }
  // Waits for all; returns the first trouble, if any.
  std::optional<Diag> finish() {
    {
      std::lock_guard lock(mutex_);
      closed_ = true;
    }
    ready_.notify_all();
    for (auto& t : threads_) t.join();
    threads_.clear();
    return trouble_;
  }

 private:
  struct Task {
    std::string file;
    const GoldenHeader* header;
    Settings settings;  // the header's
    GoldenLine line;
  };
  struct Outcome {
    std::string file;
    std::optional<Result<RecordReport>> report;  // absent: not asked for
  };

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      ready_.wait(lock, [&] { return next_ < submitted_ || closed_; });
      if (next_ == submitted_) return;
      size_t number = next_++;
      Task task = std::move(tasks_.extract(number).mapped());
      lock.unlock();
      Outcome outcome{task.file, run(task)};
      lock.lock();
      done_[number] = std::move(outcome);
      report();
    }
  }

  std::optional<Result<RecordReport>> run(const Task& task) {
    auto record = parse_golden_record(task.line, task.file);
    if (!record) return Result<RecordReport>(record.diag());
    if (!o_.id.empty() && record->id != o_.id) return std::nullopt;
    if (!o_.filter.empty() && record->id.find(o_.filter) == std::string::npos && record->target.find(o_.filter) == std::string::npos) return std::nullopt;
    auto report = catch_failures([&] {
      if (record->settings.empty()) return check_record(*record, task.settings, plan_);
      return check_record(*record, settings_from(settings_of(*task.header, *record)).value_or_throw(), plan_);
    });
    return report;
  }

  // The outcomes that are next in order.
  void report() {
    for (auto it = done_.find(reported_); it != done_.end(); it = done_.find(reported_)) {
      if (auto& r = it->second.report; r && !failed_) {
        if (*r) summary_.add(it->second.file, **r);
        else failed_ = true, trouble_ = r->diag();
      }
      done_.erase(it);
      reported_++;
    }
    space_.notify_all();
  }

  const CheckPlan& plan_;
  const CheckOptions& o_;
  Summary& summary_;
  const size_t limit_;
  std::mutex mutex_;
  std::condition_variable ready_, space_;
  std::map<size_t, Task> tasks_;
  std::map<size_t, Outcome> done_;
  size_t submitted_ = 0, next_ = 0, reported_ = 0;
  bool closed_ = false, failed_ = false;
  std::optional<Diag> trouble_;
  std::vector<std::thread> threads_;
};

// FILE#ID picks one record.
std::pair<std::string, std::string> split_id(const std::string& file) {
  size_t hash = file.rfind('#');
  return hash == file.npos ? std::pair(file, std::string()) : std::pair(file.substr(0, hash), file.substr(hash + 1));
}

int check(CheckOptions o) {
  auto plan = make_check_plan(o.stages);
  if (!plan) return trouble(plan.diag());
  plan->isolated = o.isolated;
  plan->explain = o.show > 0;
  plan->color = use_color(o.json ? 2 : 1);
  if (o.jobs == 0) o.jobs = unsigned(Settings().cpu_count());
  Summary summary(o);
  bool found = false;
  for (const std::string& spec : o.files) {
    auto [file, id] = split_id(spec);
    if (!id.empty()) o.id = id;
    auto reader = GoldenReader::open(file);
    if (!reader) return trouble(reader.diag());
    auto settings = settings_from(reader->header().settings);
    if (!settings) return trouble(settings.diag());
    Pool pool(o.jobs, *plan, o, summary);
    GoldenLine line;
    for (;;) {
      auto more = reader->next_line(line);
      if (!more) return trouble(more.diag());
      if (!*more) break;
      if (!o.id.empty() && line.text.find(o.id) == std::string::npos) continue;  // spares the parsing
      found = true;
      if (!pool.submit(file, reader->header(), *settings, std::move(line))) break;
      line = {};
    }
    if (auto bad = pool.finish()) return trouble(*bad);
    if (reader->cut()) warn(*reader->cut());
  }
  if (!o.id.empty() && !found) return trouble(Diag{.message = "no record has the id '" + o.id + "'"});
  return summary.finish();
}

}  // namespace

void add_check(CLI::App& app, int& exit_code) {
  auto o = std::make_shared<CheckOptions>();
  CLI::App* cmd = app.add_subcommand("check", "replay golden records, compare every stage to the letter");
  cmd->add_option("GOLDENS", o->files, "golden files, plain or gzip; FILE#ID: that record alone")->required();
  cmd->add_option("--stages", o->stages,
                  "what to compare: names, aliases, spans a..b, and graphs (all graph stages), linear, source, program, kernels, text (read every "
                  "text and write it back), forms (the same by way of JSON and repr), all; separated by commas. Default: all but text and forms")
      ->type_name("LIST");
  cmd->add_flag("--json", o->json, "print the counts as JSON");
  cmd->add_option("--show", o->show, "show the first N differences, each with its first stage and a line diff")->type_name("N");
  cmd->add_flag("--list", o->list, "print a line for each record that differs: id, target, first stage");
  cmd->add_option("--id", o->id, "only the record of that id")->type_name("ID");
  cmd->add_option("--filter", o->filter, "only records whose id or target contains TEXT")->type_name("TEXT");
  cmd->add_flag("--isolated", o->isolated, "start every stage from tinygrad's graph of the stage before, to test each on its own");
  cmd->add_option("-j", o->jobs, "threads; default: one per processor")->type_name("N")->check(CLI::Range(1, 1024));
  cmd->callback([o, &exit_code] { exit_code = check(*o); });
}

}  // namespace tgc
