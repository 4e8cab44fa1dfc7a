// SPDX-License-Identifier: Apache-2.0
// The host's processor as a device. Its name and number of threads are read once: reading them takes longer than
// starting a fleet of one lane.
#include <unistd.h>

#include <fstream>

#include "backends/backend.h"
#include "backends/cpu/translated/quick_translator.h"
#include "backends/cpu/worker_pool.h"
#include "translate/translator.h"

namespace myriarm {
namespace {

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "CPU";
}

}  // namespace

Device cpu_device() {
  static const std::string name = cpu_name();
  const u64 page = static_cast<u64>(sysconf(_SC_PAGESIZE));
  return {"cpu", name, static_cast<u64>(sysconf(_SC_AVPHYS_PAGES)) * page, cpu::host_threads(), DeviceKind::cpu, 0, 1};
}

bool cpu_has_translation() { return cpu::QuickTranslator::is_available() || translate::translator_is_installed(); }

}  // namespace myriarm
