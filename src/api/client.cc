#include "api/client.h"

#pragma GCC diagnostic ignored "-Wnull-dereference"
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cctype>
#include <cerrno>

#include "base/fd.h"
#include "wire/channel.h"

namespace eider::api {
namespace {

namespace http = boost::beast::http;
using Parser = http::response_parser<http::string_body>;

std::string request_text(const Request& request) {
  std::string out = fmt::format("{} {} HTTP/1.1\r\nHost: eider\r\nUser-Agent: eider\r\nConnection: close\r\n",
                                request.method, make_target(request));
  for (const auto& [name, value] : request.headers) out += fmt::format("{}: {}\r\n", name, value);
  if (!request.body.empty() || request.method != "GET") {
    out += fmt::format("Content-Type: application/json\r\nContent-Length: {}\r\n", request.body.size());
  }
  return out + "\r\n" + request.body;
}

/// False: the time is over. Each wait begins anew, so that a slow but living server is not cut off.
Result<bool> wait_for(int fd, short events, Micros timeout) {
  pollfd look{fd, events, 0};
  const auto milliseconds =
      timeout.count() < 0 ? -1 : static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(timeout).count());
  while (true) {
    const int ready = ::poll(&look, 1, milliseconds);
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return io_error("poll", errno);
    return ready > 0;
  }
}

Error no_answer(const std::string& path, std::string_view why) {
  return Error{ErrorCode::unavailable, fmt::format("the server at {} {}", path, why)};
}

/// A server that refuses a request may close before it has read all: its answer is there all the same.
Result<void> send_all(int fd, std::string_view bytes, const std::string& path, Micros timeout) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EPIPE || errno == ECONNRESET) {
      return {};
    } else if (errno == EAGAIN) {
      auto ready = wait_for(fd, POLLOUT, timeout);
      if (!ready) return ready.error();
      if (!*ready) return no_answer(path, "does not read the request");
    } else if (errno != EINTR) {
      return io_error("send", errno);
    }
  }
  return {};
}

Response head_of(const Parser& parser) {
  Response response;
  const auto& message = parser.get();
  response.status = static_cast<int>(message.result_int());
  for (const auto& field : message) {
    std::string name(field.name_string().data(), field.name_string().size());
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const std::string value(field.value().data(), field.value().size());
    if (name == "content-type") response.content_type = value;
    response.headers[name] = value;
  }
  return response;
}

/// The answer as it comes in. `on_bytes` empty: the whole body is gathered.
class Answer {
 public:
  Answer(const Client::OnBytes& on_bytes, bool head_only) : on_bytes_(on_bytes) {
    parser_.eager(true);
    parser_.body_limit(boost::none);
    parser_.skip(head_only);
  }

  /// True: nothing more is needed.
  Result<bool> take(std::string_view bytes) {
    unparsed_ += bytes;
    boost::system::error_code error;
    const std::size_t used = parser_.put(boost::asio::const_buffer(unparsed_.data(), unparsed_.size()), error);
    unparsed_.erase(0, used);
    if (error && error != http::error::need_more)
      return Error{ErrorCode::unavailable, "not an HTTP answer: " + error.message()};
    return give_on() || parser_.is_done();
  }
  /// The connection ended. True: the answer is whole.
  bool take_end() {
    boost::system::error_code error;
    if (parser_.got_some()) parser_.put_eof(error);
    give_on();
    return parser_.is_done() && !error;
  }
  bool streams() { return on_bytes_ && parser_.is_header_done() && parser_.get().result_int() == 200; }
  Response response() {
    Response out = head_of(parser_);
    out.body = std::move(parser_.get().body());
    return out;
  }

 private:
  /// True: the taker has enough.
  bool give_on() {
    if (!streams() || parser_.get().body().empty()) return false;
    const std::string part = std::exchange(parser_.get().body(), {});
    return !on_bytes_(part);
  }

  const Client::OnBytes& on_bytes_;
  Parser parser_;
  std::string unparsed_;
};

}  // namespace

Result<Response> Client::call(const Request& request) const { return stream(request, nullptr); }

Result<Response> Client::stream(const Request& request, const OnBytes& on_bytes) const {
  auto socket = wire::connect_to(socket_path_);
  if (!socket) {
    if (socket.error().code != ErrorCode::not_found) return socket.error();
    return Error{ErrorCode::no_server, "no server listens on " + socket_path_ + "; start one with `eider serve`"};
  }
  if (auto sent = send_all(socket->get(), request_text(request), socket_path_, answer_timeout_); !sent)
    return sent.error();
  Answer answer(on_bytes, request.method == "HEAD");
  std::string buffer(64 * 1024, '\0');
  while (true) {
    auto ready = wait_for(socket->get(), POLLIN, answer.streams() ? Micros(-1) : answer_timeout_);
    if (!ready) return ready.error();
    if (!*ready) return no_answer(socket_path_, "does not answer");
    const ssize_t size = ::recv(socket->get(), buffer.data(), buffer.size(), 0);
    if (size < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (size <= 0) {
      if (answer.take_end()) return answer.response();
      return no_answer(socket_path_, "broke the connection off before its answer was whole");
    }
    auto done = answer.take({buffer.data(), static_cast<std::size_t>(size)});
    if (!done) return no_answer(socket_path_, done.error().message);
    if (*done) return answer.response();
  }
}

}  // namespace eider::api
