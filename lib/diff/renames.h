// Renames between tinygrad releases. Before graphs of two releases are compared, both are converted to the names of the
// later release, so that a rename is no difference. The table is renames.def or a user's file with one rename per line:
//
//   op DEFINE_GLOBAL PARAM                    the kind, the old name, the new name ("" for a new field)
//   stage "remove_reduce" "remove reduces"
//   form REDUCE                               a representation that changed; renames.cpp lists the forms
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "lib/support/result.h"
#include "lib/uop/graph.h"

namespace tgc {

class Renames {
 public:
  Renames() = default;
  // Returns the renames between two releases, in either order.
  static Renames between(Release a, Release b);
  // Parses a table in the format that the head of this file shows. `file` names the table in messages.
  static Result<Renames> read(std::string_view text, std::string_view file);

  bool empty() const {
    return ops_.empty() && dtypes_.empty() && values_.empty() && stages_.empty() && new_fields_.empty() &&
           forms_.empty();
  }
  std::string stage(std::string_view name) const;
  // Converts the graph under `root` to the later names, in the same Graph. Removes the number from kernel names by
  // which a program distinguishes kernels of the same name ("E_4n1"). `is_older`: the graph is of the earlier release,
  // so its forms are converted to the later release's.
  UOp apply(UOp root, bool is_older = false) const;

 private:
  bool add(std::string_view kind, std::string_view from, std::string_view to);
  DType dtype(DType d) const;
  Arg arg(Graph& graph, Arg a) const;
  struct Parts;  // the parts of a node
  void to_common_form(Graph& graph, Parts& node) const;

  std::map<std::string, std::string, std::less<>> ops_, dtypes_, values_, stages_, new_fields_, forms_;
};

// Reads the table of the option --renames: "none" is an empty table, otherwise a file. An empty option gives nullopt,
// which means the table between the two releases. Errors: the file cannot be read.
Result<std::optional<Renames>> asked_renames(const std::string& option);

// Returns a kernel's name without colors and without the number that distinguishes kernels of the same name: "E_4".
std::string plain_kernel_name(std::string_view name);

}  // namespace tgc
