#pragma once
#include <string>
#include <vector>

#include "lib/execute/executable.h"
#include "lib/records/golden.h"

namespace tgc {

struct InputName {
  std::string file = "-";
  std::string id;      // ID or ID@TARGET of a golden record (is_name_of_record); empty: all records
  // Splits FILE#ID. A "#" in the name of an existing file is part of the name.
  static InputName parse(const std::string& spec);

  std::string display_name() const;  // for messages: "<stdin>" for "-"
  std::string stem() const;          // without folder and extensions; "kernel" for "-"
  // Returns the text that replaces {} in names of output files: the input's path without its last extension; or, for
  // one record (`is_record`, or an id) and for standard input, a file name made from `graph`, the graph's name.
  std::string name_without_extension(const std::string& graph, bool is_record) const;
  // Returns the recording of schedules beside this recording of kernels: run.tensor.jsonl.gz beside run.jsonl.gz.
  // Returns "" if there is none.
  std::string schedules_file() const;
};

// Returns true if the file begins like an ONNX model; false also for "-", and if `path` cannot be opened. Fails if a
// file cannot be read.
Result<bool> is_model_file(const std::string& path);

// Parses the values of --var, each such as "n=3". Fails if a text is not NAME=INTEGER or if a name occurs twice.
Result<VariableValues> parse_variables(const std::vector<std::string>& texts);

class NamedRecordReader {
 public:
  // Selects the records that `id` names (is_name_of_record), or all records if `id` is empty.
  NamedRecordReader(GoldenReader reader, std::string id)
      : golden_reader_(std::move(reader)), record_id_(std::move(id)) {}
  static Result<NamedRecordReader> open(const InputName& name);

  const GoldenReader& reader() const { return golden_reader_; }
  // Reads the line of the next selected record into `line`; returns false at the end. Lines that may_name_record
  // rejects are not parsed.
  Result<bool> next_line(GoldenLine& line);

 private:
  GoldenReader golden_reader_;
  std::string record_id_;
};

}  // namespace tgc
