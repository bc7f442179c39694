// Finds the rule that made a node of a recorded stage.
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
  std::string stage;
  size_t position = 0;   // in the toposort of the stage's result
  size_t num_nodes = 0;
  std::string op;
  std::string producer;  // such as "tinygrad 0.14.0"
};

struct OriginAnswer {
  // the rule, as Markdown; "no rule: ..." if the node comes from the AST; "" if the rule is unknown
  std::string text;
  std::vector<std::string> rule_locations;  // in tinygrad and in tgc, each as "FILE:LINE"
};

// `file` is a recording with one record. Because it is not trusted, a worker process reads it; the answer is empty if
// the worker fails or takes more than `seconds`. May be called from any thread.
OriginAnswer find_origin(const std::string& file, const OriginQuestion& question, double seconds);

class OriginFinder {
 public:
  OriginFinder();
  // Returns nullopt if the question is new and too many searches are running. `section` identifies the section and the
  // version of the text. `write` writes the recording to a file, which is removed later, and returns its path.
  std::optional<std::shared_future<OriginAnswer>> find_answer(const std::string& section,
                                                              const OriginQuestion& question,
                                                              const std::function<std::string()>& write);
  // Becomes readable when an answer is ready; drain_ready_pipe() makes it unreadable again.
  int ready_descriptor() const { return ready_pipe_->read_end(); }
  void drain_ready_pipe();

 private:
  struct NodeOrigin {
    std::string section;
    size_t position;
    std::shared_future<OriginAnswer> answer;
    std::jthread thread;
  };
  std::shared_ptr<Pipe> ready_pipe_;
  std::vector<NodeOrigin> node_origins_;
};

template <class T>
bool is_ready(const std::shared_future<T>& answer) {
  return answer.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

}  // namespace tgc
