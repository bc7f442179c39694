// What golden records a file holds, so that one can be picked as FILE#ID: of each its id, its target, its size, what it
// is and what of the program it was made for. Nothing is compiled.
#pragma once
#include <string>
#include <vector>

#include "lib/driver/session.h"

namespace tgc {

struct ListedRecord {
  std::string id;
  std::string target;    // of a kernel "CUDA:CUDA:sm_80"; of a schedule its device, where that was recorded
  int64_t nodes = 0;     // of the graph that was recorded
  std::string what;      // the kernel's function, "3 kernels" of a schedule, or why there is none
  std::string made_for;  // "relu (model.py:12::forward)"; empty: not recorded
};

struct RecordList {
  std::string producer;  // "tinygrad 0.12.0"
  std::string level;     // "kernel" or "tensor"
  std::vector<ListedRecord> records;

  std::string text() const;                         // a line a record below a head, in columns
  std::string json(const std::string& file) const;  // one object, a line a record
};

// Of one file ("-": standard input), in its order. One that is cut: the whole records, and a warning. Errors: a file
// that holds no golden records of kernels or schedules.
Result<RecordList> list_records(const Session& session, const std::string& file);

}  // namespace tgc
