// tgc records: lists the golden records of a file.
#include "apps/tgc/options.h"
#include "lib/replay/record_list.h"

namespace tgc {

void add_records(Command& cmd) {
  struct Options {
    std::string file = "-";
    bool json = false;
  };
  auto& o = cmd.make<Options>();
  cmd.describe("List the golden records of a file: id, target, nodes, kernel, and the program they were made for.",
               "tgc records golden.jsonl.gz",
               "FILE#ID names one of them as an INPUT. How to record: `tgc help recording`.");
  cmd.positional("GOLDENS", o.file, "a golden file, plain or gzip; default: standard input");
  cmd.group(Group::Output);
  cmd.json(o.json);
  cmd.runs([&o] {
    auto list = require(list_records(terminal_session(1), o.file));
    return print_report(o.json ? list.json(o.file) : list.text()), 0;
  });
}

}  // namespace tgc
