// Source: reads the graphs of an INPUT one by one. An INPUT is the argument of every command: a file, or "-" for
// standard input, optionally with #ID or #ID@TARGET to select one record. The format is detected from the file's
// content: pyrender, repr, print_uops, Svod's trees, JSON, golden records or an ONNX model. A text may have several
// graphs, and other lines around them (lib/records/graph_texts.h).
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "lib/driver/session.h"
#include "lib/execute/executable.h"
#include "lib/records/graph_texts.h"

namespace tgc {

class Model;

// The parts of an INPUT "FILE#ID" or "FILE#ID@TARGET". Only this class parses the argument.
struct InputName {
  std::string file = "-";
  std::string id;      // ID or ID@TARGET of a golden record (names_record); empty: all records
  // Splits FILE#ID. A "#" in the name of an existing file is part of the name.
  static InputName parse(const std::string& spec);

  std::string shown() const;  // returns the file's name for messages: "<stdin>" for "-"
  std::string stem() const;   // returns the file's name without its folder and all extensions
  // Returns the text that replaces {} in names of output files: the input's path without its last extension; or, for
  // one record of many (`is_record`) and for standard input, a file name made from `graph`, the graph's name.
  std::string without_extension(const std::string& graph, bool is_record) const;
};

// Returns whether the file is an ONNX model. Errors: it cannot be read.
Result<bool> is_model_file(const std::string& path);

// Parses the values of --var, each such as "n=3". Fails if a text is not NAME=INTEGER or if a name occurs twice.
Result<VariableValues> parse_variables(const std::vector<std::string>& texts);

class Source {
 public:
  // `kernel` selects one graph by its number from 0, name or record id; empty: all graphs. If the input is a tensor
  // graph, or #ID selects one, `kernel` is the number of one of its kernels. `session` must outlive the Source.
  static Result<Source> open(const Session& session, const std::string& spec, const std::string& kernel = "");
  static Result<Source> open(const Session&&, const std::string&, const std::string& = "") = delete;

  InputKind kind() const { return kind_; }
  const InputName& name() const { return name_; }
  const GoldenHeader* header() const { return records_ ? &records_->header() : nullptr; }
  // Returns the next graph; nullopt at the end. A live pipeline (Session::live) compiles it first. Errors: the graph
  // cannot be read; no record matches.
  Result<std::optional<InputGraph>> next();
  // Makes next() return graphs with malformed nodes instead of an error, because `tgc verify` reports such nodes.
  void take_malformed() { take_malformed_ = true; }
  // Makes next() return the kernels of tinygrad's runtime (runtime_kernel.h) too. Without this call, next() skips them
  // and notes their number, or fails if the INPUT names one.
  void take_runtime_kernels() { take_runtime_kernels_ = true; }

 private:
  explicit Source(const Session& session) : session_(&session) {}
  static Result<Source> open_any(const Session& session, const std::string& spec, const std::string& kernel);
  Result<std::optional<InputGraph>> next_of_kernels();
  Result<std::optional<InputGraph>> next_as_read();  // next(), but nothing compiles or imports the graph
  Result<std::optional<InputGraph>> next_of_texts();
  Result<std::optional<InputGraph>> next_record();
  Result<InputGraph> read_record(std::shared_ptr<const GoldenRecord> record);
  // Returns whether FILE#ID and --kernel select a kernel of the schedule of a record.
  bool is_kernel_of_record() const { return records_ && !name_.id.empty() && !kernel_.empty(); }
  Result<InputGraph> read_text(InputKind kind, std::string_view text, const std::string& file,
                               const std::map<std::string, std::string>& recorded, std::string_view producer = {});
  Result<InputGraph> build_model();
  std::string suggest_ids(const std::string& wanted) const;
  void note_runtime_kernels();

  const Session* session_;
  InputName name_;
  std::string kernel_;
  InputKind kind_ = InputKind::Pyrender;
  std::string text_;                       // the input, if it is text
  GraphTexts texts_;                       // the graphs in text_, if it is not the text of a single graph
  std::shared_ptr<const Model> model_;     // set if the input is an ONNX model
  std::optional<GoldenReader> records_;    // set if the input is golden records
  std::optional<std::vector<GoldenRecord>> kernels_;  // the kernels of model_, unless tgc's own frontend reads it
  size_t number_ = 0;                      // number of records or graphs read so far
  std::vector<std::string> other_ids_;     // ids of the records before the first match, for the error if there is none
  std::optional<size_t> found_;            // position of the first matching record in the file
  bool done_ = false, several_ = false, take_malformed_ = false, take_runtime_kernels_ = false;
  std::string skipped_target_;             // the target of a record that --target has left out
  size_t runtime_kernels_ = 0;             // number of records skipped since the last note (note_runtime_kernels)
};

// Calls `each` with every graph of an INPUT, in order. Stops at the first error of the input or of `each`, and when the
// session is cancelled. An INPUT without graphs is an error. Includes the kernels of tinygrad's runtime, so `each` must
// not execute graphs of other releases. `take_malformed`: see Source::take_malformed.
Status for_each_graph(const Session& session, const std::string& spec, const std::string& kernel,
                      const std::function<Status(InputGraph)>& each, bool take_malformed = false);

// Calls `each` with the pipeline of every graph of an INPUT, as for_each_graph() does.
Status for_each_pipeline(const Session& session, const std::string& spec, const std::string& kernel,
                         const std::function<Status(Pipeline&)>& each);

}  // namespace tgc
