// Renames between tinygrad releases. Before graphs of two releases are compared, both are converted to the names of the
// later release, so that a rename is no difference. renames.def or a user's file lists one rename per line:
//
//   op DEFINE_GLOBAL PARAM                    the kind, the old name, the new name ("" for a new field)
//   stage "remove_reduce" "remove reduces"
//   form REDUCE                               an op whose representation changed; renames.cpp lists these ops
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
  // Parses a table of renames in the format shown at the top of this file. `file` names the table in messages.
  static Result<Renames> read(std::string_view text, std::string_view file);

  bool empty() const {
    return ops_.empty() && dtypes_.empty() && values_.empty() && stages_.empty() && new_fields_.empty() &&
           forms_.empty();
  }
  std::string stage(std::string_view name) const;
  // Converts the graph under `root` to the later names, in the same Graph. Removes the suffix with which tinygrad
  // distinguishes kernels of the same name (n1 in "E_4n1"). `is_older`: the graph is of the earlier release, so its
  // representations are also converted to those of the later release.
  UOp apply(UOp root, bool is_older = false) const;

 private:
  bool add(std::string_view kind, std::string_view from, std::string_view to);
  DType dtype(DType d) const;
  Arg arg(Graph& graph, Arg a) const;
  struct Parts;  // the op, arg, sources etc. of a node
  void to_common_form(Graph& graph, Parts& node) const;

  std::map<std::string, std::string, std::less<>> ops_, dtypes_, values_, stages_, new_fields_, forms_;
};

// Reads the table of renames for the option --renames: empty for "none", else read from the named file. An empty
// option gives nullopt; the caller then uses the renames between the two releases. Errors: the file cannot be read.
Result<std::optional<Renames>> asked_renames(const std::string& option);

// Returns a kernel's name without color codes and without the suffix that makes it unique: "E_4" for "E_4n1".
std::string plain_kernel_name(std::string_view name);

}  // namespace tgc
