#include "lib/view/server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <thread>
#include <utility>

#include "lib/contain/system.h"
#include "lib/support/sha256.h"

namespace tgc {

namespace {

constexpr int kMostConnections = 32;
constexpr auto kTimeLimit = std::chrono::seconds(5);  // for a request, and for each part of a response
constexpr int kTick = 200;                            // milliseconds between checks for cancellation

std::string http_response(std::string_view status, std::string_view type, std::string_view body) {
  std::string out = "HTTP/1.1 " + std::string(status) + "\r\nContent-Type: " + std::string(type) +
                    "\r\nContent-Length: " + std::to_string(body.size()) +
                    "\r\nConnection: close\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
                    "Referrer-Policy: no-referrer\r\nX-Frame-Options: DENY\r\n"
                    "Cross-Origin-Resource-Policy: same-origin\r\nCross-Origin-Opener-Policy: same-origin\r\n\r\n";
  return out.append(body);
}
std::string error_response(std::string_view status) {
  return http_response(status, "text/plain", std::string(status) + "\n");
}

std::string new_token() {
  char bytes[16];
  if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) throw Failure("there is no randomness");
  return sha256_hex(std::string_view(bytes, sizeof bytes));
}

// Takes the same time for all texts of a length, so that the time reveals nothing about the secret.
bool are_equal_secrets(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char different = 0;
  for (size_t i = 0; i < a.size(); i++) different |= static_cast<unsigned char>(a[i] ^ b[i]);
  return !different;
}

}  // namespace

struct ViewServer::State {
  std::string page;
  ViewContent content;
  std::mutex mutex;  // guards the graphs in `content`
  std::atomic<int> num_connections{0};

  // Returns graph `i` for the page. Compiles the graph at the first request, if it has compile_later().
  Result<std::string> encoded_graph(size_t i) {
    std::lock_guard lock(mutex);
    RecordedGraph& g = content.graphs[i];
    if (g.data_json.empty() && g.compile_later) {
      auto made = g.compile_later();
      if (!made) return made.diag();
      g.data_json = std::move(made->data_json), g.events_json = std::move(made->events_json);
    }
    return encode_graph(g);
  }
};

