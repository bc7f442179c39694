// Fuzz targets. A target takes any bytes and must return: a crash, a hang or a failed check, such as written text that
// cannot be read, is a finding. libFuzzer (preset fuzz) and tgc_fuzz run the same targets; see testdata/fuzz/README.md.
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
  std::string_view name;  // also names the folder of its corpus in testdata/fuzz
  void (*run)(Bytes);
  size_t max_input_bytes = 4096;
  size_t record_bytes = 1;  // size of a record of the input (see mutate_bytes)
  bool is_text_input = false;  // the input is text: mutations also replace words and lines
};
std::span<const FuzzTarget> all_fuzz_targets();
const FuzzTarget* find_fuzz_target(std::string_view name);

// Defined in the *_targets.cpp files and mutant_run.cpp.
void read_pyrender(Bytes), read_repr(Bytes), read_uops(Bytes), read_json(Bytes), read_repro(Bytes), read_records(Bytes);
void read_onnx(Bytes), read_weights(Bytes), read_npy_bytes(Bytes), read_npz_bytes(Bytes);
void read_gzip(Bytes), read_trace_bytes(Bytes), read_cache_entry(Bytes), read_words(Bytes);
void read_profile(Bytes);
void read_request(Bytes);
void run_code_object(Bytes), run_ptx(Bytes);
void read_recordings_of_releases(Bytes);
void load_elf_object(Bytes);
void run_kernel(Bytes), run_stage_graph(Bytes), run_list(Bytes), run_tensor(Bytes);

// Counts an input that a target accepted and ran. Only some targets call this function. The processes of run_target()
// share the count.
void count_run_input();
extern std::atomic<uint64_t>* run_input_counter;

// Prints the finding and ends the process by SIGABRT.
[[noreturn]] void report_finding(const std::string& what);
inline void require_condition(bool holds, const std::string& what) {
  if (!holds) report_finding(what);
}

// Reports a finding if the error has no message or is an "internal error" (a broken invariant).
void check_message(const Diag& diag);
template <class T>
const Result<T>& check_message(const Result<T>& result) {
  if (!result.ok()) check_message(result.diag());
  return result;
}

inline std::string_view bytes_as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A file in memory with a path. The destructor removes it.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes = {});
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  int file_descriptor_;
  std::string path_;
};

// Mutates `bytes`, also with parts of `other`, as `random` chooses. If both consist of whole records of
// target.record_bytes bytes, so does the result.
void mutate_bytes(std::vector<uint8_t>& bytes, Bytes other, uint64_t random, const FuzzTarget& target);

}  // namespace tgc::fuzz
