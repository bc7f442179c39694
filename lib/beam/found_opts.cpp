#include "lib/beam/found_opts.h"

#include <filesystem>
#include <map>
#include <mutex>

#include "lib/beam/beam.h"
#include "lib/beam/results.h"
#include "lib/support/counted.h"
#include "lib/uop/facts.h"
#include "passes/kernel/optimizer/optimizer.h"

namespace tgc {
namespace {

class OptsFinder {
 public:
  OptsFinder(std::unique_ptr<BeamResults> results, int64_t width) : results_(std::move(results)), beam_width_(width) {}

  std::optional<std::vector<Opt>> find(const Scheduler& kernel) {
    std::string target = kernel.target().name();
    Sha256 key = key_of(kernel.ast());
    std::lock_guard lock(mutex_);
    auto [device, is_new] = devices_.try_emplace(target);
    if (is_new) device->second = device_name(target);
    auto known = results_ ? results_->find_result(key, target, device->second, beam_width_) : std::nullopt;
    known ? num_found_++ : num_not_found_++;
    if (!known) return std::nullopt;
    return read_opt_list(kernel.graph(), known->opts);
  }

  std::string summary_text() {
    std::lock_guard lock(mutex_);
    return "BEAM=" + std::to_string(beam_width_) + ": " + count_text(num_found_, "kernel") +
           " with opts that `tgc beam` has found, " + count_text(num_not_found_, "kernel") + " by hand-coded opts";
  }

 private:
  std::mutex mutex_;  // several threads compile kernels
  std::unique_ptr<BeamResults> results_;
  int64_t beam_width_;
  std::map<std::string, std::string> devices_;
  size_t num_found_ = 0, num_not_found_ = 0;
};

std::shared_ptr<OptsFinder>& installed_finder() {
  static std::shared_ptr<OptsFinder> found;
  return found;
}

}  // namespace

Status use_found_opts(const std::string& path, int64_t width) {
  return catch_failures([&] {
    std::unique_ptr<BeamResults> results;
    if (std::filesystem::exists(path)) results = std::make_unique<BeamResults>(path, SqliteDatabase::Mode::Read);
    installed_finder() = std::make_shared<OptsFinder>(std::move(results), width);
    set_find_opts([found = installed_finder()](const Scheduler& kernel) { return found->find(kernel); });
    return Unit{};
  });
}

std::string found_opts_note() { return installed_finder() ? installed_finder()->summary_text() : ""; }

}  // namespace tgc
