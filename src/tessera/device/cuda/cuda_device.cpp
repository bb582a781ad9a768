// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/cuda/cuda_device.hpp"

#include <algorithm>

#include "tessera/base/config.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/trace.hpp"
#include "tessera/device/cuda/check.hpp"
#include "tessera/device/host_limits.hpp"
#include "tessera/device/readable_tail.hpp"
#include "tessera/device/stream_track.hpp"

namespace tessera {
namespace {

cudaStream_t stream_of(void* stream) { return static_cast<cudaStream_t>(stream); }

// Runs what enqueues. While a trace runs the host waits for it, so that the span is the time of the
// work itself; a capture only records and is left alone.
template <class Enqueue>
void traced(int index, void* stream, std::string_view label, i64 bytes, Enqueue&& enqueue) {
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  if (tracing()) check(cudaStreamIsCapturing(stream_of(stream), &capture), "asking for a capture");
  if (!tracing() || capture != cudaStreamCaptureStatusNone) return enqueue();
  const std::string track = stream_track({Kind::cuda, static_cast<std::int16_t>(index)}, stream);
  check(cudaStreamSynchronize(stream_of(stream)), "waiting for earlier work");
  const Span span(label, track, bytes);
  enqueue();
  check(cudaStreamSynchronize(stream_of(stream)), "waiting for traced work");
}

cudaEvent_t event_of(void* event) { return static_cast<cudaEvent_t>(event); }

int attribute(cudaDeviceAttr which, int index) {
  int v = 0;
  check(cudaDeviceGetAttribute(&v, which, gpu_of(index)), "reading an attribute of the device");
  return v;
}

}  // namespace

CudaDevice::CudaDevice() {
  int n = 0;
  const cudaError_t error = cudaGetDeviceCount(&n);
  if (error == cudaSuccess && n > 0) {
    count_ = std::max(n, static_cast<int>(config().cuda_devices));
    peers_enabled_.resize(static_cast<std::size_t>(count_) * static_cast<std::size_t>(count_));
    return;
  }
  cudaGetLastError();
  why_none_ = error == cudaSuccess ? std::string("the CUDA driver reports no device")
                                   : cat("no CUDA device can be used: ", cudaGetErrorName(error),
                                         " (", cudaGetErrorString(error), ")");
}

DeviceInfo CudaDevice::info(int index) const {
  const DeviceGuard guard(index);
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, gpu_of(index)),
        "reading the properties of the device");
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "reading the memory of the device");
  int driver = 0, runtime = 0;
  check(cudaDriverGetVersion(&driver), "reading the driver's version");
  check(cudaRuntimeGetVersion(&runtime), "reading the runtime's version");
  DeviceInfo i;
  i.name = properties.name;
  i.details =
      cat("compute capability ", properties.major, ".", properties.minor, ", ",
          properties.multiProcessorCount, " multiprocessors, ",
          attribute(cudaDevAttrL2CacheSize, index) >> 20, " MiB L2, CUDA runtime ", runtime / 1000,
          ".", runtime % 1000 / 10, ", driver for ", driver / 1000, ".", driver % 1000 / 10);
  i.memory_total = static_cast<i64>(total);
  i.memory_free = static_cast<i64>(free);
  return i;
}

void* CudaDevice::allocate(int index, i64 bytes) {
  const DeviceGuard guard(index);
  void* p = nullptr;
  const cudaError_t error = cudaMalloc(&p, static_cast<std::size_t>(bytes));
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    std::size_t free = 0, total = 0;
    cudaMemGetInfo(&free, &total);
    throw OutOfMemory(cat("cuda:", index, ": ", bytes_text(bytes), " asked, ",
                          bytes_text(static_cast<i64>(free)), " of ",
                          bytes_text(static_cast<i64>(total)), " free on the device"));
  }
  check(error, "allocating device memory");
  return p;
}

void CudaDevice::release(int index, void* p, i64) noexcept {
  if (!p) return;
  int before = 0;
  const int gpu = gpu_of(index);
  cudaGetDevice(&before);
  if (before != gpu) cudaSetDevice(gpu);
  if (cudaFree(p) != cudaSuccess) cudaGetLastError();
  if (before != gpu) cudaSetDevice(before);
}

void* CudaDevice::allocate_pinned(i64 bytes) {
  require<NotAvailable>(count_ > 0, "cuda: ", why_none_);
  claim_host_memory("cuda", bytes);
  void* p = nullptr;
  const i64 room = bytes + readable_tail(bytes);  // see Note [reading beyond the end]
  const cudaError_t error =
      cudaHostAlloc(&p, static_cast<std::size_t>(room), cudaHostAllocPortable);
  if (error != cudaSuccess) unclaim_host_memory(bytes);
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw OutOfMemory(cat("cuda: the host refused to lock ", bytes_text(bytes), " of memory"));
  }
  check(error, "allocating pinned host memory");
  return p;
}

void CudaDevice::release_pinned(void* p, i64 bytes) noexcept {
  if (p && cudaFreeHost(p) != cudaSuccess) cudaGetLastError();
  unclaim_host_memory(bytes);
}

void* CudaDevice::make_stream(int index) {
  const DeviceGuard guard(index);
  cudaStream_t s = nullptr;
  check(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), "making a stream");
  return s;
}

void CudaDevice::drop_stream(int, void* stream) noexcept {
  if (cudaStreamDestroy(stream_of(stream)) != cudaSuccess) cudaGetLastError();
}

void* CudaDevice::make_event(int index) {
  const DeviceGuard guard(index);
  cudaEvent_t e = nullptr;
  check(cudaEventCreateWithFlags(&e, cudaEventDisableTiming), "making an event");
  return e;
}

