// Reads golden records from a file of JSON lines, uncompressed or gzip (format: README.md). A record has the graphs and
// texts that tinygrad made from one kernel or one tensor graph. If the file ends within a record, because its writer
// was interrupted, the complete records are read. Only one record is in memory at a time. Reading a line and parsing
// it are separate calls, so that one thread can read while others parse.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

struct GoldenStage {
  std::string name;
  bool same = false;              // tinygrad returned the graph of the previous stage unchanged
  // the graph after the stage: pyrender text or graph JSON; absent if `same`, or if tinygrad's own pyrender failed
  std::optional<std::string> ir;
  std::optional<std::string> letters;  // pyrender text of the graph, recorded in addition to an `ir` that is JSON
  std::optional<std::string> full;     // a text of the graph that loses nothing, recorded if `ir` does
  // the calls in tinygrad that ran the stage ("codegen/__init__.py:344"), innermost first, and the function in which
  // the innermost call is; empty: not recorded
  std::vector<std::string> at;
  std::string function;
  double seconds = -1;  // tinygrad's processor time for the stage; below 0: not recorded
};

// How often a rule was tried in a record, and how long that took.
struct GoldenRule {
  std::string place;  // the rule's line in tinygrad: "uop/symbolic.py:102"
  int64_t matches = 0, attempts = 0;
  double match_seconds = 0, seconds = 0;  // time of the matches, and of all attempts
};

// The launch facts of a kernel (launch dimensions, counts of operations and bytes, ...), as tinygrad prints them.
struct GoldenProgram {
  std::string name, function_name, applied_opts, ops, lds, mem;
  std::vector<std::string> global_size, local_size, vars;  // each size is an integer or an expression
  bool has_local_size = true;
  std::vector<int64_t> globals, outs, ins;
};

// Returns the launch facts, one per line ("global_size: 4 1 1"), as `tgc check` and `tgc dump` show them.
std::string program_text(const GoldenProgram& program);

struct GoldenBuffer {
  int64_t base = 0, offset = 0, size = 0;
  std::string dtype;
  std::vector<GoldenBuffer> multi;  // for several devices: one buffer for each; the other fields are then not set
};

// The Tensor method that a kernel implements.
struct GoldenMetadata {
  std::string name;       // the Tensor method: "conv2d"
  std::string caller;     // where it was called, "module:line::function"; empty: not recorded
  std::string node;       // name of the node in the ONNX model; empty: no ONNX model
  bool backward = false;  // true if the kernel computes the method's gradient
  std::vector<int64_t> nodes;  // numbers of the AST's nodes that the method made, if the AST is JSON; else empty
};

// Returns the methods that a kernel computes, by the line of the program: "relu with gradient, add at net.py:6;
// gradient of conv2d at net.py:7 (node /l1/Conv)".
std::string made_for_text(const std::vector<GoldenMetadata>& metadata);

// Why a scheduler stores a value between two kernels (python/tgc/export/boundaries.py).
struct GoldenStored {
  struct Reason {
    std::string why;  // "own": the value's op asks for it; "source": its user `by` does; "users", "loops", "output" ...
    std::string at;   // where the scheduler decides it, "schedule/indexing.py:231"; may be empty
    std::string by;   // an op; may be empty
  };
  std::string node;       // the value: "Ops.REDUCE dtypes.float Ops.ADD (4, 1)"; empty: not known
  std::string added_for;  // for a CONTIGUOUS that a rule added: the op for which the rule added it
  std::vector<Reason> reasons;
  std::vector<GoldenMetadata> made_by;  // the method that made the value
  int64_t buffers = 0;      // how many buffers the value reads
  bool reduces = false;     // the value reduces a buffer
};

struct GoldenKernel {  // one kernel of a tensor record
  std::string id;      // id of the kernel's own record, in the recording of kernels; empty: not recorded
  std::string ast;     // empty: not recorded
  std::vector<GoldenBuffer> bufs;
  std::map<std::string, int64_t> fixedvars;
  std::vector<GoldenMetadata> metadata;
  std::optional<GoldenStored> stored;  // why its result is stored
};

using GoldenSettings = std::map<std::string, std::string>;

