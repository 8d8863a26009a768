#include "wire/channel.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace eider::wire {
namespace {

struct Pair {
  Pair() {
    auto made = channel_pair();
    EIDER_CHECK(made.ok(), "a socket pair");
    left = std::make_unique<Channel>(std::move(made->first));
    right = std::make_unique<Channel>(std::move(made->second));
  }
  std::unique_ptr<Channel> left, right;
};

std::vector<Channel::Frame> receive_all(Channel& channel) {
  std::vector<Channel::Frame> out;
  const auto open = channel.receive(out);
  EIDER_CHECK(open.ok(), open.ok() ? "" : open.error().message);
  return out;
}

int open_descriptors() {
  int count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

/// A file that holds `text`, open for reading.
UniqueFd file_with(std::string_view text) {
  char path[] = "/tmp/eider-channel-XXXXXX";
  UniqueFd file(::mkostemp(path, O_CLOEXEC));
  EIDER_CHECK(write_all(file.get(), text).ok() && ::lseek(file.get(), 0, SEEK_SET) == 0, "a temporary file");
  ::unlink(path);
  return file;
}
std::string text_of(const UniqueFd& file) {
  char buffer[64];
  const ssize_t n = ::pread(file.get(), buffer, sizeof buffer, 0);
  return n < 0 ? "unreadable" : std::string(buffer, static_cast<std::size_t>(n));
}

RC_GTEST_PROP(Channel, FramesArriveWholeInOrderAndWithTheirDescriptor, ()) {
  Pair pair;
  const int before = open_descriptors();
  struct Sent {
    std::string text;
    bool with_descriptor;
  };
  std::vector<Sent> sent;
  const int count = *rc::gen::inRange(1, 12);
  for (int i = 0; i < count; ++i) {
    // Sizes around and far over the socket's buffer, so that writes are cut in the middle.
    const auto size = *rc::gen::element<std::size_t>(0, 1, 3, 100, 65'532, 65'536, 300'000, 1'000'000);
    sent.push_back({std::string(size, static_cast<char>('a' + i)), *rc::gen::arbitrary<bool>()});
    const UniqueFd file = sent.back().with_descriptor ? file_with(std::to_string(i)) : UniqueFd();
    const auto how = *rc::gen::arbitrary<bool>() ? &Channel::send : &Channel::hold;
    RC_ASSERT((*pair.left.*how)(sent.back().text, file.get()).ok());
  }
  std::vector<Channel::Frame> got;
  while (got.size() < sent.size()) {
    RC_ASSERT(pair.left->flush().ok());
    const auto open = pair.right->receive(got);
    RC_ASSERT(open.ok() && *open);
  }
  RC_ASSERT(!pair.left->wants_write());
  for (std::size_t i = 0; i < sent.size(); ++i) {
    RC_ASSERT(got[i].text == sent[i].text);
    RC_ASSERT(static_cast<bool>(got[i].descriptor) == sent[i].with_descriptor);
    if (got[i].descriptor) {
      RC_ASSERT(text_of(got[i].descriptor) == std::to_string(i));
      RC_ASSERT((::fcntl(got[i].descriptor.get(), F_GETFD) & FD_CLOEXEC) != 0);
    }
  }
  got.clear();
  RC_ASSERT(open_descriptors() == before);
}

TEST(Channel, AQueuedDescriptorOutlivesTheCallersCopy) {
  Pair pair;
  ASSERT_TRUE(pair.left->send(std::string(4'000'000, 'x')).ok());
  ASSERT_TRUE(pair.left->wants_write());
  {
    const UniqueFd file = file_with("still here");
    ASSERT_TRUE(pair.left->send("job", file.get()).ok());
  }
  std::vector<Channel::Frame> got;
  while (got.size() < 2) {
    ASSERT_TRUE(pair.left->flush().ok());
    ASSERT_TRUE(pair.right->receive(got).ok());
  }
  EXPECT_EQ(text_of(got[1].descriptor), "still here");
}

TEST(Channel, AHeldFrameGoesWithTheNextOne) {
  Pair pair;
  std::vector<Channel::Frame> got;
  ASSERT_TRUE(pair.left->hold("step").ok());
  ASSERT_TRUE(pair.right->receive(got).ok());
  EXPECT_TRUE(got.empty());
  ASSERT_TRUE(pair.left->send("run").ok());
  ASSERT_TRUE(pair.right->receive(got).ok());
  ASSERT_EQ(got.size(), 2U);
  EXPECT_EQ(got[0].text, "step");
  EXPECT_EQ(got[1].text, "run");
}

TEST(Channel, FramesSentBeforeDeathStillArrive) {
  Pair pair;
  ASSERT_TRUE(pair.left->send("last words").ok());
  pair.left.reset();
  std::vector<Channel::Frame> got;
  const auto open = pair.right->receive(got);
  ASSERT_TRUE(open.ok());
  EXPECT_FALSE(*open);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].text, "last words");
}

TEST(Channel, APeerThatDiedWithUnreadFramesIsClosedNotAnError) {
  Pair pair;
  ASSERT_TRUE(pair.right->send("never read").ok());
  ASSERT_TRUE(pair.left->send("said").ok());
  pair.left.reset();
  std::vector<Channel::Frame> got;
  const auto open = pair.right->receive(got);
  ASSERT_TRUE(open.ok());
  EXPECT_FALSE(*open);
  EXPECT_EQ(got.size(), 1u);
}

TEST(Channel, WritingToADeadPeerIsAnErrorNotASignal) {
  Pair pair;
  pair.right.reset();
  const auto sent = pair.left->send("hello");
  ASSERT_FALSE(sent.ok());
  EXPECT_EQ(sent.error().code, ErrorCode::unavailable);
}

TEST(Channel, HalfAFrameIsKeptUntilTheRestComes) {
  auto ends = channel_pair();
  ASSERT_TRUE(ends.ok());
  Channel right(std::move(ends->second));
  ASSERT_TRUE(write_all(ends->first.get(), std::string_view("\x05\0\0\0he", 6)).ok());
  EXPECT_TRUE(receive_all(right).empty());
  ASSERT_TRUE(write_all(ends->first.get(), "llo").ok());
  const auto got = receive_all(right);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].text, "hello");
}

