// SPDX-License-Identifier: Apache-2.0
// What the benchmark programs share: repeated timing, the table, the JSON lines, and the record of machine, commit
// and command. An own harness rather than Google Benchmark: engines must take turns within one run, their rate is
// of an instruction count that only one of them knows, and the program must run where no library is installed.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "myriarm/fleet.h"

namespace myriarm::bench {

double now_seconds();

/// Seconds of the repetitions of one measurement.
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
  /// One row. instructions 0: a time without a rate. `more` is added to the JSON object.
  void add(const std::string& what, const std::string& device, uint64_t lanes, uint64_t instructions,
           const Times& times, nlohmann::json more = nlohmann::json::object());
  void note(const std::string& text);
  /// One object a line, appended to the file, or to stdout for "-". Nothing if the name is empty.
  void write(const std::string& file) const;

 private:
  std::string command_, commit_, title_;
  std::vector<nlohmann::json> rows_;
};

/// The processor as its maker calls it, and how many threads it runs.
std::string cpu_name();
/// Bytes of this process in memory.
uint64_t resident_bytes();
/// A file's bytes; throws ArgumentError.
std::vector<uint8_t> read_file(const std::string& path);

/// A bare program whose lanes are run again and again.
struct FleetRun {
  Program program;
  FleetOptions options;
  bool lane_in_x0 = false;  ///< x0 is the lane number at entry, else 0
  uint64_t limit = ~0ull;   ///< instructions a lane
  int repeats = 3;          ///< after one warm-up
};
struct FleetResult {
  Times times;
  uint64_t instructions = 0;  ///< of one run, all lanes
  double create_seconds = 0;
  uint64_t pool_bytes = 0;
  std::vector<uint64_t> x0;  ///< of every lane at the end
  std::vector<Stop> stops;
};
FleetResult run_fleet(const FleetRun& run);

/// A program of bench/guests that is run as a guest and compiled for this machine: name and function.
struct Guest {
  const char* name;
  uint64_t (*native)(uint32_t seed, int iterations);
};
inline constexpr size_t kGuests = 2;
extern const Guest guests[kGuests];  // mixed (integer), nbody (double precision)
/// Throws ArgumentError if there is none of this name.
const Guest& guest_named(const std::string& name);

/// Throws if a lane has not halted, or if one of some lanes has another result than the guest's function here.
void check_guest(const Guest& guest, const FleetResult& result, bool lane_in_x0, int iterations);
/// Throws if a guest compiled for this machine does not give the check values of bench/guests.
void check_native();

}  // namespace myriarm::bench
