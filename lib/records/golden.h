// Reads golden records from a file of JSON lines, uncompressed or gzip (format: README.md). Reading a line and parsing
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
  bool is_unchanged = false;  // the graph is that of the previous stage
  // pyrender text or graph JSON of the graph after the stage; absent if `is_unchanged`, or if tinygrad's own pyrender
  // failed
  std::optional<std::string> ir;
  std::optional<std::string> pyrender;   // tinygrad's own text, recorded in addition to an `ir` that is JSON
  std::optional<std::string> full_text;  // a text that loses no facts, recorded if `ir` loses some
  // places of the calls in tinygrad that ran the stage, innermost first ("codegen/__init__.py:344"); empty: not
  // recorded
  std::vector<std::string> call_places;
  std::string first_call_place() const { return call_places.empty() ? "" : call_places[0]; }
  std::string function;  // place of the function that contains the innermost call; empty: not recorded
  double stage_seconds = -1;  // processor time; negative: not recorded
};

struct GoldenRuleTimes {
  std::string place;  // line in tinygrad: "uop/symbolic.py:102"
  int64_t num_matches = 0, num_attempts = 0;
  double match_seconds = 0, attempt_seconds = 0;  // time of the attempts that matched, and of all
};

// Launch facts of a kernel, as tinygrad prints them.
struct GoldenProgram {
  std::string name, function_name, applied_opts, ops, lds, mem;
  std::vector<std::string> global_size, local_size, vars;  // a size is an integer or an expression
  bool has_local_size = true;
  std::vector<int64_t> globals, outs, ins;
};

// Returns the launch facts, one per line ("global_size: 4 1 1").
std::string program_text(const GoldenProgram& program);

// A buffer that a kernel accesses: `size` elements from byte `offset` on of the memory `base`; memories are numbered by
// first use.
struct GoldenBuffer {
  int64_t base = 0, offset = 0, size = 0;
  std::string dtype;
  // for a buffer on several devices: its buffer on each device; the other fields are then not set
  std::vector<GoldenBuffer> device_buffers;
};

// A Tensor method that made nodes of a kernel or of a tensor graph.
struct GoldenMetadata {
  std::string name;            // "conv2d"
  std::string call_place;      // place of the call, "net.py:6::forward"; empty: not recorded
  std::string onnx_node;            // name of the node in the ONNX model; or empty
  bool is_backward = false;    // the nodes compute the method's gradient
  std::vector<int64_t> node_numbers;  // of the AST's nodes that the method made, if the AST is JSON
};

// Returns the methods by the line of the program: "relu with gradient, add at net.py:6; gradient of conv2d at net.py:7
// (node /l1/Conv)".
std::string methods_text(const std::vector<GoldenMetadata>& metadata);
// Parses GoldenRecord::methods_json. Returns no methods for "". Throws Failure if the text is malformed.
std::vector<GoldenMetadata> read_methods(std::string_view json);

// The value that a kernel stores in its first argument, and why the scheduler stores it
// (python/tgc/export/boundaries.py).
struct GoldenStoredValue {
  struct Reason {
    // "own": the value's op requires it; "source": its user `requiring_op` requires it; or "users", "loops", "hazard",
    // "limit", "assign", "output" or "other" (boundaries.py)
    std::string reason;
    std::string
        decision_place;  // "schedule/indexing.py:231"; may be empty
    std::string requiring_op;  // op of the user that requires the value to be stored; may be empty
  };
  std::string node_text;       // "Ops.REDUCE dtypes.float Ops.ADD (4, 1)"; empty: unknown
  std::string added_for_op;  // for a CONTIGUOUS that a rule added: the op for which the rule added it
  std::vector<Reason> reasons;
  std::vector<GoldenMetadata> made_by;
  int64_t num_buffers = 0;
  bool has_buffer_reduction = false;
};