TEST(Channel, AHugeLengthIsRefusedBeforeItIsRead) {
  auto ends = channel_pair();
  ASSERT_TRUE(ends.ok());
  Channel right(std::move(ends->second));
  ASSERT_TRUE(write_all(ends->first.get(), std::string_view("\x01\0\0\x04", 4)).ok());  // 64 MiB + 1
  std::vector<Channel::Frame> got;
  const auto open = right.receive(got);
  ASSERT_FALSE(open.ok());
  EXPECT_EQ(open.error().code, ErrorCode::corrupt);
}

TEST(Channel, SendingOver64MiBIsRefused) {
  Pair pair;
  const auto sent = pair.left->send(std::string((64UL << 20) + 1, 'x'));
  ASSERT_FALSE(sent.ok());
  EXPECT_EQ(sent.error().code, ErrorCode::refused);
  EXPECT_FALSE(pair.left->wants_write());
}

TEST(Channel, AnAnnouncedDescriptorThatIsMissingIsCorrupt) {
  auto ends = channel_pair();
  ASSERT_TRUE(ends.ok());
  Channel right(std::move(ends->second));
  ASSERT_TRUE(write_all(ends->first.get(), std::string_view("\x01\0\0\x80x", 5)).ok());
  std::vector<Channel::Frame> got;
  const auto open = right.receive(got);
  ASSERT_FALSE(open.ok());
  EXPECT_EQ(open.error().code, ErrorCode::corrupt);
}

RC_GTEST_PROP(Channel, HostileBytesNeverCrash, ()) {
  auto ends = channel_pair();
  RC_ASSERT(ends.ok());
  Channel right(std::move(ends->second));
  const auto bytes = *rc::gen::arbitrary<std::string>();
  RC_ASSERT(write_all(ends->first.get(), bytes).ok());
  std::vector<Channel::Frame> got;
  const auto open = right.receive(got);
  if (!open) RC_ASSERT(open.error().code == ErrorCode::corrupt);
  std::size_t received = 0;
  for (const auto& frame : got) received += 4 + frame.text.size();
  RC_ASSERT(received <= bytes.size());
}

class Folder : public ::testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/eider-socket-XXXXXX";
    ASSERT_NE(::mkdtemp(path), nullptr);
    folder_ = path;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
};

void expect_conversation(const std::string& path) {
  const auto listener = listen_at(path);
  ASSERT_TRUE(listener.ok()) << listener.error().message;
  auto client = connect_to(path);
  ASSERT_TRUE(client.ok()) << client.error().message;
  UniqueFd accepted(::accept4(listener->get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  ASSERT_TRUE(static_cast<bool>(accepted));
  Channel one(std::move(*client));
  Channel other(std::move(accepted));
  ASSERT_TRUE(one.send("hello").ok());
  const auto got = receive_all(other);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].text, "hello");
  for (const int fd : {listener->get(), one.fd(), other.fd()}) {
    EXPECT_NE(::fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
    EXPECT_NE(::fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
  }
}

TEST_F(Folder, ListenAndConnect) { expect_conversation(folder_ + "/1.sock"); }

TEST_F(Folder, ListenAndConnectUnderAPathLongerThanAnAddress) {
  const std::string deep = folder_ + "/" + std::string(120, 'd') + "/" + std::string(120, 'e');
  std::filesystem::create_directories(deep);
  const int before = open_descriptors();
  expect_conversation(deep + "/1.sock");
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(Folder, ASocketIsForItsUserOnly) {
  const auto listener = listen_at(folder_ + "/1.sock");
  ASSERT_TRUE(listener.ok());
  struct stat info {};
  ASSERT_EQ(::stat((folder_ + "/1.sock").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(Folder, NobodyListens) {
  const std::string path = folder_ + "/1.sock";
  EXPECT_EQ(connect_to(path).error().code, ErrorCode::not_found);
  { const auto listener = listen_at(path); }
  EXPECT_EQ(connect_to(path).error().code, ErrorCode::not_found);  // a stale socket file
  expect_conversation(path);                                       // is replaced
  const std::string far = folder_ + "/" + std::string(150, 'x') + "/1.sock";
  EXPECT_EQ(connect_to(far).error().code, ErrorCode::not_found);
}

TEST_F(Folder, ANameThatIsTooLongItself) {
  const auto listener = listen_at(folder_ + "/" + std::string(110, 'n'));
  ASSERT_FALSE(listener.ok());
  EXPECT_EQ(listener.error().code, ErrorCode::invalid);
}

}  // namespace
}  // namespace eider::wire
