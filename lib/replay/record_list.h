// `tgc records`: lists the golden records of a file, so that one can be selected as FILE#ID. Compiles nothing.
#pragma once
#include <string>
#include <vector>

#include "lib/driver/session.h"

namespace tgc {

struct ListedRecord {
  std::string id;
  std::string target;    // "CUDA:CUDA:sm_80" for a kernel; for a schedule, the device if recorded
  int64_t nodes = 0;     // the size of the AST
  std::string what;      // a kernel's function name, "3 kernels" for a schedule, or "refused"
  std::string made_for;  // the user's operation: "relu (model.py:12::forward)"; empty: not recorded
};

struct RecordList {
  std::string producer;  // "tinygrad 0.12.0"
  std::string level;     // "kernel" or "tensor"
  std::vector<ListedRecord> records;

  std::string text() const;                         // a table with one line per record
  std::string json(const std::string& file) const;  // one JSON object, with a line for each record
};

// Lists the records of `file` ("-": standard input) in order. Warns about a truncated file. Errors: the file holds no
// golden records of kernels or schedules.
Result<RecordList> list_records(const Session& session, const std::string& file);

}  // namespace tgc
