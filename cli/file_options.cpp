// SPDX-License-Identifier: Apache-2.0
#include "file_options.h"

#include <utility>

#include "collected.h"
#include "myriarm/error.h"
#include "output.h"
#include "queue_job.h"
#include "text.h"

namespace myriarm::cli {

void FileOptions::add_to(CLI::App& run, LinuxOptions& process) {
  run.add_option(
         "--root", root,
         "The folder that is / of every lane, as tools/debian-root makes it; PROGRAM is then a path there, or of this\n"
         "machine if there is none. What a lane writes is kept in its memory: the folder does not change")
      ->type_name("DIR");
  run.add_option_function<std::string>(
         "--bind", [this](const std::string& text) { binds.push_back(text); },
         "A further folder in the root, with files that the program can change in its lane if :rw follows")
      ->type_name("HOST:GUEST")
      ->trigger_on_parse();
  run.add_option("--cwd", process.working_folder, "The folder of the root in which the program begins (/)")
      ->type_name("GUEST");
  run.add_option("--file-bytes", file_bytes,
                 "The most that the files a lane has written may take (64M); 0: the root is read-only")
      ->type_name("SIZE");
  run.add_option_function<std::string>(
         "--collect", [&process](const std::string& path) { process.collect.push_back(path); },
         "Takes this file or folder out of each lane at its end, into --output-dir; may be repeated")
      ->type_name("GUEST")
      ->trigger_on_parse();
}

void FileOptions::check(LinuxOptions& process, const std::string& output_dir) const {
  for (const auto& [given, option] :
       {std::pair(!binds.empty(), "--bind"), std::pair(!file_bytes.empty(), "--file-bytes"),
        std::pair(!process.working_folder.empty(), "--cwd"), std::pair(!process.collect.empty(), "--collect")}) {
    if (!given || !root.empty()) continue;
    throw ArgumentError(fmt::format("{}: the program has no files; give it a root with --root", option));
  }
  if (!file_bytes.empty()) process.file_bytes = parse_size(file_bytes, "--file-bytes");
  if (!process.collect.empty() && output_dir.empty()) {
    throw ArgumentError("--collect: the files need a place; give a folder with --output-dir");
  }
}

std::shared_ptr<const FileTree> FileOptions::read() const {
  std::vector<BoundFolder> bound;
  bound.reserve(binds.size());
  for (const std::string& bind : binds) bound.push_back(parse_bind(bind));
  return read_root(root, bound);
}

void FileOptions::add_to(QueueJob& job, const LinuxOptions& process) const {
  job.add("--root", root.empty() ? "none" : root);
  if (!binds.empty()) job.add("--bind", binds);
  if (!file_bytes.empty()) job.add("--file-bytes", process.file_bytes);
  if (!process.working_folder.empty()) job.add("--cwd", process.working_folder);
  if (!process.collect.empty()) job.add("--collect", process.collect);
}

}  // namespace myriarm::cli
