// Serves the page on 127.0.0.1 and compiles kernels of a schedule when the user opens them. Answers only GET requests
// whose path begins with a random token, whose Host is 127.0.0.1 or localhost with the server's port, and whose Origin,
// if any, names this Host. So other web sites cannot use the server by DNS rebinding or by scripts. Requests cannot
// name files.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "lib/driver/session.h"
#include "lib/support/result.h"
#include "lib/view/page.h"

namespace tgc {

// The parts of an untrusted HTTP request that the server uses.
struct HttpRequest {
  std::string path;  // the path as sent, without the query
  std::string host_header;
  std::string origin_header;
};

constexpr size_t kMaxHeadBytes = 16 << 10;

// Returns true if `head` contains an empty line.
bool is_whole_request(std::string_view head);

// The message of an error is an HTTP status, such as "405 Method Not Allowed". Fails for a method other than GET, a
// malformed or too long head, a version other than HTTP/1.0 or 1.1, no Host header, two Host or Origin headers, and a
// body.
Result<HttpRequest> parse_request(std::string_view head);

class ViewServer {
 public:
  // Listens on 127.0.0.1. Port 0 means any free port. Fails if the port cannot be used.
  static Result<std::unique_ptr<ViewServer>> start_server(int port, std::string_view page_code, ViewContent content);
  ~ViewServer();

  const std::string& page_address() const { return address_; }  // "http://127.0.0.1:8123/TOKEN/"
  // Writes an HTML file that forwards to page_address(), and returns its path, to start a browser with. Other users see
  // a browser's arguments, but cannot read the file, so they do not learn the token. The destructor removes the file.
  // Fails if the file cannot be written.
  Result<std::string> redirect_file();
  // Answers requests until the session is cancelled, then finishes the open connections.
  void serve_requests(const Session& session);
  std::string answer_request(std::string_view head);

 private:
  ViewServer() = default;
  void handle_connection(int connection);

  struct State;
  std::unique_ptr<State> state_;
  int socket_ = -1;
  std::string address_, host_, token_, redirect_path_;
};

}  // namespace tgc
