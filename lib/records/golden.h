// Reads golden records from a file of JSON lines, uncompressed or gzip (format: README.md). A record has the graphs and
// texts that tinygrad made from one kernel or one tensor graph. If the file ends within a record because its writer was
// interrupted, the complete records are read. Records are read one by one. Reading a line and parsing the line are
// separate calls, so that one thread can read while others parse.
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
  bool is_unchanged = false;              // tinygrad returned the graph of the previous stage unchanged
  // the graph after the stage: pyrender text or graph JSON; absent if `is_unchanged`, or if tinygrad's own pyrender
  // failed
  std::optional<std::string> ir;
  std::optional<std::string> pyrender;   // pyrender text of the graph, recorded in addition to an `ir` that is JSON
  std::optional<std::string> full_text;  // a text of the graph that loses no facts, recorded if `ir` loses some
  // where tinygrad ran the stage: the calls ("codegen/__init__.py:344"), innermost first, and the function that
  // contains the innermost call; both are empty if they were not recorded
  std::vector<std::string> call_places;
  std::string first_call_place() const { return call_places.empty() ? "" : call_places[0]; }  // "" if none is recorded
  std::string function;
  double stage_seconds = -1;  // tinygrad's processor time for the stage; negative if it was not recorded
};

// How often a rule was tried in a record, and how long that took.
struct GoldenRule {
  std::string place;  // the rule's line in tinygrad: "uop/symbolic.py:102"
  int64_t num_matches = 0, num_attempts = 0;
  double match_seconds = 0, attempt_seconds = 0;  // time of the attempts that matched, and of all attempts
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

// A buffer that a kernel accesses: a part of the memory with number `base` (memories are numbered by first use), which
// begins `offset` bytes after the memory's start and has `size` elements.
struct GoldenBuffer {
  int64_t base = 0, offset = 0, size = 0;
  std::string dtype;
  // one buffer for each device of a buffer on several devices; then the other fields are not set
  std::vector<GoldenBuffer> multi;
};

// A Tensor method of the program that a kernel implements.
struct GoldenMetadata {
  std::string name;            // the Tensor method: "conv2d"
  std::string caller;          // where it was called, "net.py:6::forward"; empty if not recorded
  std::string node;            // name of the node in the ONNX model; empty if the program is not an ONNX model
  bool is_backward = false;    // true if the kernel computes the method's gradient
  std::vector<int64_t> nodes;  // numbers of the AST's nodes that the method made, if the AST is JSON; else empty
};

// Returns the methods that a kernel computes, by the line of the program: "relu with gradient, add at net.py:6;
// gradient of conv2d at net.py:7 (node /l1/Conv)".
std::string methods_text(const std::vector<GoldenMetadata>& metadata);
// Parses GoldenRecord::made_by, a JSON list of methods with the numbers of their nodes. Returns no methods for "".
// Throws Failure if the text is malformed.
std::vector<GoldenMetadata> read_methods(std::string_view json);

// Why a scheduler stores a value between two kernels (python/tgc/export/boundaries.py).
struct GoldenStoredValue {
  struct Reason {
    // "own": the value's op requires it; "source": its user `requiring_op` requires it; or "users", "loops", "hazard",
    // "limit", "assign", "output" or "other" (boundaries.py)
    std::string reason;
    std::string
        decision_place;  // where the scheduler decides to store the value, "schedule/indexing.py:231"; may be empty
    std::string requiring_op;  // the op of the user that requires the value to be stored; may be empty
  };
  std::string node;       // the value: "Ops.REDUCE dtypes.float Ops.ADD (4, 1)"; empty if unknown
  std::string added_for;  // for a CONTIGUOUS that a rule added: the op for which the rule added it
  std::vector<Reason> reasons;
  std::vector<GoldenMetadata> made_by;  // the methods that made the value
  int64_t num_buffers = 0;              // number of buffers that the value reads
  bool reduces_buffer = false;          // true if the value reduces a buffer
};

struct GoldenKernel {  // one kernel of a tensor record
  std::string id;      // id of the kernel's own record in the recording of kernels; empty if not recorded
  std::string ast;     // the kernel's AST; empty if not recorded
  std::vector<GoldenBuffer> buffer_args;
  std::map<std::string, int64_t> fixed_variables;
  std::vector<GoldenMetadata> metadata;
  std::optional<GoldenStoredValue> stored_reasons;  // why the kernel's result is stored
};

using GoldenSettings = std::map<std::string, std::string>;

struct GoldenRecord {
  std::string id, target, device;
  int64_t num_nodes = 0;
  std::string ast;
  std::optional<std::string> ast_full;  // as GoldenStage::full_text, for `ast`
  std::vector<GoldenStage> stages;
  std::optional<std::string> linear, source, source_error, error;
  std::string error_stage;  // the stage in which tinygrad raised `error`, or the last one before it; may be empty
  std::optional<GoldenProgram> program;
  std::vector<GoldenKernel> kernels;
  std::map<std::string, int64_t> var_vals;
  // override the settings of the header; nullopt for a setting that was not set
  std::map<std::string, std::optional<std::string>> settings;
  std::vector<GoldenMetadata> metadata;                        // kernel records only
  bool is_runtime = false;  // true for a kernel of tinygrad's runtime, which belongs to no schedule
  std::string made_by;   // tensor records only: JSON, the methods that made nodes of the graph; empty: not recorded
  std::string rewrites_json;  // JSON of all rule matches (recorded_rewrites.h); empty if they were not recorded
  std::vector<GoldenRule> rule_times;  // empty if the attempts to match rules were not recorded
  // tinygrad's processor time for the whole record; negative if it was not recorded
  double record_seconds = -1;
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
  uint32_t num_same_id = 0;  // number of earlier records of the file with the same id and target

