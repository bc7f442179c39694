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
  // `send` receives each message for the client, as JSON. `program` is the path of the tgc that runs commands.
  LspServer(std::function<void(const std::string& json)> send, std::string program);
  ~LspServer();

  // Handles a message of the client. A request is answered, at once or later; a notification is not. The answer to a
  // damaged message is an error.
  void receive_message(std::string_view message);

  // Returns true if there is work that can wait while messages come in, such as diagnostics of recordings. do_work()
  // does a part of it.
  bool has_work() const;
  void do_work();

  std::vector<int> job_outputs() const;  // file descriptors; when one is readable, call read_jobs()
  void read_jobs();  // reads the output of commands and rule searches, and answers the requests that wait for it
  // Returns the exit code of the server once the client has sent `exit`; nullopt before.
  std::optional<int> exit_code() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Serves the client at the file descriptors `in` and `out` until the client says `exit` or closes `in`. Returns the
// exit code: 0 if the client said `shutdown` before `exit`, else 1.
int serve_lsp(int in, int out, const std::string& program);

}  // namespace tgc
