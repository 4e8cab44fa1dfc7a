// SPDX-License-Identifier: Apache-2.0
// Lists the devices of this machine, and makes the backend for the device that the caller asked for.
#include <algorithm>

#include "fleet/fleet_impl.h"

namespace myriarm {

std::vector<Device> devices() {
  std::vector<Device> all{cpu_device()};
#if MYRIARM_CUDA
  std::vector<Device> cuda = cuda_devices();
  all.insert(all.end(), cuda.begin(), cuda.end());
#endif
  return all;
}

std::string cuda_unavailable_reason() {
#if MYRIARM_CUDA
  return cuda_problem();
#else
  return "this build has no CUDA backend (no CUDA toolkit was found when it was built)";
#endif
}

std::unique_ptr<Backend> make_backend(const Image& image, const FleetOptions& options, Device& chosen) {
  const std::string& id = options.device;
  if (id == "cpu") {  // without a look at other devices: starting a driver takes longer than all the rest
    chosen = cpu_device();
    return make_cpu_backend(image, options);
  }
  std::vector<Device> all = devices();
  if (id == "auto") {
    chosen = all.size() > 1 ? all[1] : all[0];
  } else if (id == "cuda" || id.starts_with("cuda:")) {
    std::string wanted = id == "cuda" ? "cuda:0" : id;
    auto found = std::find_if(all.begin(), all.end(), [&](const Device& device) { return device.id == wanted; });
    if (found == all.end()) {
      std::string reason = cuda_unavailable_reason();
      throw DeviceError(
          "device " + id + " is not there: " +
          (reason.empty() ? "this machine has " + std::to_string(all.size() - 1) + " CUDA device(s)" : reason) +
          "; use --device cpu or auto");
    }
    chosen = *found;
  } else {
    throw ArgumentError("device \"" + id + "\" is unknown; use auto, cpu, cuda or cuda:N");
  }
#if MYRIARM_CUDA
  if (chosen.id != "cpu") return make_cuda_backend(image, options, std::stoi(chosen.id.substr(5)));
#endif
  return make_cpu_backend(image, options);
}

}  // namespace myriarm
