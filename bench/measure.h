// SPDX-License-Identifier: Apache-2.0
// Shared by the benchmark programs: repeated timing, the table, the JSON lines, and the record of machine, commit and
// command. This is not Google Benchmark, because engines must take turns within one run, their rates use an instruction
// count that only one of them knows, and the program must run where no library is installed.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "myriarm/fleet.h"

namespace myriarm::bench {

double now_seconds();

/// The seconds of each repetition of a measurement.
struct Times {
  std::vector<double> seconds;
  double min() const;
  double median() const;
  double max() const;
};

/// Rows of a measurement, printed as an aligned table and kept as JSON objects.
class Report {
 public:
  /// `arguments` is the command line; it and `commit` are in every row.
  Report(int argc, char** argv, std::string commit);
  /// Prints a heading and the column names.
  void begin(const std::string& title);
  /// Adds a row. With 0 instructions it has no rate. `more` is added to the JSON object.
  void add(const std::string& what, const std::string& device, uint64_t lanes, uint64_t instructions,
           const Times& times, nlohmann::json more = nlohmann::json::object());
  void note(const std::string& text);
  /// Appends the rows to the file, or to stdout for "-", one JSON object on each line. Does nothing if the name is
  /// empty.
  void write(const std::string& file) const;

 private:
  std::string command_, commit_, title_;
  std::vector<nlohmann::json> rows_;
};

/// What main() of a benchmark returns: what `run` does, or 2 after an exception, whose message it prints after `name`.
int main_of(const char* name, int (*run)(int argc, char** argv), int argc, char** argv);

/// The name of the processor, and its number of threads.
std::string cpu_name();
/// The resident memory of this process in bytes.
uint64_t resident_bytes();
/// The bytes of a file. Throws ArgumentError.
std::vector<uint8_t> read_file(const std::string& path);

/// Repeated runs of a bare program.
struct FleetRun {
  Program program;
  FleetOptions options;
  bool lane_in_x0 = false;  ///< x0 is the lane number at the start, else 0
  uint64_t limit = ~0ull;   ///< instructions of each lane
  int repeats = 3;          ///< after one warm-up
};
struct FleetResult {
  Times times;
  uint64_t instructions = 0;  ///< of one run, over all lanes
  double create_seconds = 0;
  uint64_t pool_bytes = 0;
  std::vector<uint64_t> x0;  ///< of each lane, at the end
  std::vector<Stop> stops;
};
FleetResult run_fleet(const FleetRun& run);

/// A program of bench/guests, which runs as a guest and is also compiled for this machine: name and function.
struct Guest {
  const char* name;
  uint64_t (*native)(uint32_t seed, int iterations);
};
inline constexpr size_t kGuests = 2;
extern const Guest guests[kGuests];  // mixed (integer), nbody (double precision)
/// The guest with this name. Throws ArgumentError if there is none.
const Guest& guest_named(const std::string& name);

/// Throws if a lane has not halted, or if the result of a sampled lane differs from that of the guest's native
/// function.
void check_guest(const Guest& guest, const FleetResult& result, bool lane_in_x0, int iterations);
/// Throws if a guest compiled for this machine does not return the check values.
void check_native();

}  // namespace myriarm::bench
