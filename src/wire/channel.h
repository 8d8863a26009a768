// Frames over a stream socket, non-blocking, with descriptors (SCM_RIGHTS) beside a frame. Both ends use it.
// The top bit of a frame's length says that a descriptor comes with it.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace eider::wire {

inline constexpr std::size_t frame_limit_bytes = 64UL << 20;

/// Owns one end. One thread. The owner watches fd() for reading, and for writing while wants_write().
class Channel {
 public:
  explicit Channel(UniqueFd socket);

  int fd() const { return socket_.get(); }
  /// Queues a frame and writes what the socket takes now. An Error when the peer is gone. `descriptor` (-1: none) is
  /// sent with the frame; the caller keeps its own copy open until wants_write() is false or closes it by passing
  /// ownership: it is duplicated here.
  Result<void> send(std::string_view frame, int descriptor = -1);
  /// Queues a frame that goes with the next send() or flush(): the peer is then woken once for both.
  Result<void> hold(std::string_view frame, int descriptor = -1);
  /// Writes more of what is queued.
  Result<void> flush();
  bool wants_write() const { return !outgoing_.empty(); }

  struct Frame {
    std::string text;
    UniqueFd descriptor;  ///< close-on-exec; none: the frame carries none
  };
  /// Reads what is there; complete frames go to `out`. False: the peer closed its end (frames read before still go to
  /// `out`). A frame over the limit is an Error `corrupt`.
  Result<bool> receive(std::vector<Frame>& out);

 private:
  struct Outgoing {
    std::string bytes;
    std::size_t sent = 0;
    UniqueFd descriptor;
  };
  Result<void> cut_frames(std::vector<Frame>& out);

  UniqueFd socket_;
  std::deque<Outgoing> outgoing_;
  std::string incoming_;
  std::deque<UniqueFd> descriptors_;
};

/// A connected pair of non-blocking, close-on-exec stream sockets.
Result<std::pair<UniqueFd, UniqueFd>> channel_pair();

/// Paths longer than sun_path allows are reached through /proc/self/fd of the folder. Non-blocking, close-on-exec, for
/// this user only (0600). A socket file that lies there is replaced: who may listen is decided by locks.
Result<UniqueFd> listen_at(const std::string& path);
/// `not_found` when nobody listens.
Result<UniqueFd> connect_to(const std::string& path);

}  // namespace eider::wire