void CudaDevice::drop_event(int, void* event) noexcept {
  if (cudaEventDestroy(event_of(event)) != cudaSuccess) cudaGetLastError();
}

void CudaDevice::record(int index, void* stream, void* event) {
  const DeviceGuard guard(index);
  check(cudaEventRecord(event_of(event), stream_of(stream)), "recording an event");
}

void CudaDevice::wait(int index, void* stream, void* event) {
  const DeviceGuard guard(index);
  check(cudaStreamWaitEvent(stream_of(stream), event_of(event), 0),
        "making a stream wait for an event");
}

bool CudaDevice::done(int, void* event) {
  const cudaError_t error = cudaEventQuery(event_of(event));
  if (error == cudaErrorNotReady) {
    cudaGetLastError();  // "not ready" is an answer; left behind it would look like a failed launch
    return false;
  }
  check(error, "asking whether an event is done");
  return true;
}

void CudaDevice::sync_event(int, void* event) {
  check(cudaEventSynchronize(event_of(event)),
        "waiting for an event (the failure may be of earlier work)");
}

void CudaDevice::sync_stream(int, void* stream) {
  check(cudaStreamSynchronize(stream_of(stream)),
        "waiting for a stream (the failure may be of earlier work)");
}

void CudaDevice::launch(int index, void* stream, const Task& task, const Launch& launch) {
  const DeviceGuard guard(index);
  Launch here = launch;
  here.stream = stream;
  here.device_index = index;
  traced(index, stream, launch.label ? launch.label : "kernel", -1,
         [&] { task.run(task.state.get(), here); });
}

void CudaDevice::copy(int index, void* stream, const Copy& c) {
  if (c.bytes() == 0) return;
  const DeviceGuard guard(index);
  const auto width = static_cast<std::size_t>(c.row_bytes);
  const bool up = c.from_device.kind != Kind::cuda, down = c.to_device.kind != Kind::cuda;
  const int to = gpu_of(c.to_device.index), from = gpu_of(c.from_device.index);
  const bool peers = !up && !down && to != from;
  const char* const what = up      ? "copying from the host to the device"
                           : down  ? "copying from the device to the host"
                           : peers ? "copying between two devices"
                                   : "copying on the device";
  if (peers) enable_peers(to, from);
  const cudaMemcpyKind how = up && down ? cudaMemcpyHostToHost
                             : up       ? cudaMemcpyHostToDevice
                             : down     ? cudaMemcpyDeviceToHost
                             : peers    ? cudaMemcpyDefault
                                        : cudaMemcpyDeviceToDevice;
  const std::string ends = tracing() ? cat("copy ", c.from_device, " -> ", c.to_device) : "";
  traced(index, stream, c.label ? std::string_view(c.label) : ends, c.bytes(), [&] {
    if (c.rows > 1)
      check(cudaMemcpy2DAsync(c.to, static_cast<std::size_t>(c.to_pitch), c.from,
                              static_cast<std::size_t>(c.from_pitch), width,
                              static_cast<std::size_t>(c.rows), how, stream_of(stream)),
            what);
    else if (peers)
      check(cudaMemcpyPeerAsync(c.to, to, c.from, from, width, stream_of(stream)), what);
    else
      check(cudaMemcpyAsync(c.to, c.from, width, how, stream_of(stream)), what);
  });
}

void CudaDevice::fill(int index, void* stream, void* p, int byte, i64 bytes) {
  if (bytes == 0) return;
  const DeviceGuard guard(index);
  check(cudaMemsetAsync(p, byte, static_cast<std::size_t>(bytes), stream_of(stream)),
        "filling memory");
}

bool CudaDevice::peer_access(int from, int to) const {
  if (gpu_of(from) == gpu_of(to)) return true;
  int can = 0;
  check(cudaDeviceCanAccessPeer(&can, gpu_of(from), gpu_of(to)), "asking for peer access");
  return can != 0;
}

void CudaDevice::enable_peers(int a, int b) {
  const std::lock_guard lock(peers_mutex_);
  for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
    char& enabled = peers_enabled_[static_cast<std::size_t>(from * count_ + to)];
    if (enabled) continue;
    enabled = 1;  // asked once, whatever the answer: without it CUDA stages through the host
    if (!peer_access(from, to)) continue;
    const DeviceGuard guard(from);
    const cudaError_t error = cudaDeviceEnablePeerAccess(to, 0);
    if (error == cudaErrorPeerAccessAlreadyEnabled)
      cudaGetLastError();
    else
      check(error, "enabling peer access");
  }
}

void CudaDevice::begin_capture(int index, void* stream) {
  const DeviceGuard guard(index);
  check(cudaStreamBeginCapture(stream_of(stream), cudaStreamCaptureModeThreadLocal),
        "beginning a capture");
}

void* CudaDevice::end_capture(int index, void* stream) {
  const DeviceGuard guard(index);
  cudaGraph_t graph = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(stream_of(stream), &graph);
  if (ended != cudaSuccess) {
    if (graph) cudaGraphDestroy(graph);
    throw_cuda(ended, "ending a capture");
  }
  cudaGraphExec_t exec = nullptr;
  const cudaError_t made = cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphDestroy(graph);
  check(made, "making a graph of a capture");
  return exec;
}

void CudaDevice::launch_graph(int index, void* stream, void* graph) {
  const DeviceGuard guard(index);
  traced(index, stream, "graph", -1, [&] {
    check(cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph), stream_of(stream)),
          "launching a graph");
  });
}

void CudaDevice::drop_graph(int, void* graph) noexcept {
  if (graph && cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph)) != cudaSuccess)
    cudaGetLastError();
}

}  // namespace tessera