struct GoldenRecord {
  std::string id, target, device;
  int64_t nodes = 0;
  std::string ast;
  std::optional<std::string> ast_full;  // as GoldenStage::full
  std::vector<GoldenStage> stages;
  std::optional<std::string> linear, source, source_error, error;
  std::string error_stage;  // the stage in which tinygrad raised `error`, or the last one before it; may be empty
  std::optional<GoldenProgram> program;
  std::vector<GoldenKernel> kernels;
  std::map<std::string, int64_t> var_vals;
  std::map<std::string, std::optional<std::string>> settings;  // override those of the header; nullopt: not set
  std::vector<GoldenMetadata> metadata;                        // kernel records only
  bool runtime = false;                                        // a kernel of tinygrad's runtime, not of a schedule
  std::string rewrites;  // JSON of all rule matches (recorded_rewrites.h); empty: not recorded
  std::vector<GoldenRule> rules;  // empty: not recorded
  double seconds = -1;            // tinygrad's processor time for the whole record; below 0: not recorded
  uint32_t line = 0;  // 1-based number of the record's line in the file
};

struct GoldenHeader {
  std::string level;
  std::string producer;  // "tinygrad 0.14.0", or "tinygrad 0.14.0 at a9069c177a" if the commit is recorded
  GoldenSettings settings;
};

// Returns the settings that the record was made with: the header's settings, overridden by the record's.
GoldenSettings settings_of(const GoldenHeader& header, const GoldenRecord& record);

// The JSON text of one record, and the 1-based number of its line in the file.
struct GoldenLine {
  std::string text;
  uint32_t line = 0;
  uint32_t same_id = 0;  // number of earlier records of the file with the same id and target

  // Returns the id that distinguishes the record in its file: the recorded `id`, or "ID~2" for the second such record.
  std::string distinct_id(std::string id) const;
};

// Returns a target for reports, with the number of its features instead of a list of more than three:
// "CL:CL, 11 extensions".
std::string shown_target(std::string_view target);
// Returns a record's name for reports: "k.0 (CUDA:CUDA:sm_80)", or its id if it has no target.
std::string shown_record(std::string_view id, std::string_view target);

// Returns the ids of a schedule's kernels for reports: "k.5, k.6"; "" if they are not recorded.
std::string kernel_ids_text(const GoldenRecord& record);

// Returns true if `wanted`, the ID or ID@TARGET of an INPUT, names the record. The last parts of a target may be left
// out: "k.0@CUDA" names the record k.0 for CUDA:CUDA:sm_80.
bool names_record(std::string_view wanted, std::string_view id, std::string_view target);
// Returns false only if `wanted` certainly does not name the record. To be fast, does not parse the line.
bool may_name_record(std::string_view wanted, const GoldenLine& line);

// Parse the line of a record and the header line of a file. `file` is the file's name in messages.
Result<GoldenRecord> parse_golden_record(const GoldenLine& line, std::string_view file);
Result<GoldenHeader> parse_golden_header(const GoldenLine& line, std::string_view file);

class LineReader;

class GoldenReader {
 public:
  // Opens the file `path` ("-": standard input) and reads its header. An error names the file and the problem.
  static Result<GoldenReader> open(const std::string& path);
  // Makes a reader of `lines`, whose first line, `first`, was already read. `name` is the file's name in messages.
  static Result<GoldenReader> from(std::unique_ptr<LineReader> lines, const GoldenLine& first, std::string name);
  GoldenReader(GoldenReader&&) noexcept;
  GoldenReader& operator=(GoldenReader&&) noexcept;
  ~GoldenReader();

  const std::string& path() const { return path_; }
  const GoldenHeader& header() const { return header_; }
  // Reads the text of the next record into `line`, reusing its memory; skips blank lines. Returns false at the end of
  // the file, also if the file ends within a record (see cut()).
  Result<bool> next_line(GoldenLine& line);
  // Returns a warning if the file ended within a record, else nullopt. Valid after the end of the file was reached.
  const std::optional<Diag>& cut() const { return cut_; }
  // Reads and parses the next record. Returns nullopt at the end of the file.
  Result<std::optional<GoldenRecord>> next();

 private:
  GoldenReader(std::string path, std::unique_ptr<LineReader> lines);
  std::string path_;
  std::unique_ptr<LineReader> lines_;
  GoldenHeader header_;
  std::optional<Diag> cut_;
  std::unordered_map<std::string, uint32_t> ids_;  // number of records so far, by id and target
};

}  // namespace tgc
