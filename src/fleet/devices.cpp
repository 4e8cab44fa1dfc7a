// SPDX-License-Identifier: Apache-2.0
// Lists the devices of this machine, and makes the backend for the device that the caller asked for.
#include <algorithm>

#include "fleet/fleet_impl.h"

namespace myriarm {

namespace {

/// Every device. `why_no_cuda`: the reason, as part of a sentence, where there is no CUDA device.
std::vector<Device> all_devices(std::string& why_no_cuda) {
  std::vector<Device> all{cpu_device()};
#if MYRIARM_CUDA
  std::vector<Device> cuda = cuda_devices(why_no_cuda);
  all.insert(all.end(), cuda.begin(), cuda.end());
#else
  why_no_cuda = "this build has no CUDA backend, because " MYRIARM_WHY_NO_CUDA;
#endif
  return all;
}

/// The id of the CUDA device that "cuda" or "cuda:N" means; empty for other text.
std::string cuda_id(const std::string& device) {
  if (device == "cuda") return "cuda:0";
  return device.starts_with("cuda:") ? device : "";
}

}  // namespace

const char* name(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::cpu: return "cpu";
    case DeviceKind::cuda: return "cuda";
  }
  return "unknown";
}

std::vector<Device> devices() {
  std::string why_no_cuda;
  return all_devices(why_no_cuda);
}

Device find_device(const std::string& device) {
  if (device == "cpu")
    return cpu_device();  // without a look at other devices: starting a driver takes longer than all the rest
  const std::string wanted = cuda_id(device);
  if (wanted.empty() && device != "auto") {
    throw ArgumentError("device \"" + device + "\" is unknown; use auto, cpu, cuda or cuda:N");
  }
  std::string why_no_cuda;
  std::vector<Device> all = all_devices(why_no_cuda);
  if (device == "auto") return all.size() > 1 ? all[1] : all[0];
  auto found = std::find_if(all.begin(), all.end(), [&](const Device& each) { return each.id == wanted; });
  if (found != all.end()) return *found;
  const size_t count = all.size() - 1;
  throw DeviceError(
      "device " + device + " is not there: " +
      (count == 0 ? why_no_cuda : "this machine has " + std::to_string(count) + " CUDA device(s), numbered from 0") +
      "; use cpu or auto");
}

std::string why_unusable(const std::string& device) {
  try {
    (void)find_device(device);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

std::unique_ptr<Backend> make_backend(const Image& image, const FleetOptions& options, const Device& device) {
#if MYRIARM_CUDA
  if (device.kind == DeviceKind::cuda) return make_cuda_backend(image, options, static_cast<int>(device.ordinal));
#endif
  (void)device;
  return make_cpu_backend(image, options);
}

}  // namespace myriarm
