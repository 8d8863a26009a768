#include "api/connection.h"

#include <fmt/format.h>
#include <poll.h>
#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <boost/beast/http/status.hpp>
#include <cctype>

#include "base/log.h"

namespace eider::api {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

/// What a client may still send after it was refused, before the connection is cut.
constexpr std::size_t kLingerLimitBytes = 4 * 1024 * 1024;
constexpr Micros kLingerTime = std::chrono::seconds(1);

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::string_view view(boost::beast::string_view text) { return {text.data(), text.size()}; }

std::string response_head(const Response& response, bool chunked, bool keep_alive) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", response.status,
                                 view(http::obsolete_reason(static_cast<http::status>(response.status))));
  head += "Content-Type: " + response.content_type + "\r\n";
  head += "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n";
  for (const auto& [name, value] : response.headers) head += fmt::format("{}: {}\r\n", name, value);
  if (chunked) {
    head += "Transfer-Encoding: chunked\r\n";
  } else if (!response.stream) {
    head += fmt::format("Content-Length: {}\r\n", response.body.size());
  }
  head += keep_alive ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n";
  return head;
}

}  // namespace

Connection::Connection(Socket socket, const ServerLimits& limits, const Handler& handler,
                       const std::function<void(Connection*)>& on_closed)
    : socket_(std::move(socket)),
      timer_(socket_.get_executor()),
      limits_(limits),
      handler_(handler),
      on_closed_(on_closed) {}

void Connection::start() { next_request(); }

void Connection::drain() {
  draining_ = true;
  keep_alive_ = false;
  if (phase_ == Phase::idle) close();
}

void Connection::close() {
  if (phase_ == Phase::closed) return;
  const auto keep = shared_from_this();
  phase_ = Phase::closed;
  ++deadline_id_;
  timer_.cancel();
  stream_.reset();
  error_code ignored;
  socket_.close(ignored);
  on_closed_(this);
}

// ---- reading
// ---------------------------------------------------------------------------------------------------------

void Connection::next_request() {
  if (draining_) return close();
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(kHeaderLimitBytes));
  parser_->body_limit(kBodyLimitBytes);
  parser_->eager(true);
  phase_ = Phase::idle;
  set_deadline(limits_.idle_timeout);
  advance();
}

void Connection::advance() {
  if (!unparsed_.empty()) {
    error_code error;
    const std::size_t used = parser_->put(asio::const_buffer(unparsed_.data(), unparsed_.size()), error);
    unparsed_.erase(0, used);
    note_progress();
    if (error && error != http::error::need_more) return refuse(error);
    if (parser_->is_done()) return dispatch();
    // An endless chunk extension or trailer.
    if (unparsed_.size() > kHeaderLimitBytes + incoming_.size()) return refuse(http::error::header_limit);
  }
  read_more();
}

/// The deadlines run from a request's first byte and from the end of its header: one byte a second wins nothing.
void Connection::note_progress() {
  if (phase_ == Phase::idle) {
    phase_ = Phase::header;
    set_deadline(limits_.header_timeout);
  }
  if (phase_ == Phase::header && parser_->is_header_done()) {
    phase_ = Phase::body;
    set_deadline(limits_.body_timeout);
    if (!parser_->is_done() && boost::beast::iequals(parser_->get()[http::field::expect], "100-continue")) {
      // A few bytes into an empty socket buffer; a client that does not get them sends its body all the same.
      error_code ignored;
      static constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
      socket_.write_some(asio::const_buffer(go_on.data(), go_on.size()), ignored);
    }
  }
}

void Connection::read_more() {
  socket_.async_read_some(asio::buffer(incoming_), [self = shared_from_this()](error_code error, std::size_t size) {
    if (self->phase_ == Phase::closed) return;
    if (error) return self->close();
    self->unparsed_.append(self->incoming_.data(), size);
    if (self->phase_ == Phase::idle || self->phase_ == Phase::header || self->phase_ == Phase::body) self->advance();
  });
}

void Connection::refuse(error_code error) {
  Problem problem{400, "malformed-request", "this is not a well-formed HTTP/1.1 request: " + error.message(), {}};
  if (error == http::error::header_limit) {
    problem = {
        431, "header-too-large", fmt::format("the request's header is larger than {} bytes", kHeaderLimitBytes), {}};
  } else if (error == http::error::body_limit) {
    problem = {413, "body-too-large", fmt::format("the request's body is larger than {} bytes", kBodyLimitBytes), {}};
  }
  // Where the next request would begin is unknown now.
  keep_alive_ = false;
  head_only_ = false;
  phase_ = Phase::handling;
  respond(problem_response(problem));
}

