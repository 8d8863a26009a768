#include "wire/channel.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <array>
#include <cerrno>
#include <cstring>

namespace eider::wire {
namespace {

constexpr std::size_t kHeaderBytes = 4;
/// Top bit of the length: a descriptor travels with the frame. Without it a receiver could not tell to which of the
/// frames of one read a descriptor belongs.
constexpr std::uint32_t kCarriesDescriptor = 1U << 31;
/// Read at most this much a call, so that a peer that never stops writing can't keep the caller.
constexpr std::size_t kReadLimitBytes = 1UL << 20;
/// More descriptors than this that no frame has claimed: the peer breaks the protocol.
constexpr std::size_t kWaitingDescriptors = 16;

std::string header(std::size_t size, bool carries_descriptor) {
  const std::uint32_t word = static_cast<std::uint32_t>(size) | (carries_descriptor ? kCarriesDescriptor : 0U);
  std::string out(kHeaderBytes, '\0');
  for (std::size_t i = 0; i < kHeaderBytes; ++i) out[i] = static_cast<char>(word >> (8 * i));
  return out;
}

std::uint32_t header_word(std::string_view bytes) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < kHeaderBytes; ++i) {
    word |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return word;
}

ssize_t send_some(int socket, std::string_view bytes, int descriptor) {
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  if (descriptor >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(head), &descriptor, sizeof(int));
  }
  ssize_t sent = 0;
  do sent = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  while (sent < 0 && errno == EINTR);
  return sent;
}

void take_descriptors(msghdr& message, std::deque<UniqueFd>& out) {
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr; head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(head) + i * sizeof(int), sizeof(int));
      out.emplace_back(descriptor);
    }
  }
}

/// An address of `path`, through an open folder where the path is too long for one.
struct Address {
  sockaddr_un name{};
  UniqueFd folder;
};

Result<Address> address_of(const std::string& path) {
  Address out;
  out.name.sun_family = AF_UNIX;
  std::string text = path;
  if (text.size() >= sizeof out.name.sun_path) {
    const std::size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    out.folder.reset(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!out.folder) {
      if (errno == ENOENT) return Error{ErrorCode::not_found, folder + ": no such folder"};
      return io_error(folder, errno);
    }
    text = "/proc/self/fd/" + std::to_string(out.folder.get()) + "/" + path.substr(slash + 1);
    if (text.size() >= sizeof out.name.sun_path) {
      return Error{ErrorCode::invalid, path + ": the last part of a socket's path must be under 80 bytes"};
    }
  }
  std::memcpy(out.name.sun_path, text.c_str(), text.size() + 1);
  return out;
}

const sockaddr* as_sockaddr(const Address& address) { return reinterpret_cast<const sockaddr*>(&address.name); }

Result<UniqueFd> stream_socket() {
  UniqueFd out(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!out) return io_error("a Unix socket", errno);
  return out;
}

}  // namespace

Channel::Channel(UniqueFd socket) : socket_(std::move(socket)) {}

Result<void> Channel::send(std::string_view frame, int descriptor) {
  if (auto held = hold(frame, descriptor); !held) return held;
  return flush();
}

