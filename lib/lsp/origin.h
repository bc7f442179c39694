// find_origin() finds the rule that made a node of a recorded stage: for a recording of 0.12.0, by compiling the graph
// again with tgc's own pipeline; for one of another release, from the recorded rewrites.
#pragma once
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "lib/contain/process.h"
#include "lib/support/result.h"

namespace tgc {

struct OriginQuestion {
  std::string stage;     // the stage whose result has the node
  size_t position = 0;   // the node's index in the toposort of that result
  size_t num_nodes = 0;  // the number of nodes of that result
  std::string op;        // name of the node's op
  std::string producer;  // the release that made the recording, such as "tinygrad 0.14.0"
};

struct OriginAnswer {
  // the rule with its file, line and stage, as Markdown; "no rule: ..." if the node comes from the AST without a rule;
  // "" if the rule is unknown
  std::string text;
  std::vector<std::string> places;  // the file and line of the rule in tinygrad and in tgc, each as "FILE:LINE"
};

// Returns the rule that made a node. `file` is a recording with one record. Because the recording is not trusted, a
// worker process does this; returns an empty answer if the worker fails or takes more than `seconds`. May be called
// from any thread.
OriginAnswer find_origin(const std::string& file, const OriginQuestion& question, double seconds);

// Finds origins in threads, so that the server can answer other messages.
class OriginFinder {
 public:
  OriginFinder();
  // Returns the future answer to a question. If the same position of the same section was not asked about before,
  // starts a thread that searches for the answer, or returns nullopt if too many threads are searching. `section`
  // identifies the section and the version of the text. `write` writes the recording to a file, which is removed later,
  // and returns its path. Waits a few milliseconds, in case the answer is ready soon.
  std::optional<std::shared_future<OriginAnswer>> find_answer(const std::string& section,
                                                              const OriginQuestion& question,
                                                              const std::function<std::string()>& write);
  // Returns a file descriptor that becomes readable when an answer is ready. clear_origins() makes it unreadable again.
  int ready_descriptor() const { return ready_pipe_->read_end(); }
  void clear_origins();

 private:
  struct Origin {
    std::string section;
    size_t position;
    std::shared_future<OriginAnswer> answer;
    std::jthread thread;  // searches for the answer
  };
  std::shared_ptr<Pipe> ready_pipe_;  // shared with the threads
  std::vector<Origin> origins_;
};

template <class T>
bool is_ready(const std::shared_future<T>& answer) {
  return answer.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

}  // namespace tgc
