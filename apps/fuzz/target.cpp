#include "apps/fuzz/target.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "lib/fuzz/mutant.h"

namespace tgc::fuzz {

std::span<const FuzzTarget> all_fuzz_targets() {
  static constexpr FuzzTarget kTargets[] = {
      {"pyrender", read_pyrender},
      {"repr", read_repr},
      {"uops", read_uops},
      {"json", read_json},
      {"repro", read_repro},
      {"golden", read_records},
      {"recordings", read_recordings_of_releases, 16},
      {"elf", load_elf_object, 1 << 14},
      {"onnx", read_onnx},
      {"safetensors", read_weights},
      {"npy", read_npy_bytes},
      {"npz", read_npz_bytes},
      {"gzip", read_gzip},
      {"profile", read_profile, 1 << 16},
      {"trace", read_trace_bytes},
      {"cache", read_cache_entry},
      {"words", read_words, 200}, {"request", read_request},
      {"hsaco", run_code_object, 12288},
      {"ptx", run_ptx, 12288, 1, true},
      {"kernels", run_kernel, 160, kMutationStepBytes},
      {"stages", run_stage_graph, 160, kMutationStepBytes},
      {"lists", run_list, 160, kMutationStepBytes},
      {"tensors", run_tensor, 160, kMutationStepBytes},
  };
  return kTargets;
}

const FuzzTarget* find_fuzz_target(std::string_view name) {
  auto found = std::ranges::find(all_fuzz_targets(), name, &FuzzTarget::name);
  return found == all_fuzz_targets().end() ? nullptr : &*found;
}

std::atomic<uint64_t>* run_input_counter = nullptr;
void count_run_input() {
  if (run_input_counter) ++*run_input_counter;
}

void report_finding(const std::string& what) {
  std::fprintf(stderr, "fuzz: %s\n", what.c_str());
  std::abort();
}

void check_message(const Diag& diag) {
  require_condition(!diag.message.empty(), "a refusal without a message");
  require_condition(diag.message.find("internal error") == std::string::npos, diag.text());
}

MemoryFile::MemoryFile(std::string_view bytes) : file_descriptor_(memfd_create("fuzz", MFD_CLOEXEC)) {
  if (file_descriptor_ < 0) report_finding("cannot make a file in memory");
  path_ = "/proc/self/fd/" + std::to_string(file_descriptor_);
  while (!bytes.empty()) {
    ssize_t n = ::write(file_descriptor_, bytes.data(), bytes.size());
    if (n <= 0) report_finding("cannot write a file in memory");
    bytes.remove_prefix(size_t(n));
  }
}
MemoryFile::~MemoryFile() { ::close(file_descriptor_); }

namespace {

// Texts that parsers look for, which mutations insert.
constexpr std::string_view kTokens[] = {
    "UOp(Ops.", "dtypes.", ".ptr(", "AxisType.", "(", ")", "[", "]", "{", "}", "\"", "'", ",", ":", "\n", "\\", "#",
    "-1", "0", "9223372036854775807", "9223372036854775808", "18446744073709551616", "1e999", "nan", "inf", "None",
    "Invalid", "\"id\":", "\"src\":[", "\"op\":\"", "null", "[\"end\",0,null]", "[\"begin\",0,\"\",0,0,true,\"\"]",
    "\x93NUMPY", "PK\x03\x04", "PK\x05\x06", "\xff\xff\xff\xff", "\x1f\x8b\x08"};

bool is_word_char(uint8_t c) { return std::isalnum(c) || c == '_' || c == '%' || c == '$' || c == '.'; }
// The word at or after position `at` or, if `is_line`, the line; as [first, last).
std::pair<size_t, size_t> word_range_at(Bytes text, size_t at, bool is_line) {
  auto belongs = [&](size_t i) { return is_line ? text[i] != '\n' : is_word_char(text[i]); };
  while (at < text.size() && !belongs(at)) at++;
  size_t first = at;
  while (first > 0 && belongs(first - 1)) first--;
  while (at < text.size() && belongs(at)) at++;
  return {first, at};
}
// Replaces a word or line of the text by one of `other`, or inserts a line of `other` after a line.
void exchange_words(std::vector<uint8_t>& text, Bytes other, uint64_t random) {
  bool is_line = random % 4 == 0, stays = random % 8 == 0;
  auto [from, to] = word_range_at(other, random / 8 % (other.size() + 1), is_line);
  auto [first, last] = word_range_at(text, random / 8 / (other.size() + 1) % (text.size() + 1), is_line);
  std::vector<uint8_t> taken(other.begin() + int64_t(from), other.begin() + int64_t(to));
  if (stays) taken.insert(taken.begin(), '\n');
  auto place = text.begin() + int64_t(last);
  if (!stays) place = text.erase(text.begin() + int64_t(first), place);
  text.insert(place, taken.begin(), taken.end());
}

}  // namespace

void mutate_bytes(std::vector<uint8_t>& bytes, Bytes other, uint64_t random, const FuzzTarget& target) {
  std::mt19937_64 next(random);
  const size_t step = target.record_bytes;
  auto below = [&](size_t n) { return n ? size_t(next() % n) : 0; };
  auto record = [&](size_t size) { return below(size / step) * step; };
  for (size_t n = 1 + below(4); n > 0; n--) {
    if (target.is_text_input && below(4)) {
      const std::vector<uint8_t> own = bytes;
      exchange_words(bytes, below(8) ? Bytes(own) : other, next());
      continue;
    }
    size_t at = record(bytes.size() + step), end = std::min(bytes.size(), at + step * (1 + below(8)));
    auto place = bytes.begin() + int64_t(std::min(at, bytes.size()));
    switch (below(8)) {
      case 0:
        if (!bytes.empty()) bytes[below(bytes.size())] ^= uint8_t(1u << below(8));
        break;
      case 1:
        if (!bytes.empty()) bytes[below(bytes.size())] = uint8_t(next());
        break;
      case 2:
        if (at < end) bytes.erase(place, bytes.begin() + int64_t(end));
        break;
      case 3: {
        std::vector<uint8_t> fresh(step);
        for (uint8_t& b : fresh) b = uint8_t(next());
        bytes.insert(place, fresh.begin(), fresh.end());
        break;
      }
      case 4:
        if (step == 1) {
          std::string_view token = kTokens[below(std::size(kTokens))];
          bytes.insert(place, token.begin(), token.end());
        }
        break;
      case 5:
        if (at < end) {
          std::vector<uint8_t> part(place, bytes.begin() + int64_t(end));
          bytes.insert(bytes.begin() + int64_t(std::min(record(bytes.size() + step), bytes.size())), part.begin(),
                       part.end());
        }
        break;
      case 6:
        if (size_t from = record(other.size() + step); from < other.size()) {
          bytes.resize(std::min(at, bytes.size()));
          bytes.insert(bytes.end(), other.begin() + int64_t(from), other.end());
        }
        break;
      default:
        if (bytes.size() >= 4) {
          static constexpr uint32_t kEdges[] = {0, 1, 0x7F, 0x80, 0xFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF};
          uint32_t value = kEdges[below(std::size(kEdges))];
          size_t width = size_t(1) << below(3), to = below(bytes.size() - width + 1);
          for (size_t i = 0; i < width; i++) bytes[to + i] = uint8_t(value >> 8 * i);
        }
    }
  }
  if (bytes.size() > target.max_input_bytes) bytes.resize(target.max_input_bytes);
}

}  // namespace tgc::fuzz
