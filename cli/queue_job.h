// SPDX-License-Identifier: Apache-2.0
// What the results of a queue depend on: the program, what its processes are given, the options. It is kept in a small file
// beside the results, so that --resume can refuse to mix the results of two jobs.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

namespace myriarm::cli {

class QueueJob {
 public:
  /// Something that the results depend on. `name` is for messages: "program", "--seed". Its values are equal only if the
  /// results are, as far as they depend on it.
  void add(const std::string& name, const std::string& value);
  void add(const std::string& name, uint64_t value);
  /// Of bytes their number and their hash.
  void add(const std::string& name, std::span<const uint8_t> bytes);
  /// Of texts, in their order, as of bytes: they may hold secrets.
  void add(const std::string& name, std::span<const std::string> texts);
  /// Inputs, without reading all of them. Of a folder: names, sizes and times of its files. Of a file: its size, and the hash
  /// of its first MiB. Of what can be read only once, as a pipe, nothing is known, and nothing is added.
  void add_inputs(const std::string& name, const std::string& path);

  /// For --resume: throws ArgumentError if these results are of another job. Says on standard error if nothing is beside
  /// them that tells.
  void check(const std::string& results) const;
  /// Keeps this job beside the results, if they are in a regular file. Says on standard error if that is impossible. `goes_on`:
  /// check() was called for them, and what is known of them beyond this job stays.
  void keep(const std::string& results, bool goes_on) const;

 private:
  nlohmann::ordered_json values_ = nlohmann::ordered_json::object();
};

}  // namespace myriarm::cli
