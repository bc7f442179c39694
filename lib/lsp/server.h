// A language server (LSP 3.17) for graphs of tinygrad: pyrender texts, listings, reprs, JSON, repro bundles and
// recordings. `tgc lsp` runs it on standard input and output.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tgc {

class LspServer {
 public:
  // The server calls `send` with each message for the client, as JSON. `program` is the path of the tgc that runs
  // commands.
  LspServer(std::function<void(const std::string& json)> send, std::string program);
  ~LspServer();

  // Handles a message of the client. Answers a request, at once or later. Does not answer a notification, nor an answer
  // of the client. Answers any other message with an error.
  void receive_message(std::string_view message);

  // Returns true if there is work to do while no messages arrive, such as searching recordings for problems. do_work()
  // does a part of this work.
  bool has_work() const;
  void do_work();

  std::vector<int> job_outputs() const;  // file descriptors; when one is readable, call read_jobs()
  void read_jobs();  // reads the results of commands and rule searches, and answers the requests for them
  // Returns the exit code of the server once the client has sent `exit`; nullopt before.
  std::optional<int> exit_code() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Serves the client at the file descriptors `in` and `out` until the client says `exit`, or until reading or writing
// fails. Returns the exit code: 0 if the client said `shutdown` before `exit`, else 1.
int serve_lsp(int in, int out, const std::string& program);

}  // namespace tgc
