// Source: the graphs of an INPUT, one after the other. INPUT is what every command takes: a file or "-" for standard
// input, of any kind (its content tells which: pyrender, repr, print_uops, JSON, golden records, an ONNX model), with
// #ID for one record of many.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "lib/driver/session.h"

namespace tgc {

class Model;

// FILE#ID, apart. The one place that knows how an INPUT is spelled.
struct InputName {
  std::string file = "-";
  std::string id;      // of a golden record; empty: all
  // "#" belongs to the name of a file that exists with it.
  static InputName parse(const std::string& spec);

  std::string shown() const;                                    // as messages call the file: "<stdin>"
  std::string stem() const;                                     // the file's name without folder and extensions
  // What {} stands for in names of files: the file's path without its last extension; where one of many is meant
  // (`is_record`), or no file, a file name made of the graph's name.
  std::string without_extension(const std::string& graph, bool is_record) const;
};

// Whether the golden record on that line may have that id, as far as can be told without parsing it: a string may be
// escaped.
bool may_have_id(std::string_view line, std::string_view id);

// Whether the file holds an ONNX model.
Result<bool> is_model_file(const std::string& path);

class Source {
 public:
  // `kernel` picks one of many: by number from 0, by name or record id; of a tensor record that #ID picks, or of any
  // other tensor graph, one of its kernels. Empty: all.
  // `session` outlives it.
  static Result<Source> open(const Session& session, const std::string& spec, const std::string& kernel = "");
  static Result<Source> open(const Session&&, const std::string&, const std::string& = "") = delete;

  InputKind kind() const { return kind_; }
  const InputName& name() const { return name_; }
  const GoldenHeader* header() const { return records_ ? &records_->header() : nullptr; }
  // The next graph; nullopt at the end. A record, or an id, that is not there is an error.
  Result<std::optional<InputGraph>> next();
  // From now on a graph whose nodes are not well formed is no error: for `tgc verify`, which says more of it.
  void take_malformed() { take_malformed_ = true; }

 private:
  explicit Source(const Session& session) : session_(&session) {}
  static Result<Source> open_any(const Session& session, const std::string& spec, const std::string& kernel);
  Result<std::optional<InputGraph>> next_record();
  Result<InputGraph> graph_of(std::shared_ptr<const GoldenRecord> record);
  Result<InputGraph> graph_of_text(InputKind kind, std::string_view text, const std::string& file,
                               const std::map<std::string, std::string>& recorded);
  Result<InputGraph> graph_of_model();
  Status picked_kernel(InputGraph& in);
  std::string some_ids(const std::string& wanted) const;

  const Session* session_;
  InputName name_;
  std::string kernel_;
  InputKind kind_ = InputKind::Pyrender;
  std::string text_;                       // of a text with one graph
  std::shared_ptr<const Model> model_;     // of an ONNX model
  std::optional<GoldenReader> records_;    // of golden records
  size_t number_ = 0;                      // of records read
  std::vector<std::string> other_ids_;     // of those passed over until one is found, for a message
  std::optional<size_t> found_;            // the first that was asked for
  bool done_ = false, several_ = false, take_malformed_ = false;
};

// Calls `each` with every graph of an INPUT, in order. Stops at the first error, of the input or of `each`; and when
// the session is cancelled. It is an error, too, when there was none. `take_malformed`: as Source's.
Status for_each_graph(const Session& session, const std::string& spec, const std::string& kernel,
                      const std::function<Status(InputGraph)>& each, bool take_malformed = false);

}  // namespace tgc
