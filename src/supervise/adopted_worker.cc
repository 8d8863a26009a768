#include "supervise/adopted_worker.h"

#include <sys/socket.h>
#include <csignal>

#include "base/log.h"

namespace eider::supervise {
namespace {

/// The process that listens, from the kernel: it need not be able to answer. As long as the connection is open it
/// lives, so its number can't be another's.
wire::Process peer_of(const UniqueFd& socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.pid <= 0) return {};
  auto process = wire::open_process(peer.pid);
  return process ? std::move(*process) : wire::Process{};
}

}  // namespace

AdoptedWorker::AdoptedWorker(Reactor& reactor, UniqueFd socket, Callbacks callbacks)
    : reactor_(reactor), callbacks_(std::move(callbacks)), process_(peer_of(socket)), channel_(std::move(socket)) {
  reactor_.watch(channel_.fd(), [this] { on_readable(); });
}

AdoptedWorker::~AdoptedWorker() {
  *alive_ = false;
  reactor_.unwatch(channel_.fd());
}

void AdoptedWorker::send(const wire::ToWorker& message) {
  // That it is gone shows at the next read.
  [[maybe_unused]] const auto sent = channel_.send(encode(message));
  on_writable();
}

void AdoptedWorker::kill() {
  if (process_.handle) wire::signal_process(process_, SIGKILL);
}

void AdoptedWorker::on_writable() {
  if (watched_for_writing_ && !channel_.flush()) return;
  if (channel_.wants_write() == watched_for_writing_) return;
  watched_for_writing_ = channel_.wants_write();
  reactor_.unwatch(channel_.fd());
  reactor_.watch(channel_.fd(), [this] { on_readable(); });
  if (watched_for_writing_) reactor_.watch_writable(channel_.fd(), [this] { on_writable(); });
}

void AdoptedWorker::on_readable() {
  std::vector<wire::Channel::Frame> frames;
  const auto open = channel_.receive(frames);
  // Kept here: a callback may end this object.
  const std::shared_ptr<bool> alive = alive_;
  const Callbacks callbacks = callbacks_;
  std::string broken = open ? "" : open.error().message;
  for (const wire::Channel::Frame& frame : frames) {
    auto message = wire::decode_to_server(frame.text);
    if (!message) {
      broken = message.error().message;
      break;
    }
    callbacks.on_message(std::move(*message));
    if (!*alive) return;
  }
  if (!broken.empty()) log::warning("a worker found alive is ended, because it broke its protocol: " + broken);
  if (broken.empty() && *open) return;
  reactor_.unwatch(channel_.fd());
  callbacks.on_gone();
}

}  // namespace eider::supervise
