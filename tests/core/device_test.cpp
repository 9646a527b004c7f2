// The door of the streams: who hears of an op, when, and under which id.
#include "ringside/device.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ringside/error.h"
#include "ringside/kernels.h"

namespace ringside {
namespace {

class ScriptEvent : public Event {
 public:
  ScriptEvent(OpId op, const Stream* stream) : Event(op, stream) {}
  bool done() const override { return true; }
  void synchronize() override {}
};

/// Writes down what it is asked to do.
class ScriptStream : public Stream {
 public:
  ScriptStream(Device& device, std::vector<std::string>& script)
      : device_(device), script_(script) {}
  Device& device() override { return device_; }
  StreamKind kind() const override { return StreamKind::kCompute; }
  void enqueue(Launch&& /*launch*/) override { script_.emplace_back("enqueue"); }
  std::shared_ptr<Event> record() override {
    return std::make_shared<ScriptEvent>(last_op(), this);
  }
  void synchronize() override {}

 protected:
  void enqueue_wait(const std::shared_ptr<Event>& /*event*/) override {
    script_.emplace_back("enqueue wait");
  }

 private:
  Device& device_;
  std::vector<std::string>& script_;
};

class NoKernels : public Kernels {
 public:
  std::string_view name() const override { return "paper"; }
};

class ScriptDevice : public Device {
 public:
  int rank() const override { return 0; }
  std::string name() const override { return "script"; }
  bool executes() const override { return false; }
  Buffer allocate(std::size_t /*bytes*/, MemoryKind /*kind*/) override { return {}; }
  MemoryAccount memory() const override { return {}; }
  Stream& stream(StreamKind kind) override {
    return kind == StreamKind::kCompute ? compute_ : other_;
  }
  void synchronize() override {}
  Kernels& kernels() override { return kernels_; }

  std::vector<std::string> script;

 private:
  NoKernels kernels_;
  ScriptStream compute_{*this, script};
  ScriptStream other_{*this, script};
};

class ScriptListener : public OpListener {
 public:
  ScriptListener(std::vector<std::string>& script, OpId first) : script_(script), next_(first) {}
  OpId on_submit(Stream& /*stream*/, const OpInfo& info) override {
    script_.push_back("submit " + std::string(info.name));
    awaited = info.awaited;
    return next_ == kNoOp ? kNoOp : next_++;
  }
  void on_enqueued(Stream& /*stream*/, OpId id, const OpInfo& info) override {
    script_.push_back("enqueued " + std::string(info.name) + " " + std::to_string(id));
  }
  OpId on_host(Device& /*device*/, const OpInfo& /*info*/) override { return kNoOp; }

  OpId awaited = kNoOp;

 private:
  std::vector<std::string>& script_;
  OpId next_;
};

using Script = std::vector<std::string>;

OpInfo named(std::string_view name) {
  OpInfo info;
  info.name = name;
  return info;
}

TEST(StreamDoor, WithoutListenerOnlyEnqueues) {
  ScriptDevice device;
  EXPECT_EQ(device.compute().submit(named("relu"), {}), kNoOp);
  EXPECT_EQ(device.script, (Script{"enqueue"}));
  EXPECT_EQ(device.compute().last_op(), kNoOp);
}

TEST(StreamDoor, TellsTheListenerBeforeAndAfter) {
  ScriptDevice device;
  ScriptListener listener(device.script, 7);
  device.set_listener(&listener);
  EXPECT_EQ(device.compute().submit(named("relu"), {}), 7);
  EXPECT_EQ(device.script, (Script{"submit relu", "enqueue", "enqueued relu 7"}));
  EXPECT_EQ(device.compute().last_op(), 7);
}

TEST(StreamDoor, AnOpThatIsNotRecordedChangesNothing) {
  ScriptDevice device;
  ScriptListener listener(device.script, kNoOp);
  device.set_listener(&listener);
  EXPECT_EQ(device.compute().submit(named("relu"), {}), kNoOp);
  EXPECT_EQ(device.script, (Script{"submit relu", "enqueue"}));
  EXPECT_EQ(device.compute().last_op(), kNoOp);
}

TEST(StreamDoor, WaitingForAnotherStreamIsAnOpThatNamesTheAwaitedOne) {
  ScriptDevice device;
  ScriptListener listener(device.script, 3);
  device.set_listener(&listener);
  device.stream(StreamKind::kCopy).submit(named("copy"), {});
  const auto event = device.stream(StreamKind::kCopy).record();
  device.script.clear();
  device.compute().wait(event);
  EXPECT_EQ(device.script, (Script{"submit wait-event", "enqueue wait", "enqueued wait-event 4"}));
  EXPECT_EQ(listener.awaited, 3);
}

TEST(StreamDoor, WaitingForItsOwnEventIsNothing) {
  ScriptDevice device;
  ScriptListener listener(device.script, 0);
  device.set_listener(&listener);
  device.compute().wait(device.compute().record());
  EXPECT_EQ(device.script, Script{});
}

TEST(DeviceNames, PhasesRoundTrip) {
  for (int i = 0; i <= static_cast<int>(Phase::kEvaluate); ++i) {
    const auto phase = static_cast<Phase>(i);
    EXPECT_EQ(parse_phase(to_string(phase)), phase);
    EXPECT_NE(to_string(phase), "unknown");
  }
  EXPECT_THROW(parse_phase("forwards"), Error);
}

TEST(DeviceNames, EveryKindHasOne) {
  for (std::size_t i = 0; i < kMemoryKinds; ++i) {
    EXPECT_NE(to_string(static_cast<MemoryKind>(i)), "unknown");
  }
  for (int i = 0; i <= static_cast<int>(OpKind::kWait); ++i) {
    EXPECT_NE(to_string(static_cast<OpKind>(i)), "unknown");
  }
  for (int i = 0; i <= static_cast<int>(StreamKind::kCommunication); ++i) {
    EXPECT_NE(to_string(static_cast<StreamKind>(i)), "unknown");
  }
}

TEST(KernelsBase, AMissingKernelNamesItselfAndTheKernels) {
  NoKernels kernels;
  LaunchContext context{kernels};
  try {
    kernels.relu(context, {}, {});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUnavailable);
    EXPECT_STREQ(error.what(), "the paper kernels have no 'relu'");
  }
}

}  // namespace
}  // namespace ringside
