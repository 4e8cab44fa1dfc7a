// SPDX-License-Identifier: Apache-2.0
// Finds and loads the module with LLVM in it. LLVM is larger than the rest of myriarm together, and programs that end
// soon never need it; so it is loaded when a program first becomes hot, and myriarm starts and links without it.
#include "translate/translator.h"

#include "translate/device_translator.h"

#if MYRIARM_WITH_TRANSLATOR
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <unistd.h>

#include "translate/llvm/module.h"
#endif

namespace myriarm::translate {

#if MYRIARM_WITH_TRANSLATOR
namespace {

/// The folder of the file that this code was loaded from; empty if it cannot be found.
std::string own_folder() {
  Dl_info info;
  link_map* map = nullptr;
  static const char here = 0;
  if (dladdr1(&here, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 || map == nullptr) return "";
  std::string path = map->l_name;
  if (path.empty()) {  // the main program
    char program[PATH_MAX];
    const ssize_t size = readlink("/proc/self/exe", program, sizeof program);
    if (size <= 0) return "";
    path.assign(program, static_cast<size_t>(size));
  }
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

/// The files that may be the module.
std::vector<std::string> module_files() {
  const std::string folder = own_folder();
  // For an executable in bin/, a library in lib/, the library of a Python package and the executable in its bin/; and where
  // it was installed.
  std::vector<std::string> files;
  for (const std::string& path :
       {folder + "/../lib/myriarm/" + kModuleName, folder + "/myriarm/" + kModuleName, folder + "/" + kModuleName,
        folder + "/../" + kModuleName, std::string(MYRIARM_MODULE_FOLDER "/") + kModuleName}) {
    if (access(path.c_str(), R_OK) == 0) files.push_back(path);
  }
  return files;
}

/// A function of the module. Null: `why` says why there is none.
void* load_from_module(const char* name, std::string& why) {
  std::string tried;
  for (const std::string& path : module_files()) {
    void* module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (module == nullptr) {
      const char* message = dlerror();
      tried = message != nullptr ? message : path;
      continue;
    }
    if (void* function = dlsym(module, name)) return function;
    tried = path + " is no translator of myriarm";
  }
  why = tried.empty() ? std::string("its module ") + kModuleName + " is not installed"
                      : "its module cannot be loaded: " + tried;
  return nullptr;
}

}  // namespace

std::unique_ptr<Translator> make_translator(const SlowPaths& slow, std::shared_ptr<RegionStore> store,
                                            std::string& why) {
  static std::string why_not;
  static auto* const make = reinterpret_cast<MakeTranslator*>(load_from_module(kMakeTranslatorName, why_not));
  if (make == nullptr) {
    why = why_not;
    return nullptr;
  }
  return std::unique_ptr<Translator>(make({MYRIARM_VERSION, sizeof(LaneState)}, slow, std::move(store), why));
}

std::unique_ptr<DeviceTranslator> make_device_translator(const DeviceTarget& target, std::shared_ptr<RegionStore> store,
                                                         std::string& why) {
  static std::string why_not;
  static auto* const make =
      reinterpret_cast<MakeDeviceTranslator*>(load_from_module(kMakeDeviceTranslatorName, why_not));
  if (make == nullptr) {
    why = why_not;
    return nullptr;
  }
  return std::unique_ptr<DeviceTranslator>(make({MYRIARM_VERSION, sizeof(LaneState)}, target, std::move(store), why));
}

bool translator_is_installed() { return !module_files().empty(); }

#else

std::unique_ptr<Translator> make_translator(const SlowPaths&, std::shared_ptr<RegionStore>, std::string& why) {
  why = "this build has no LLVM";
  return nullptr;
}

std::unique_ptr<DeviceTranslator> make_device_translator(const DeviceTarget&, std::shared_ptr<RegionStore>,
                                                         std::string& why) {
  why = "this build has no LLVM";
  return nullptr;
}

bool translator_is_installed() { return false; }

#endif

}  // namespace myriarm::translate
