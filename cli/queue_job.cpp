// SPDX-License-Identifier: Apache-2.0
#include "queue_job.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <vector>

#include "file.h"
#include "lane_inputs.h"
#include "myriarm/error.h"
#include "myriarm/inputs.h"
#include "output.h"

namespace myriarm::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr size_t kHashedBytes = size_t{1} << 20;  // of a file of inputs

std::span<const uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::string hash_text(uint64_t hash) { return fmt::format("hash {:016x}", hash); }

std::string folder_text(const std::string& option, const std::string& path) {
  std::vector<std::string> files;
  for (const std::string& name : files_of_folder(option.c_str(), path)) {
    struct stat facts = {};
    if (::stat((fs::path(path) / name).c_str(), &facts) != 0) continue;
    files.push_back(fmt::format("{}/{}/{}.{:09}\n", name, facts.st_size, facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec));
  }
  std::sort(files.begin(), files.end());
  uint64_t hash = kNoOutputHash;
  for (const std::string& file : files) hash = output_hash(bytes_of(file), hash);
  return fmt::format("a folder of {} files, {} of names, sizes and times", files.size(), hash_text(hash));
}

/// Of a regular file, from which nothing is taken; empty for others.
std::string file_text(int descriptor) {
  struct stat facts = {};
  if (::fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode)) return "";
  std::vector<uint8_t> bytes(kHashedBytes);
  size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t n = ::pread(descriptor, bytes.data() + have, bytes.size() - have, static_cast<off_t>(have));
    if (n <= 0) break;
    have += static_cast<size_t>(n);
  }
  return fmt::format("a file of {} bytes, {} of the first MiB", facts.st_size,
                     hash_text(output_hash(std::span(bytes).first(have))));
}

/// The file that is kept beside these results; empty if they are not in a regular file.
std::string path_beside(const std::string& results) {
  std::error_code error;
  const fs::path file = fs::canonical(results, error);
  return error || !fs::is_regular_file(file, error) ? "" : file.string() + ".job";
}

}  // namespace

void QueueJob::add(const std::string& name, const std::string& value) {
  // As a file has it, if it is not UTF-8.
  values_[name] = ordered_json::parse(ordered_json(value).dump(-1, ' ', false, ordered_json::error_handler_t::replace));
}
void QueueJob::add(const std::string& name, uint64_t value) { add(name, std::to_string(value)); }

void QueueJob::add(const std::string& name, std::span<const uint8_t> bytes) {
  add(name, fmt::format("{} bytes, {}", bytes.size(), hash_text(output_hash(bytes))));
}

void QueueJob::add(const std::string& name, std::span<const std::string> texts) {
  uint64_t hash = kNoOutputHash;
  for (const std::string& text : texts) hash = output_hash(bytes_of({text.c_str(), text.size() + 1}), hash);
  add(name, fmt::format("{}, {}", texts.size(), hash_text(hash)));
}

void QueueJob::add_inputs(const std::string& name, const std::string& path) {
  std::error_code error;
  if (path != "-" && fs::is_directory(path, error)) return add(name, folder_text(name, path));
  // A pipe must not be opened, for whoever writes to it would notice.
  if (path != "-" && !fs::is_regular_file(path, error)) return;
  const int descriptor = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const std::string text = file_text(descriptor);
  if (descriptor > STDERR_FILENO) ::close(descriptor);
  if (!text.empty()) add(name, text);
}

void QueueJob::check(const std::string& results) const {
  const std::string path = path_beside(results);
  std::ifstream file(path, std::ios::binary);
  if (path.empty() || !file) {
    print_error(
        "myriarm: --resume: there is no {}.job that says which job these results are of, so it is not checked\n",
        results);
    return;
  }
  const ordered_json kept = ordered_json::parse(file, nullptr, false);
  if (!kept.is_object()) {
    throw ArgumentError(
        fmt::format("--resume: {} does not say which job the results are of; remove it if they are of this one", path));
  }
  std::string others;
  for (const auto& [name, value] : values_.items()) {
    const auto found = kept.find(name);
    if (found == kept.end() || *found == value) continue;
    const std::string was = found->is_string() ? found->get<std::string>() : "unknown";
    others +=
        fmt::format("{}another {} ({}, and now {})", others.empty() ? "" : ", ", name, was, value.get<std::string>());
  }
  if (others.empty()) return;
  throw ArgumentError(fmt::format(
      "--resume: the results in {} are of {}; give the same, or begin anew without --resume", results, others));
}

void QueueJob::keep(const std::string& results, bool goes_on) const {
  const std::string path = path_beside(results);
  if (path.empty()) return;
  ordered_json all = ordered_json::object();
  std::ifstream earlier(path, std::ios::binary);
  if (goes_on && earlier) all = ordered_json::parse(earlier, nullptr, false);
  all.update(values_);
  // At no moment is there half of it.
  const std::string unfinished = path + ".new";
  const std::string text = all.dump(2) + "\n";
  File file(unfinished);
  const bool written =
      file && ::write(file.descriptor(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (written && file.close() && std::rename(unfinished.c_str(), path.c_str()) == 0) return;
  print_error("myriarm: {} cannot be written, so --resume will not check that the job is the same\n", path);
}

}  // namespace myriarm::cli
