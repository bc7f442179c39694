// Estimates the registers of a PTX kernel by the live ranges of its virtual registers.
#include <algorithm>
#include <map>
#include <string>

#include "lib/compile/backends.h"
#include "lib/compile/resources.h"
#include "lib/support/lines.h"

namespace tgc {
namespace {

struct LiveRange {
  size_t begin = 0, end = 0;
};

// A branch to a label of an earlier line counts as a loop.
class PtxKernel {
 public:
  explicit PtxKernel(std::string_view name) {
    resources_.kernel = name;
    resources_.reporter_name = "an estimate from the live ranges in PTX, because ptxas is missing";
    resources_.is_estimate = true;
    resources_.shared_bytes = 0;
  }

  void add_line(std::string_view line) {
    num_lines_++;
    if (line.starts_with(".reg")) return add_registers(line.substr(4));
    if (line.starts_with(".maxntid")) resources_.max_threads = dimension_product(line.substr(8));
    if (line.starts_with(".shared") && line.find('[') != line.npos) add_shared_bytes(line);
    if (line.ends_with(":")) labels_[std::string(line.substr(0, line.size() - 1))] = num_lines_;
    for (size_t at = 0; (at = line.find('%', at)) != line.npos;) {
      size_t end = at + 1;
      while (end < line.size() && (is_word_char(line[end]))) end++;
      extend_live_range(std::string(line.substr(at, end - at)));
      at = end;
    }
    if (line.find("bra") == line.npos) return;
    const size_t space = line.find_last_of(" \t");
    auto label = labels_.find(std::string(line.substr(space + 1, line.find(';') - space - 1)));
    if (label != labels_.end()) loops_.push_back({label->second, num_lines_});
  }

  KernelResources estimate_resources() {
    // a register that is live when a loop begins and used within it is live until the loop ends
    std::ranges::sort(loops_, {}, &LiveRange::end);
    for (const LiveRange& loop : loops_)
      for (auto& [name, range] : live_ranges_)
        if (range.begin < loop.begin && range.end >= loop.begin) range.end = std::max(range.end, loop.end);
    std::map<size_t, int64_t> changes;
    for (const auto& [name, range] : live_ranges_) {
      const int64_t words = register_words(name);
      changes[range.begin] += words, changes[range.end] -= words;
    }
    int64_t live = 0, most = 0;
    for (auto [line, change] : changes) most = std::max(most, live += change);
    resources_.num_vector_registers = uint32_t(most + kReservedRegisters);
    return resources_;
  }

 private:
  // for thread numbers and addresses of the launch, which PTX does not name
  static constexpr int64_t kReservedRegisters = 6;

  static uint32_t dimension_product(std::string_view text) {
    uint32_t out = 1;
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find(',', at), text.size());
      if (uint32_t n = uint32_t(std::atoi(std::string(text.substr(at, end - at)).c_str()))) out *= n;
      at = end + 1;
    }
    return out;
  }
  void add_shared_bytes(std::string_view line) {
    resources_.shared_bytes =
        *resources_.shared_bytes + uint32_t(std::atoi(std::string(line.substr(line.find('[') + 1)).c_str()));
  }
  // Stores the sizes of declared registers in register_words_. ".b32 %r<12>;" declares the registers with the prefix
  // %r, and ".f32 %acc_0, %b;" the registers with these names.
  void add_registers(std::string_view line) {
    const std::string_view text = trimmed_line(line);
    const size_t space = text.find_first_of(" \t");
    if (space == text.npos) return;
    const std::string_view type = text.substr(0, space);
    const int64_t words = type == ".pred" ? 0 : type.ends_with("64") ? 2 : type.ends_with("128") ? 4 : 1;
    for (size_t at = 0; (at = text.find('%', at)) != text.npos;) {
      size_t end = at + 1;
      while (end < text.size() && is_word_char(text[end])) end++;
      register_words_[std::string(text.substr(at, end - at))] = words;
      at = end;
    }
  }
  int64_t register_words(const std::string& name) const {
    auto found = register_words_.find(name);
    if (found == register_words_.end())
      found = register_words_.find(name.substr(0, name.find_last_not_of("0123456789") + 1));
    return found == register_words_.end() ? 0 : found->second;  // unknown: a special register such as %tid
  }
  void extend_live_range(const std::string& name) {
    auto [at, is_new] = live_ranges_.try_emplace(name, LiveRange{num_lines_, num_lines_});
    at->second.end = num_lines_;
  }

  KernelResources resources_;
  size_t num_lines_ = 0;
  std::map<std::string, int64_t> register_words_;  // by the register's name or prefix
  std::map<std::string, LiveRange> live_ranges_;
  std::map<std::string, size_t> labels_;
  std::vector<LiveRange> loops_;
};

}  // namespace

std::vector<KernelResources> estimate_ptx_resources(std::string_view ptx) {
  std::vector<KernelResources> out;
  std::optional<PtxKernel> kernel;
  uint32_t shared = 0;  // bytes that the module declares outside of kernels, as clang does
  for (std::string_view raw : lines_of(ptx)) {
    const std::string_view line = trimmed_line(raw.substr(0, raw.find("//")));
    if (size_t at = line.find(".entry "); at != line.npos) {
      const std::string_view name = trimmed_line(line.substr(at + 7));
      kernel.emplace(name.substr(0, name.find_first_of("( \t")));
    } else if (kernel && line == "}" && raw.starts_with("}")) {
      out.push_back(kernel->estimate_resources());
      kernel.reset();
    } else if (kernel) {
      kernel->add_line(line);
    } else if (line.starts_with(".shared") || line.find(" .shared ") != line.npos) {
      if (size_t open = line.find('['); open != line.npos)
        shared += uint32_t(std::atoi(std::string(line.substr(open + 1)).c_str()));
    }
  }
  for (KernelResources& k : out) k.shared_bytes = *k.shared_bytes + shared;
  return out;
}

}  // namespace tgc