Result<void> Connection::take_request(Request& request) {
  auto message = parser_->release();
  request.method = std::string(view(message.method_string()));
  request.body = std::move(message.body());
  int hosts = 0;
  for (const auto& field : message) {
    const std::string name = lower(view(field.name_string()));
    if (name == "host") ++hosts;
    auto [at, added] = request.headers.emplace(name, view(field.value()));
    if (!added) at->second += ", " + std::string(view(field.value()));
  }
  keep_alive_ = message.keep_alive() && !draining_;
  chunked_ = message.version() >= 11;
  head_only_ = request.method == "HEAD";
  if (hosts > 1 || (hosts == 0 && message.version() >= 11)) {
    return Error{ErrorCode::invalid, "an HTTP/1.1 request needs exactly one Host header"};
  }
  return parse_target(view(message.target()), request);
}

// ---- handling and answering
// ------------------------------------------------------------------------------------------

void Connection::dispatch() {
  phase_ = Phase::handling;
  ++deadline_id_;
  timer_.cancel();
  Request request;
  const auto taken = take_request(request);
  parser_.reset();
  if (!taken) return respond(error_response(taken.error()));
  // Weak: an answer that comes when the client is gone must not keep the socket.
  Respond respond_later = [weak = weak_from_this()](Response response) {
    if (const auto self = weak.lock()) self->respond(std::move(response));
  };
  try {
    handler_(std::move(request), std::move(respond_later));
  } catch (const std::exception& error) {
    log::error(std::string("a request failed: ") + error.what());
    respond(problem_response({500, "internal", "the server could not answer; its log says more", {}}));
  }
}

void Connection::respond(Response response) {
  if (phase_ != Phase::handling) return;  // closed meanwhile, or answered already
  chunked_ = chunked_ && response.stream != nullptr;
  if (response.stream && !chunked_) keep_alive_ = false;  // HTTP/1.0: the end of the body is the end of the connection
  std::string bytes = response_head(response, chunked_, keep_alive_);
  if (!head_only_) {
    bytes += response.body;
    stream_ = std::move(response.stream);
  }
  stream_done_ = false;
  write(std::move(bytes), limits_.write_timeout, stream_ ? &Connection::pump : &Connection::finish);
}

void Connection::write(std::string bytes, Micros timeout, void (Connection::*then)()) {
  phase_ = Phase::writing;
  outgoing_ = std::move(bytes);
  set_deadline(timeout);
  asio::async_write(socket_, asio::buffer(outgoing_), [self = shared_from_this(), then](error_code error, std::size_t) {
    if (self->phase_ == Phase::closed) return;
    if (error) return self->close();
    ((*self).*then)();
  });
}

/// One piece of a growing body at a time; the next is read when the client has taken this one.
void Connection::pump() {
  if (stream_done_) {
    stream_.reset();
    return finish();
  }
  auto chunk = stream_->read();
  if (!chunk) {
    log::warning("a stream ended early: " + chunk.error().message);
    return close();
  }
  stream_done_ = chunk->done;
  std::string bytes = std::move(chunk->bytes);
  if (chunked_ && !bytes.empty()) bytes = fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes);
  if (chunked_ && stream_done_) bytes += "0\r\n\r\n";
  if (!bytes.empty() || stream_done_) return write(std::move(bytes), limits_.stall_timeout, &Connection::pump);
  if (peer_is_gone()) return close();
  phase_ = Phase::writing;
  timer_.expires_after(limits_.stream_poll);
  timer_.async_wait([self = shared_from_this(), id = ++deadline_id_](error_code) {
    if (self->phase_ != Phase::closed && self->deadline_id_ == id) self->pump();
  });
}

/// Both directions are closed; one that only finished sending still reads.
bool Connection::peer_is_gone() const {
  // const_cast: native_handle() is not const in Asio, and changes nothing.
  pollfd look{const_cast<Socket&>(socket_).native_handle(), 0, 0};
  return ::poll(&look, 1, 0) > 0 && (look.revents & (POLLHUP | POLLERR)) != 0;
}

void Connection::finish() {
  outgoing_.clear();
  if (keep_alive_) return next_request();
  error_code ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
  phase_ = Phase::lingering;
  set_deadline(kLingerTime);
  linger();
}

/// A socket that is closed with bytes unread tells its peer "reset", which may cost it the answer: read them first.
void Connection::linger() {
  socket_.async_read_some(asio::buffer(incoming_), [self = shared_from_this()](error_code error, std::size_t size) {
    if (self->phase_ == Phase::closed) return;
    self->lingered_bytes_ += size;
    if (error || self->lingered_bytes_ > kLingerLimitBytes) return self->close();
    self->linger();
  });
}

// ---- deadlines
// -------------------------------------------------------------------------------------------------------

void Connection::set_deadline(Micros timeout) {
  timer_.expires_after(timeout);
  timer_.async_wait([weak = weak_from_this(), id = ++deadline_id_](error_code error) {
    if (error) return;
    const auto self = weak.lock();
    if (self && self->deadline_id_ == id) self->on_deadline();
  });
}

void Connection::on_deadline() {
  if (phase_ == Phase::header || phase_ == Phase::body) {
    keep_alive_ = false;
    // The pending read sees the shutdown's effect only when the client closes; it holds no more than itself.
    phase_ = Phase::handling;
    return respond(problem_response({408, "request-timeout", "the request did not come in whole within its time", {}}));
  }
  close();
}

}  // namespace eider::api
