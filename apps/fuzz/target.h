// What is fuzzed: each target takes any bytes and must come back. A signal, a sanitizer's report, an uncaught
// exception, an "internal error" or a broken promise (what was written is not read) is a finding. The same targets are
// run by libFuzzer (preset fuzz) and by a plain loop (every other build); testdata/fuzz/README.md says how.
#pragma once
#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"

namespace tgc::fuzz {

using Bytes = std::span<const uint8_t>;

struct Target {
  std::string_view name;  // of its corpus in testdata/fuzz, too
  void (*run)(Bytes);
  size_t longest = 4096;  // bytes that it is given at most
  size_t step = 1;        // its bytes are records of that length: mutations keep them whole
  bool has_words = false; // it reads a language: mutations put words and lines of it in the place of others, too
};
std::span<const Target> all_targets();
const Target* find_target(std::string_view name);

// The targets of each file.
void read_pyrender(Bytes), read_repr(Bytes), read_uops(Bytes), read_json(Bytes), read_repro(Bytes), read_records(Bytes);
void read_onnx(Bytes), read_weights(Bytes), read_npy_bytes(Bytes), read_npz_bytes(Bytes);
void read_gzip(Bytes), read_trace_bytes(Bytes), read_cache_entry(Bytes), read_words(Bytes);
void read_request(Bytes);
void run_code_object(Bytes), run_ptx(Bytes);
void run_kernel(Bytes), run_stage_graph(Bytes), run_list(Bytes), run_tensor(Bytes);

// Counts the inputs that were not refused but run, of targets that call it: a campaign's, across its processes.
void count_as_run();
extern std::atomic<uint64_t>* run_inputs;

// Says what is wrong and ends the process by SIGABRT.
[[noreturn]] void finding(const std::string& what);
inline void must(bool holds, const std::string& what) {
  if (!holds) finding(what);
}

// A refusal has a message, and never that of a broken invariant.
void must_say(const Diag& diag);
template <class T>
const Result<T>& must_say(const Result<T>& result) {
  if (!result.ok()) must_say(result.diag());
  return result;
}

inline std::string_view text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// Bytes as a file, for what takes a path; in memory alone, gone with its owner.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes = {});
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  int fd_;
  std::string path_;
};

// Damages `bytes` a little, or joins them with `other`; `random` is any number. Records of `step` bytes stay whole.
void damage(std::vector<uint8_t>& bytes, Bytes other, uint64_t random, const Target& target);

}  // namespace tgc::fuzz