  // Returns the id that distinguishes the record in its file: the recorded `id`, "ID~2" for the second record with the
  // id and target of an earlier one, "ID~3" for the third, and so on.
  std::string distinct_id(std::string id) const;
};

// Returns a target for reports. If the target has more than three features, the text has their number instead of the
// list: "CL:CL, 11 extensions".
std::string shown_target(std::string_view target);
// Returns a record's name for reports: "k.0 (CUDA:CUDA:sm_80)", or only its id if it has no target.
std::string shown_record(std::string_view id, std::string_view target);

// Returns the ids of a schedule's first kernels for reports: "k.5, k.6, ..."; an empty text if no id is recorded.
std::string kernel_ids_text(const GoldenRecord& record);

// Returns true if `wanted`, the ID or ID@TARGET of an INPUT, names the record. The last parts of a target may be left
// out: "k.0@CUDA" names the record k.0 for CUDA:CUDA:sm_80.
bool names_record(std::string_view wanted, std::string_view id, std::string_view target);
// Returns false only if `wanted` certainly does not name the record. This is fast, because the line is not parsed.
bool may_name_record(std::string_view wanted, const GoldenLine& line);

// Parse the line of a record and the header line of a file. Return an error if the line is malformed. `file` is the
// file's name in messages.
Result<GoldenRecord> parse_golden_record(const GoldenLine& line, std::string_view file);
Result<GoldenHeader> parse_golden_header(const GoldenLine& line, std::string_view file);

class LineReader;

class GoldenReader {
 public:
  // Opens the file `path` ("-" is standard input) and reads its header. An error names the file and the problem.
  static Result<GoldenReader> open(const std::string& path);
  // Makes a reader of `lines`, whose first line, `first`, was already read. Returns an error if `first` is no header.
  // `name` is the file's name in messages.
  static Result<GoldenReader> from_lines(std::unique_ptr<LineReader> lines, const GoldenLine& first, std::string name);
  GoldenReader(GoldenReader&&) noexcept;
  GoldenReader& operator=(GoldenReader&&) noexcept;
  ~GoldenReader();

  const std::string& path() const { return path_; }
  const GoldenHeader& header() const { return header_; }
  // Reads the text of the next record into `line`, reusing its memory; skips blank lines. Returns false at the end of
  // the file, also if the file ends within a record (see cut_error()).
  Result<bool> next_line(GoldenLine& line);
  // Returns a warning if the file ended within a record, else nullopt. Valid after the end of the file was reached.
  const std::optional<Diag>& cut_error() const { return cut_error_; }
  // Reads and parses the next record. Returns nullopt at the end of the file, an error if the record is malformed.
  Result<std::optional<GoldenRecord>> next_record();

 private:
  GoldenReader(std::string path, std::unique_ptr<LineReader> lines);
  std::string path_;
  std::unique_ptr<LineReader> lines_;
  GoldenHeader header_;
  std::optional<Diag> cut_error_;
  // number of records read so far with each id and target; the keys join the two
  std::unordered_map<std::string, uint32_t> id_counts_;
};

}  // namespace tgc
