// Golden records: what tinygrad did with one kernel or one tensor graph, as JSON lines, plain or gzip (see the README's formats).
// Records are read one at a time, so memory is linear in the largest record.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

struct GoldenStage {
  std::string name;
  bool same = false;              // the very graph of the stage before
  std::optional<std::string> ir;  // pyrender; absent where same, or where tinygrad's own pyrender failed
};

// A kernel's launch facts, as text exactly as tinygrad prints them.
struct GoldenProgram {
  std::string name, function_name, applied_opts, ops, lds, mem;
  std::vector<std::string> global_size, local_size, vars;  // sizes: integers, or the text of an expression
  bool has_local_size = true;
  std::vector<int64_t> globals, outs, ins;
};

struct GoldenBuffer {
  int64_t base = 0, offset = 0, size = 0;
  std::string dtype;
};

struct GoldenKernel {  // of a tensor record
  std::string ast;
  std::vector<GoldenBuffer> bufs;
  std::map<std::string, int64_t> fixedvars;
};

struct GoldenRecord {
  std::string id, target, device;
  int64_t nodes = 0;
  std::string ast;
  std::vector<GoldenStage> stages;
  std::optional<std::string> linear, source, source_error, error;
  std::optional<GoldenProgram> program;
  std::vector<GoldenKernel> kernels;
  std::map<std::string, int64_t> var_vals;
  uint32_t line = 0;  // of the file
};

struct GoldenHeader {
  std::string level, producer;
  std::map<std::string, std::string> settings;
};

class GoldenReader {
 public:
  // Opens a file and reads its header; an error names the file and what is wrong with it.
  static Result<GoldenReader> open(const std::string& path);
  GoldenReader(GoldenReader&&) noexcept;
  ~GoldenReader();

  const GoldenHeader& header() const;
  // The next record; nullopt at the end.
  Result<std::optional<GoldenRecord>> next();

 private:
  struct Impl;
  explicit GoldenReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tgc
