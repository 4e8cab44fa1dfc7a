// SPDX-License-Identifier: Apache-2.0
// The options of `myriarm run` on files: the root, what is bound into it, and what is taken out.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "myriarm/linux.h"

namespace myriarm::cli {

class QueueJob;

struct FileOptions {
  std::string root, file_bytes;
  std::vector<std::string> binds;

  /// Adds them to the command, which must live as long as this object and `process`.
  void add_to(CLI::App& run, LinuxOptions& process);
  /// Refuses options that need others, and puts those of the process there.
  void check(LinuxOptions& process, const std::string& output_dir) const;
  /// The root with the folders bound into it.
  std::shared_ptr<const FileTree> read() const;
  /// Adds what results depend on.
  void add_to(QueueJob& job, const LinuxOptions& process) const;
};

}  // namespace myriarm::cli
