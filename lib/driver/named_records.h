// Reads the golden records that an INPUT names: all records of FILE, or those of FILE#ID.
#pragma once
#include "lib/driver/source.h"

namespace tgc {

class NamedRecords {
 public:
  // Reads records with `reader` and selects those whose id is `id`, or all records if `id` is empty.
  NamedRecords(GoldenReader reader, std::string id) : reader_(std::move(reader)), id_(std::move(id)) {}
  static Result<NamedRecords> open(const InputName& name);

  const GoldenReader& file() const { return reader_; }
  // Reads the next selected record; false at the end (see GoldenReader). Records with other ids are not parsed.
  Result<bool> next_line(GoldenLine& line);

 private:
  GoldenReader reader_;
  std::string id_;
};

}  // namespace tgc