Result<std::unique_ptr<ViewServer>> ViewServer::start_server(int port, std::string_view page_code,
                                                             ViewContent content) {
  return catch_failures([&] {
    std::unique_ptr<ViewServer> out(new ViewServer);
    out->socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in where{};
    where.sin_family = AF_INET, where.sin_port = htons(uint16_t(port)), where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int yes = 1;
    setsockopt(out->socket_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    socklen_t size = sizeof where;
    if (out->socket_ < 0 || bind(out->socket_, reinterpret_cast<sockaddr*>(&where), sizeof where) ||
        listen(out->socket_, 16) || getsockname(out->socket_, reinterpret_cast<sockaddr*>(&where), &size))
      throw Failure("port " + std::to_string(port) + " of 127.0.0.1 cannot be had: " + std::strerror(errno));
    out->host_ = "127.0.0.1:" + std::to_string(ntohs(where.sin_port));
    out->token_ = new_token();
    out->address_ = "http://" + out->host_ + "/" + out->token_ + "/";
    out->state_ = std::make_unique<State>();
    ViewContent index = content;
    for (RecordedGraph& g : index.graphs) g.data_json.clear(), g.events_json.clear();
    out->state_->page = make_view_page(page_code, index);
    out->state_->content = std::move(content);
    return out;
  });
}

ViewServer::~ViewServer() {
  if (socket_ >= 0) close(socket_);
  if (!redirect_path_.empty()) unlink(redirect_path_.c_str());
}

Result<std::string> ViewServer::redirect_file() {
  const char* own = std::getenv("XDG_RUNTIME_DIR");
  std::error_code error;
  std::string folder = own && *own ? own : std::filesystem::temp_directory_path(error).string();
  std::string path = folder + "/tgc-view.XXXXXX.html";
  int file = mkostemps(path.data(), 5, O_CLOEXEC);  // creates the file with mode 0600
  if (file < 0) return Diag{.message = std::string("cannot write it: ") + std::strerror(errno), .file = path};
  redirect_path_ = path;
  std::string page = "<!DOCTYPE html><meta http-equiv=\"refresh\" content=\"0; url=" + address_ + "\">\n";
  bool is_written = write(file, page.data(), page.size()) == ssize_t(page.size());
  if (close(file) || !is_written) return Diag{.message = "cannot write it", .file = path};
  return path;
}

std::string ViewServer::answer_request(std::string_view head) {
  auto request = parse_request(head);
  if (!request) return error_response(request.diag().message);
  const std::string local = "localhost" + host_.substr(host_.find(':'));
  const bool is_here = request->host_header == host_ || request->host_header == local;
  if (!is_here || (!request->origin_header.empty() && request->origin_header != "http://" + request->host_header))
    return error_response("403 Forbidden");
  std::string_view path = request->path;
  path.remove_prefix(1);
  size_t slash = path.find('/');
  if (slash == path.npos || !are_equal_secrets(path.substr(0, slash), token_)) return error_response("403 Forbidden");
  path.remove_prefix(slash + 1);
  if (path.empty()) return http_response("200 OK", "text/html; charset=utf-8", state_->page);
  constexpr std::string_view kGraph = "graph/";
  if (!path.starts_with(kGraph) || path.size() > kGraph.size() + 6) return error_response("404 Not Found");
  size_t number = 0;
  for (char c : path.substr(kGraph.size())) {
    if (c < '0' || c > '9') return error_response("404 Not Found");
    number = number * 10 + size_t(c - '0');
  }
  if (path.size() == kGraph.size() || number >= state_->content.graphs.size()) return error_response("404 Not Found");
  auto encoded_graph = state_->encoded_graph(number);
  if (!encoded_graph) return http_response("500 Internal Server Error", "text/plain", encoded_graph.diag().text());
  return http_response("200 OK", "application/octet-stream", *encoded_graph);
}

void ViewServer::handle_connection(int connection) {
  auto ready = [&](short what) {
    pollfd wait{connection, what, 0};
    return poll(&wait, 1, int(std::chrono::milliseconds(kTimeLimit).count())) == 1;
  };
  std::string head;
  char buffer[4096];
  auto until = std::chrono::steady_clock::now() + kTimeLimit;
  while (!is_whole_request(head) && head.size() <= kMaxHeadBytes && std::chrono::steady_clock::now() < until) {
    if (!ready(POLLIN)) break;
    ssize_t n = recv(connection, buffer, sizeof buffer, 0);
    if (n <= 0) break;
    head.append(buffer, size_t(n));
  }
  std::string out = head.empty()             ? ""
                    : is_whole_request(head) ? answer_request(head)
                                             : error_response("400 Bad Request");
  for (std::string_view rest = out; !rest.empty();) {
    if (!ready(POLLOUT)) break;
    ssize_t n = send(connection, rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n <= 0) break;
    rest.remove_prefix(size_t(n));
  }
  close(connection);
}

void ViewServer::serve_requests(const Session& session) {
  while (!session.is_cancelled()) {
    pollfd wait{socket_, POLLIN, 0};
    int ready = poll(&wait, 1, kTick);
    if (ready == 0) continue;
    int connection = ready < 0 ? -1 : accept_connection(socket_);
    if (connection < 0) {  // no descriptor is free: without a pause, poll would return at once
      std::this_thread::sleep_for(std::chrono::milliseconds(kTick));
      continue;
    }
    if (state_->num_connections++ >= kMostConnections) {
      state_->num_connections--;
      close(connection);
      continue;
    }
    std::thread([this, connection] {  // browsers keep idle connections open
      handle_connection(connection);
      state_->num_connections--;
    }).detach();
  }
  while (state_->num_connections) std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

namespace {

constexpr std::string_view kHeadEnd = "\r\n";

Diag bad_request() { return Diag{"400 Bad Request"}; }

bool is_printable(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return c > 0x20 && c < 0x7f; });
}

std::string to_lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
  return out;
}

std::string_view trim_blanks(std::string_view text) {
  size_t begin = text.find_first_not_of(" \t"), end = text.find_last_not_of(" \t");
  return begin == text.npos ? std::string_view() : text.substr(begin, end - begin + 1);
}

}  // namespace

bool is_whole_request(std::string_view head) { return head.find("\r\n\r\n") != head.npos; }

Result<HttpRequest> parse_request(std::string_view head) {
  size_t end = head.find("\r\n\r\n");
  if (end == head.npos || end > kMaxHeadBytes) return bad_request();
  head = head.substr(0, end + kHeadEnd.size());
  auto line = [&] {
    size_t at = head.find(kHeadEnd);
    std::string_view out = head.substr(0, at);
    head.remove_prefix(at + kHeadEnd.size());
    return out;
  };
  std::string_view first = line();
  size_t a = first.find(' '), b = first.rfind(' ');
  if (a == first.npos || a == b) return bad_request();
  std::string_view path = first.substr(a + 1, b - a - 1), version = first.substr(b + 1);
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return bad_request();
  if (first.substr(0, a) != "GET") return Diag{"405 Method Not Allowed"};
  if (!path.starts_with('/') || !is_printable(path)) return bad_request();
  HttpRequest out{.path = std::string(path.substr(0, path.find('?'))), .host_header = {}, .origin_header = {}};
  bool has_host = false, has_origin = false;
  while (!head.empty()) {
    std::string_view header = line();
    size_t colon = header.find(':');
    if (colon == header.npos || !colon || !is_printable(header.substr(0, colon))) return bad_request();
    std::string name = to_lower(header.substr(0, colon));
    std::string_view value = trim_blanks(header.substr(colon + 1));
    if (name == "host" && std::exchange(has_host, true)) return bad_request();
    if (name == "origin" && std::exchange(has_origin, true)) return bad_request();
    if (name == "host") out.host_header = value;
    if (name == "origin") out.origin_header = value;
    if (name == "transfer-encoding" || (name == "content-length" && value != "0")) return bad_request();
  }
  if (!has_host) return bad_request();
  return out;
}

}  // namespace tgc
