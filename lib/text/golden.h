// Golden records: what tinygrad did with one kernel or one tensor graph, as JSON lines, plain or gzip (see the README's
// formats). A gzip file of an exporter that was interrupted may end within a record: the records before it are whole
// and are read. Records are read one at a time, so memory is linear in the largest record. Reading a line and parsing
// it are apart, so that one thread can read while others parse.
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
  // pyrender, or the JSON of a graph; absent where same, or where tinygrad's own pyrender failed
  std::optional<std::string> ir;
  std::optional<std::string> letters;  // beside JSON: what tinygrad's own pyrender printed, where it was asked for
};

// A kernel's launch facts, as text exactly as tinygrad prints them.
struct GoldenProgram {
  std::string name, function_name, applied_opts, ops, lds, mem;
  std::vector<std::string> global_size, local_size, vars;  // sizes: integers, or the text of an expression
  bool has_local_size = true;
  std::vector<int64_t> globals, outs, ins;
};

// The facts one a line, "global_size: 4 1 1": what check and dump show of a program.
std::string program_text(const GoldenProgram& program);

struct GoldenBuffer {
  int64_t base = 0, offset = 0, size = 0;
  std::string dtype;
};

// What a kernel computes, in the words of the program that made it.
struct GoldenMetadata {
  std::string name;       // of the Tensor method: "conv2d"
  std::string caller;     // "module:line::function"; empty: not recorded
  std::string node;       // of an ONNX model; empty: none
  bool backward = false;  // of its gradient
  // "conv2d bw (model:12::forward, node /layer1/Conv)"
  std::string text() const;
};

struct GoldenKernel {  // of a tensor record
  std::string ast;     // empty: not recorded
  std::vector<GoldenBuffer> bufs;
  std::map<std::string, int64_t> fixedvars;
  std::vector<GoldenMetadata> metadata;
};

using GoldenSettings = std::map<std::string, std::string>;

struct GoldenRecord {
  std::string id, target, device;
  int64_t nodes = 0;
  std::string ast;
  std::vector<GoldenStage> stages;
  std::optional<std::string> linear, source, source_error, error;
  std::optional<GoldenProgram> program;
  std::vector<GoldenKernel> kernels;
  std::map<std::string, int64_t> var_vals;
  std::map<std::string, std::optional<std::string>> settings;  // on top of the header's; nullopt: not set here
  std::vector<GoldenMetadata> metadata;                        // of a kernel record
  std::string rewrites;  // every match of a rule, as JSON: recorded_rewrites.h
  uint32_t line = 0;  // of the file
};

struct GoldenHeader {
  std::string level, producer;
  GoldenSettings settings;
};

// The settings that a record was made under: its header's, and on top of them its own.
GoldenSettings settings_of(const GoldenHeader& header, const GoldenRecord& record);

// One record as it stands in the file.
struct GoldenLine {
  std::string text;
  uint32_t line = 0;
};

// The record of one line; `file` names the input in messages.
Result<GoldenRecord> parse_golden_record(const GoldenLine& line, std::string_view file);
Result<GoldenHeader> parse_golden_header(const GoldenLine& line, std::string_view file);

class LineReader;

class GoldenReader {
 public:
  // Opens a file ("-": standard input) and reads its header; an error names the file and what is wrong with it.
  static Result<GoldenReader> open(const std::string& path);
  // The same of a file whose first line was read already; `name` is what messages call it.
  static Result<GoldenReader> from(std::unique_ptr<LineReader> lines, const GoldenLine& first, std::string name);
  GoldenReader(GoldenReader&&) noexcept;
  GoldenReader& operator=(GoldenReader&&) noexcept;
  ~GoldenReader();

  const std::string& path() const { return path_; }
  const GoldenHeader& header() const { return header_; }
  // The next record as text, into memory that is used again; false at the end, also where the file ends within a
  // record. Blank lines are skipped.
  Result<bool> next_line(GoldenLine& line);
  // After the end: what to warn of when the file ended within a record.
  const std::optional<Diag>& cut() const { return cut_; }
  // The next record; nullopt at the end.
  Result<std::optional<GoldenRecord>> next();

 private:
  GoldenReader(std::string path, std::unique_ptr<LineReader> lines);
  std::string path_;
  std::unique_ptr<LineReader> lines_;
  GoldenHeader header_;
  std::optional<Diag> cut_;
};

}  // namespace tgc