struct GoldenKernel {  // a kernel in the schedule of a tensor record
  std::string id;      // id of the kernel's own record; empty: not recorded
  std::string ast;
  std::vector<GoldenBuffer> buffer_args;
  std::map<std::string, int64_t> fixed_variables;
  std::vector<GoldenMetadata> metadata;
  std::optional<GoldenStoredValue> stored_value;
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
  // settings that override those of the header; nullopt: the setting is not set
  std::map<std::string, std::optional<std::string>> settings;
  // of a kernel record: the methods that made the kernel; of a tensor record: late reads (README.md)
  std::vector<GoldenMetadata> metadata;
  bool is_of_runtime = false;  // a kernel of tinygrad's runtime, which belongs to no schedule
  std::string methods_json;  // tensor records only: JSON of the methods that made the graph's nodes
  std::string rewrites_json;  // JSON of all rule matches; empty: not recorded
  std::vector<GoldenRuleTimes> rule_times;
  // processor time; negative: not recorded
  double record_seconds = -1;
  uint32_t line = 0;
};

struct GoldenHeader {
  std::string level;
  std::string producer;  // "tinygrad 0.14.0 at a9069c177a", with the commit if it is recorded
  GoldenSettings settings;
};

// Returns the header's settings, overridden by the record's.
GoldenSettings settings_of(const GoldenHeader& header, const GoldenRecord& record);

// The JSON of a header or record, and the number of its line in the file, from 1.
struct GoldenLine {
  std::string text;
  uint32_t line_number = 0;
  // number of earlier records with the same id and target; 0 unless the line begins with these members
  uint32_t num_same_id = 0;

  // Returns `id`; "ID~2" for the second record with its id and target, "ID~3" for the third, and so on.
  std::string make_distinct_id(std::string id) const;
};

// Returns a target for reports, with the number of its features if it has more than three: "CL:CL, 11 extensions".
std::string target_label(std::string_view target);
// Returns "k.0 (CUDA:CUDA:sm_80)", or the id if there is no target.
std::string record_label(std::string_view id, std::string_view target);

// Returns the ids of a schedule's first kernels: "k.5, k.6, ..."; "" if none is recorded.
std::string kernel_ids_text(const GoldenRecord& record);

// Returns true if `wanted`, ID or ID@TARGET, names the record. The last parts of a target may be left out: "k.0@CUDA"
// names k.0 for CUDA:CUDA:sm_80.
bool is_name_of_record(std::string_view wanted, std::string_view id, std::string_view target);
// Returns true if `wanted` may name the record. Fast, because the line is not parsed.
bool may_name_record(std::string_view wanted, const GoldenLine& line);

// Fail if the line is malformed. parse_golden_header() also fails for another format, version or level. `file` is for
// messages.
Result<GoldenRecord> parse_golden_record(const GoldenLine& line, std::string_view file);
Result<GoldenHeader> parse_golden_header(const GoldenLine& line, std::string_view file);

class LineReader;

class GoldenReader {
 public:
  // Opens the file `path` ("-" is standard input) and reads its header. Fails if the file cannot be read or has no
  // valid header.
  static Result<GoldenReader> open(const std::string& path);
  // `first`, the first line of `lines`, was already read. Fails if it is no valid header. `name` is for messages.
  static Result<GoldenReader> make_from_lines(std::unique_ptr<LineReader> lines, const GoldenLine& first,
                                              std::string name);
  GoldenReader(GoldenReader&&) noexcept;
  GoldenReader& operator=(GoldenReader&&) noexcept;
  ~GoldenReader();

  const std::string& path() const { return file_path_; }
  const GoldenHeader& header() const { return file_header_; }
  // Reads the next record into `line`, reusing its memory. Returns false at the end of the file, also if that is within
  // a record (see truncation_error()). Fails if reading fails.
  Result<bool> next_line(GoldenLine& line);
  // Returns a warning if the file ended within a record, once the end was reached.
  const std::optional<Diag>& truncation_error() const { return truncation_error_; }
  // Returns nullopt at the end of the file. Fails if reading fails or if the record is malformed.
  Result<std::optional<GoldenRecord>> next_record();

 private:
  GoldenReader(std::string path, std::unique_ptr<LineReader> lines);
  std::string file_path_;
  std::unique_ptr<LineReader> line_reader_;
  GoldenHeader file_header_;
  std::optional<Diag> truncation_error_;
  // number of records read so far, by ID@TARGET
  std::unordered_map<std::string, uint32_t> id_counts_;
};

}  // namespace tgc