Result<void> Channel::hold(std::string_view frame, int descriptor) {
  if (frame.size() > frame_limit_bytes) {
    return Error{ErrorCode::refused,
                 "a message of " + std::to_string(frame.size()) + " bytes is over the 64 MiB limit"};
  }
  // A descriptor goes with the first byte of what it is queued with.
  if (descriptor >= 0 || outgoing_.empty()) {
    UniqueFd copy;
    if (descriptor >= 0) {
      copy.reset(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
      if (!copy) return io_error("a descriptor to send", errno);
    }
    outgoing_.push_back({{}, 0, std::move(copy)});
  }
  std::string& bytes = outgoing_.back().bytes;
  bytes.append(header(frame.size(), descriptor >= 0)).append(frame);
  return {};
}

Result<void> Channel::flush() {
  while (!outgoing_.empty()) {
    Outgoing& next = outgoing_.front();
    const ssize_t sent =
        send_some(socket_.get(), std::string_view(next.bytes).substr(next.sent), next.descriptor.get());
    if (sent < 0) {
      if (errno == EAGAIN || errno == EWOULDBLOCK) return {};
      if (errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN) {
        return Error{ErrorCode::unavailable, "the other end of the worker's channel is gone"};
      }
      return io_error("write to the worker's channel", errno);
    }
    next.descriptor.reset();  // it went with the first byte
    next.sent += static_cast<std::size_t>(sent);
    if (next.sent == next.bytes.size()) outgoing_.pop_front();
  }
  return {};
}

Result<bool> Channel::receive(std::vector<Frame>& out) {
  std::array<char, 65536> buffer;
  bool open = true;
  for (std::size_t taken = 0; taken < kReadLimitBytes;) {
    iovec part{buffer.data(), buffer.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(4 * sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t n = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (n < 0 && errno != ECONNRESET) return io_error("read from the worker's channel", errno);
    if (n <= 0) {
      open = false;
      break;
    }
    take_descriptors(message, descriptors_);
    if ((message.msg_flags & MSG_CTRUNC) != 0) {
      return Error{ErrorCode::io, "a descriptor that came with a message was lost: too many open files"};
    }
    incoming_.append(buffer.data(), static_cast<std::size_t>(n));
    taken += static_cast<std::size_t>(n);
    if (auto cut = cut_frames(out); !cut) return cut.error();
  }
  return open;
}

Result<void> Channel::cut_frames(std::vector<Frame>& out) {
  std::size_t begin = 0;
  while (incoming_.size() - begin >= kHeaderBytes) {
    const std::uint32_t word = header_word(std::string_view(incoming_).substr(begin));
    const std::size_t size = word & ~kCarriesDescriptor;
    if (size > frame_limit_bytes) {
      return Error{ErrorCode::corrupt,
                   "a message of " + std::to_string(size) + " bytes is announced; the limit is 64 MiB"};
    }
    if (incoming_.size() - begin - kHeaderBytes < size) break;
    Frame frame;
    frame.text = incoming_.substr(begin + kHeaderBytes, size);
    if ((word & kCarriesDescriptor) != 0) {
      if (descriptors_.empty()) return Error{ErrorCode::corrupt, "a message came without the descriptor it announces"};
      frame.descriptor = std::move(descriptors_.front());
      descriptors_.pop_front();
    }
    out.push_back(std::move(frame));
    begin += kHeaderBytes + size;
  }
  incoming_.erase(0, begin);
  if (descriptors_.size() > kWaitingDescriptors) {
    return Error{ErrorCode::corrupt, "descriptors came that no message announces"};
  }
  return {};
}

Result<std::pair<UniqueFd, UniqueFd>> channel_pair() {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) {
    return io_error("a socket pair", errno);
  }
  return std::pair(UniqueFd(ends[0]), UniqueFd(ends[1]));
}

Result<UniqueFd> listen_at(const std::string& path) {
  auto address = address_of(path);
  if (!address) return address.error();
  auto socket = stream_socket();
  if (!socket) return socket;
  // What lies there is the socket of a process that is gone: who may listen is decided by locks, not by this file.
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return io_error(path, errno);
  // Before bind(), so that nobody else can connect in between.
  if (::fchmod(socket->get(), 0600) != 0) return io_error(path, errno);
  if (::bind(socket->get(), as_sockaddr(*address), sizeof(sockaddr_un)) != 0) return io_error(path, errno);
  if (::listen(socket->get(), SOMAXCONN) != 0) return io_error(path, errno);
  return socket;
}

Result<UniqueFd> connect_to(const std::string& path) {
  auto address = address_of(path);
  if (!address) return address.error();
  auto socket = stream_socket();
  if (!socket) return socket;
  int done = 0;
  do done = ::connect(socket->get(), as_sockaddr(*address), sizeof(sockaddr_un));
  while (done != 0 && errno == EINTR);
  if (done == 0) return socket;
  if (errno == ENOENT || errno == ECONNREFUSED || errno == ENOTDIR) {
    return Error{ErrorCode::not_found, path + ": nobody listens there"};
  }
  if (errno == EAGAIN) return Error{ErrorCode::unavailable, path + ": too many connections are waiting there"};
  return io_error(path, errno);
}

}  // namespace eider::wire
