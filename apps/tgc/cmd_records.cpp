#include <algorithm>

#include "apps/tgc/options.h"
#include "lib/compare/record_list.h"

namespace tgc {

void add_records(CliCommand& cmd) {
  struct Options {
    std::vector<std::string> files{"-"};
    bool json = false;
  };
  auto& o = cmd.make_owned_value<Options>();
  cmd.set_description(
      "List the golden records of a file: id, target, nodes, kernel, and the program they were made for.",
      "tgc records golden.jsonl.gz",
      "FILE#ID, FILE#ID@TARGET and --kernel=KERNEL name one of them as an INPUT. "
      "How to record: `tgc help recording`.\n"
      "Exit codes: 0, 2 trouble, or a record of a compilation that tinygrad did not finish.");
  cmd.add_positional("GOLDENS", o.files, "golden files, plain or gzip, or FILE#ID; default: standard input");
  cmd.set_group(OptionGroup::Output);
  cmd.add_json_flag(o.json);
  cmd.set_action([&o] {
    std::vector<RecordList> lists;
    for (const std::string& file : o.files)
      lists.push_back(require_value(list_records(make_terminal_session(1), file)));
    print_report(o.json ? records_json(lists) : records_text(lists));
    auto is_refused = [](const ListedRecord& r) { return !r.error.empty(); };
    return std::ranges::any_of(lists, [&](const RecordList& l) { return std::ranges::any_of(l.records, is_refused); })
               ? 2
               : 0;
  });
}

}  // namespace tgc
