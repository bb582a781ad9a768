// SPDX-License-Identifier: Apache-2.0
// Two streams of a simulated device: work is enqueued, an event orders one after the other, and the
// host waits only where it reads.
#include <cstdio>
#include <tessera/tessera.hpp>

using namespace tessera;

int main() {
  const Device device = Device::parse("sim:0");
  const Stream first(device), second(device);
  const i64 bytes = 1 << 20;
  const Storage memory = Storage::allocate(first, bytes);
  first.fill(memory.data(), 0x11, bytes / 2);
  const Event filled = first.record();
  second.wait(filled);  // the stream waits, the host does not
  second.fill(static_cast<char*>(memory.data()) + bytes / 2, 0x11, bytes / 2);
  memory.record_stream(second);  // second uses memory that belongs to first

  const Storage host = Storage::allocate(cpu, bytes);
  second.copy(host.data(), cpu, memory.data(), device, bytes);
  second.sync();  // here a failure of the work above would be thrown
  const auto* p = static_cast<const unsigned char*>(host.data());
  bool right = true;
  for (i64 i = 0; i < bytes; ++i) right = right && p[i] == 0x11;
  std::puts(right ? "all bytes arrived" : "some bytes are wrong");
  return right ? 0 : 1;
}
