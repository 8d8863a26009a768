#include "base/reactor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <thread>

#include "base/fd.h"

namespace eider {
namespace {

struct Pair {
  Pair() {
    int fds[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    near = UniqueFd(fds[0]);
    far = UniqueFd(fds[1]);
  }
  void say(std::string_view text) const { ASSERT_TRUE(write_all(far.get(), text).ok()); }
  std::string hear() const {
    char buffer[64];
    const ssize_t n = ::read(near.get(), buffer, sizeof buffer);
    return n > 0 ? std::string(buffer, static_cast<std::size_t>(n)) : "";
  }
  UniqueFd near, far;
};

TEST(Reactor, CallsTheWatchOfWhatIsReadable) {
  Reactor reactor;
  Pair a, b;
  std::string heard;
  reactor.watch(a.near.get(), [&] { heard += a.hear(); });
  reactor.watch(b.near.get(), [&] { heard += "b:" + b.hear(); });
  EXPECT_FALSE(reactor.poll());
  a.say("one");
  reactor.run_once();
  EXPECT_EQ(heard, "one");
  b.say("two");
  EXPECT_TRUE(reactor.poll());
  EXPECT_EQ(heard, "oneb:two");
}

TEST(Reactor, CallsAgainForWhatIsLeftUnread) {
  Reactor reactor;
  Pair pair;
  int calls = 0;
  reactor.watch(pair.near.get(), [&] { ++calls; });
  pair.say("x");
  reactor.run_once();
  reactor.run_once();
  EXPECT_TRUE(reactor.poll());
  EXPECT_EQ(calls, 3);
  pair.hear();
  EXPECT_FALSE(reactor.poll());
}

TEST(Reactor, CallsAtTheEndOfAStream) {
  Reactor reactor;
  Pair pair;
  int calls = 0;
  reactor.watch(pair.near.get(), [&] { ++calls; });
  pair.far.reset();
  reactor.run_once();
  EXPECT_EQ(calls, 1);
}

TEST(Reactor, AHandlerMayEndItsOwnWatch) {
  Reactor reactor;
  Pair pair;
  std::string seen;
  const std::string captured(100, 'c');  // lives in the handler: it must outlive the call
  reactor.watch(pair.near.get(), [&, captured] {
    reactor.unwatch(pair.near.get());
    seen += captured;
  });
  pair.say("x");
  reactor.run_once();
  EXPECT_EQ(seen, captured);
  EXPECT_FALSE(reactor.poll());
}

TEST(Reactor, AHandlerMayReplaceItself) {
  Reactor reactor;
  Pair pair;
  std::string seen;
  reactor.watch(pair.near.get(), [&] {
    seen += "1";
    reactor.watch(pair.near.get(), [&] { seen += "2"; });
    seen += "1";
  });
  pair.say("x");
  reactor.run_once();
  reactor.run_once();
  EXPECT_EQ(seen, "112");
}

TEST(Reactor, AHandlerMayEndItsWatchCloseAndWatchTheNumberAnew) {
  Reactor reactor;
  Pair old;
  const int number = old.near.get();
  UniqueFd event;
  std::string seen;
  reactor.watch(number, [&] {
    seen += "old ";
    reactor.unwatch(number);
    old.near.reset();
    event = UniqueFd(::eventfd(1, EFD_CLOEXEC));
    ASSERT_EQ(event.get(), number) << "the test needs the kernel to give the lowest free number";
    reactor.watch(number, [&] { seen += "new "; });
  });
  old.say("x");
  reactor.run_once();
  reactor.run_once();
  EXPECT_EQ(seen, "old new ");
}

TEST(Reactor, AHandlerMayEndAnothersWatchThatIsReadyToo) {
  Reactor reactor;
  Pair a, b;
  int calls = 0;
  reactor.watch(a.near.get(), [&] { ++calls, reactor.unwatch(b.near.get()); });
  reactor.watch(b.near.get(), [&] { ++calls, reactor.unwatch(a.near.get()); });
  a.say("x");
  b.say("x");
  reactor.run_once();
  reactor.poll();
  // Whichever came first ended the other.
  EXPECT_TRUE(calls >= 1);
  const int before = calls;
  EXPECT_TRUE(reactor.poll());
  EXPECT_EQ(calls, before + 1);
}

TEST(Reactor, WatchesBothDirectionsOfOneDescriptor) {
  Reactor reactor;
  Pair pair;
  int readable = 0, writable = 0;
  reactor.watch(pair.near.get(), [&] { ++readable, pair.hear(); });
  reactor.watch_writable(pair.near.get(), [&] { ++writable; });
  reactor.run_once();
  EXPECT_EQ(readable, 0);
  EXPECT_EQ(writable, 1);
  pair.say("x");
  reactor.run_once();
  EXPECT_EQ(readable, 1);
  EXPECT_EQ(writable, 2);
  reactor.unwatch(pair.near.get());
  EXPECT_FALSE(reactor.poll());
}

TEST(Reactor, TellsWhenAFullSocketHasRoomAgain) {
  Reactor reactor;
  Pair pair;
  ASSERT_EQ(::fcntl(pair.near.get(), F_SETFL, O_NONBLOCK), 0);
  const std::string block(65536, 'x');
  while (::write(pair.near.get(), block.data(), block.size()) > 0) continue;
  int calls = 0;
  reactor.watch_writable(pair.near.get(), [&] { ++calls; });
  EXPECT_FALSE(reactor.poll());
  ASSERT_EQ(::fcntl(pair.far.get(), F_SETFL, O_NONBLOCK), 0);
  std::string sink(65536, ' ');
  while (::read(pair.far.get(), sink.data(), sink.size()) > 0) continue;
  reactor.run_once();
  EXPECT_EQ(calls, 1);
}

TEST(Reactor, LeavesTheModeAndTheDescriptorToTheirOwner) {
  Pair pair;
  const int flags = ::fcntl(pair.near.get(), F_GETFL);
  UniqueFd twin(::fcntl(pair.near.get(), F_DUPFD_CLOEXEC, 0));
  {
    Reactor reactor;
    int calls = 0;
    reactor.watch(pair.near.get(), [&] { ++calls; });
    reactor.watch(twin.get(), [&] { ++calls; });  // two numbers, one open file: both are called
    pair.say("x");
    reactor.run_once();
    reactor.poll();
    EXPECT_EQ(calls, 4);
    EXPECT_EQ(::fcntl(pair.near.get(), F_GETFL), flags);
  }
  EXPECT_EQ(pair.hear(), "x");
  EXPECT_EQ(::fcntl(pair.near.get(), F_GETFL), flags);
}

TEST(Reactor, TimersFireOnceInOrderAndCanBeCancelled) {
  Reactor reactor;
  std::string fired;
  reactor.call_after(std::chrono::milliseconds(2), [&] { fired += "b"; });
  reactor.call_after(Micros(-5), [&] { fired += "a"; });
  const Reactor::TimerId never = reactor.call_after(Micros(0), [&] { fired += "x"; });
  reactor.call_after(Micros::max(), [&] { fired += "y"; });
  reactor.cancel_timer(never);
  while (fired.size() < 2) reactor.run_once();
  EXPECT_EQ(fired, "ab");
  EXPECT_FALSE(reactor.poll());
  reactor.cancel_timer(never);  // long gone: nothing happens
}

TEST(Reactor, ADueTimerCanStillBeCancelled) {
  Reactor reactor;
  int fired = 0;
  Reactor::TimerId ids[2];
  ids[0] = reactor.call_after(Micros(0), [&] { ++fired, reactor.cancel_timer(ids[1]); });
  ids[1] = reactor.call_after(Micros(0), [&] { ++fired, reactor.cancel_timer(ids[0]); });
  reactor.run_once();
  while (reactor.poll()) continue;
  EXPECT_EQ(fired, 1);
}

TEST(Reactor, ATimerThatRestartsItselfDoesNotHoldTheCall) {
  Reactor reactor;
  int fired = 0;
  Reactor::Handler again = [&] {
    ++fired;
    reactor.call_after(Micros(0), again);
  };
  reactor.call_after(Micros(0), again);
  for (int i = 0; i < 10; ++i) reactor.run_once();
  EXPECT_EQ(fired, 10);
}

TEST(Reactor, ReturnsAtAWakeFromBeforeOrFromAnotherThread) {
  Reactor reactor;
  reactor.wake();
  reactor.wake();
  reactor.run_once();
  EXPECT_FALSE(reactor.poll());
  std::thread other([&] { reactor.wake(); });
  reactor.run_once();
  other.join();
}

TEST(ReactorDeathTest, RefusesWhatCannotBeWatched) {
  UniqueFd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  EXPECT_DEATH(
      {
        Reactor reactor;
        reactor.watch(file.get(), [] {});
        reactor.run_once();
      },
      "can't be watched");
  EXPECT_DEATH(Reactor().watch(-1, [] {}), "must be open");
}

}  // namespace
}  // namespace eider
