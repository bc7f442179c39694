// Fuzz targets. A target takes any bytes and must return. A signal, a hang, a sanitizer report, an uncaught exception,
// an "internal error" or a failed check, such as written text that cannot be read, is a finding. libFuzzer (preset
// fuzz) and a plain loop (every other build) run the same targets; see testdata/fuzz/README.md.
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

struct FuzzTarget {
  std::string_view name;  // the target's name, and that of the folder with its corpus in testdata/fuzz
  void (*run)(Bytes);
  size_t max_input_bytes = 4096;
  size_t record_bytes = 1;  // size in bytes of the records that the input consists of; mutations keep records whole
  bool is_text_input = false;  // true: the input is text, and mutations also replace words and lines
};
std::span<const FuzzTarget> all_fuzz_targets();
const FuzzTarget* find_fuzz_target(std::string_view name);

// The functions of the targets, which the *_targets.cpp files and mutant_run.cpp define.
void read_pyrender(Bytes), read_repr(Bytes), read_uops(Bytes), read_json(Bytes), read_repro(Bytes), read_records(Bytes);
void read_onnx(Bytes), read_weights(Bytes), read_npy_bytes(Bytes), read_npz_bytes(Bytes);
void read_gzip(Bytes), read_trace_bytes(Bytes), read_cache_entry(Bytes), read_words(Bytes);
void read_profile(Bytes);
void read_request(Bytes);
void run_code_object(Bytes), run_ptx(Bytes);
void read_recordings_of_releases(Bytes);
void load_elf_object(Bytes);
void run_kernel(Bytes), run_stage_graph(Bytes), run_list(Bytes), run_tensor(Bytes);

// Counts one input that was run and not refused. Only some targets call this. A campaign's processes share the count.
void count_run_input();
extern std::atomic<uint64_t>* run_input_count;

// Prints the finding and ends the process by SIGABRT.
[[noreturn]] void report_finding(const std::string& what);
inline void require_condition(bool holds, const std::string& what) {
  if (!holds) report_finding(what);
}

// Reports a finding if the error has no message or is an "internal error", the message of a broken invariant.
void check_message(const Diag& diag);
template <class T>
const Result<T>& check_message(const Result<T>& result) {
  if (!result.ok()) check_message(result.diag());
  return result;
}

inline std::string_view bytes_as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A file in memory that has a path, for functions that take a path. The destructor removes the file.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes = {});
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  int descriptor_;
  std::string path_;
};

// Mutates `bytes` or joins them with a part of `other`; `random` chooses how. Keeps records of target.record_bytes
// bytes whole.
void mutate_bytes(std::vector<uint8_t>& bytes, Bytes other, uint64_t random, const FuzzTarget& target);

}  // namespace tgc::fuzz
