// What one release calls by another name than another: graphs of both are brought to the names of the later one before
// they are compared, so that a rename is no difference. The table is data (renames.def), or a file of its own:
//
//   op DEFINE_GLOBAL PARAM        a line a rename: its kind, the old name, the new one ("" for a field that is new)
//   stage "remove_reduce" "remove reduces"
//   form REDUCE                   what is not a name: the forms that a table may ask for are in renames.cpp
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
  // Those between the earlier and the later of two releases.
  static Renames between(Release a, Release b);
  // A table as above; `file` names it in messages.
  static Result<Renames> read(std::string_view text, std::string_view file);

  bool empty() const {
    return ops_.empty() && dtypes_.empty() && values_.empty() && stages_.empty() && new_fields_.empty() &&
           forms_.empty();
  }
  std::string stage(std::string_view name) const;
  // The graph under `root` by the later names, in the same Graph; names of kernels lose the number by which a program
  // tells several of one name ("E_4n1"). `is_older`: the graph is of the earlier release, some of whose forms are to be
  // brought to the later one's.
  UOp apply(UOp root, bool is_older = false) const;

 private:
  bool add(std::string_view kind, std::string_view from, std::string_view to);
  DType dtype(DType d) const;
  Arg arg(Graph& graph, Arg a) const;
  struct Parts;  // of a node
  void to_common_form(Graph& graph, Parts& node) const;

  std::map<std::string, std::string, std::less<>> ops_, dtypes_, values_, stages_, new_fields_, forms_;
};

// What a user asks for: a file's table, with "none" an empty one; with nothing none, which means that between the two
// releases. Errors: of reading the file.
Result<std::optional<Renames>> asked_renames(const std::string& option);

// A kernel's name without the number that tells it from others of that name, and without colours: "E_4".
std::string plain_kernel_name(std::string_view name);

}  // namespace tgc
