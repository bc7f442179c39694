// `tgc records`: lists the golden records of a file, for FILE#ID.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "lib/driver/session.h"

namespace tgc {

struct ListedRecord {
  std::string id;
  std::string target;       // such as "CUDA:CUDA:sm_80"; device of a schedule, if recorded
  int64_t num_nodes = 0;    // of the AST; 0 if not recorded
  std::string kernel_ids;   // ids of a schedule's kernels, such as "k.5, k.6"
  std::string description;  // name of the kernel's function; "3 kernels" for a schedule; "refused" if tinygrad failed
  std::string error = {};   // first line of tinygrad's error
  // such as "relu at model.py:12"; "tinygrad's runtime" if `is_of_runtime`
  std::string user_operation;
  bool is_of_runtime = false;
};

struct RecordList {
  std::string file;
  std::string producer;
  std::string level;     // "kernel" or "tensor"
  std::vector<ListedRecord> records;

  std::string text() const;
  std::string json() const;
};

// Lists the records of `file` (FILE, FILE#ID or "-" for standard input) in order. Fails if the file cannot be read as a
// recording, or if no record has the ID.
Result<RecordList> list_records(const Session& session, const std::string& file);

// Return the lists of several files: as tables, each below the name of its file, or as the JSON object {"files":[...]}.
// For a single list, return its text() or json().
std::string records_text(std::span<const RecordList> lists);
std::string records_json(std::span<const RecordList> lists);

}  // namespace tgc
