// Finds the rule that made a node of a recorded stage. A recording with rewrites says so itself. For a recording of
// 0.12.0 without them, tgc's own pipeline compiles the kernel again.
#pragma once
#include <functional>
#include <future>
#include <string>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

struct OriginQuestion {
  std::string stage;    // the stage whose result has the node
  size_t position = 0;  // the node's index in the toposort of that result
  size_t nodes = 0;     // the number of nodes there
  std::string op;       // name of the node's op
};

// Returns the rule, with its place and its stage, as Markdown; "" if it is unknown. `file` is a recording with one
// record. Runs in a worker process for at most `seconds`, because the recording is not trusted. Any thread may call it.
std::string find_origin(const std::string& file, const OriginQuestion& question, double seconds);

// Finds origins in threads, so that the server can answer other messages.
class OriginFinder {
 public:
  // Returns the origin if it is found soon, or was asked for before; else a text that says that it is being looked for.
  // `section` identifies the text with the node. `write` writes the recording, which is removed later, and returns its
  // path.
  std::string find(const std::string& section, const OriginQuestion& question,
                   const std::function<std::string()>& write);

 private:
  struct Origin {
    std::string section;
    size_t position;
    std::shared_future<std::string> answer;
    bool is_ready() const { return answer.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }
  };
  std::vector<Origin> origins_;
};

}  // namespace tgc
