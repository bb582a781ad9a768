// SPDX-License-Identifier: Apache-2.0
#pragma once
// The C structures of DLPack 1.x, by which array libraries hand memory to each other, as the public
// specification lays them out. Layout only: no functions, no ownership. Names follow the
// specification.
//   DLManagedTensorVersioned* m = to_dlpack(x);   m->deleter(m);

#include <cstdint>

extern "C" {

struct DLPackVersion {
  std::uint32_t major;
  std::uint32_t minor;
};

using DLDeviceType = std::int32_t;
using DLDataTypeCode = std::uint8_t;

struct DLDevice {
  DLDeviceType device_type;
  std::int32_t device_id;
};

struct DLDataType {
  DLDataTypeCode code;
  std::uint8_t bits;    // of one element; 16 for float16, 64 for complex64
  std::uint16_t lanes;  // 1 unless elements are short vectors
};

struct DLTensor {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null: row-major without gaps
  std::uint64_t byte_offset;
};

struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor* self);
};

struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned* self);
  std::uint64_t flags;
  DLTensor dl_tensor;
};

}  // extern "C"

namespace tessera::dlpack {

inline constexpr DLPackVersion version{1, 0};
inline constexpr std::uint64_t flag_read_only = 1, flag_copied = 2;
inline constexpr DLDeviceType on_cpu = 1, on_cuda = 2, on_cuda_host = 3, on_cuda_managed = 13;
inline constexpr DLDataTypeCode code_int = 0, code_uint = 1, code_float = 2, code_bfloat = 4,
                                code_complex = 5, code_bool = 6;

}  // namespace tessera::dlpack
