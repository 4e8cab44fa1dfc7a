// SPDX-License-Identifier: Apache-2.0
// What lanes have of their own: arguments, environment, standard input, and an input file, whose calls are compared
// with those of the host's Linux on a file with the same bytes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <set>

#include "linux/process_layout.h"
#include "linux_caller.h"

namespace myriarm {
namespace {

using namespace linux_process;
using namespace test;

constexpr uint64_t kHere = static_cast<uint64_t>(AT_FDCWD);
constexpr uint64_t kPath = kData, kBuffer = kData + 0x1000;

ByteStrings strings_of(const std::vector<std::string>& texts) {
  ByteStrings strings;
  for (const std::string& text : texts) strings.add(bytes_of(text));
  return strings;
}

std::string random_text(std::mt19937_64& random, size_t size) {
  std::string text(size, 0);
  for (char& byte : text) byte = static_cast<char>(random());
  return text;
}

uint32_t permissions_at(Fleet& fleet, uint32_t lane, uint64_t address) {
  uint8_t page = 0;
  fleet.permissions({&lane, 1}, address, kPageBytes, {&page, 1});
  return page;
}

/// The message of the ArgumentError that a fleet of two lanes throws for these options.
std::string refusal(const LinuxOptions& options) {
  try {
    LinuxFleet machine(image_of({kSvc}), fleet_of(2), options);
  } catch (const ArgumentError& error) {
    return error.what();
  }
  return "";
}

TEST(ByteStrings, KeepEqualStringsOnce) {
  std::mt19937_64 random(1);
  std::vector<std::string> texts;
  for (size_t size : {0, 1, 65536, 65537, 300000, 5, 100000, 70000, 0}) {
    texts.push_back(random_text(random, size));
    texts.push_back(texts[texts.size() / 2]);
    for (int i = 0; i < 50; i++) texts.push_back(random_text(random, 1 + i * 100));
  }
  ByteStrings strings = strings_of(texts);
  uint64_t distinct = 0;
  for (const std::string& t : std::set<std::string>(texts.begin(), texts.end())) distinct += t.size();
  EXPECT_EQ(strings.bytes_kept(), distinct);
  const ByteStrings copy = strings;
  const ByteStrings moved = std::move(strings);
  ASSERT_EQ(moved.size(), texts.size());
  for (size_t i = 0; i < texts.size(); i++) {
    EXPECT_EQ(text(moved[i]), texts[i]) << i;
    EXPECT_EQ(text(copy[i]), texts[i]) << i;
  }
  EXPECT_NE(copy[2].data(), moved[2].data());
}

TEST(LinuxInputs, EachLaneHasItsArgumentsAndEnvironment) {
  LinuxOptions options;
  options.seed = 7;
  std::mt19937_64 random(2);
  for (uint32_t lane = 0; lane < 40; lane++) {
    std::vector<std::string> arguments(lane % 5, "word"), environment(lane % 3, "A=" + std::to_string(lane));
    if (!arguments.empty()) arguments[0] = std::string(random() % 9000, 'x');
    options.lane_arguments.push_back(arguments);
    options.lane_environments.push_back(environment);
  }
  LinuxFleet machine(image_of({kSvc}), fleet_of(40), options);
  for (uint32_t lane = 0; lane < 40; lane++) {
    const Start start(machine.fleet(), lane);
    EXPECT_EQ(start.arguments, options.lane_arguments[lane]);
    std::vector<std::string> environment = options.lane_environments[lane];
    environment.push_back("MYRIARM_LANE=" + std::to_string(lane));
    EXPECT_EQ(start.environment, environment);
    EXPECT_EQ(start.sp % 16, 0u);
    // As with arguments that all lanes share.
    LinuxOptions alone;
    alone.seed = 7;
    alone.arguments = options.lane_arguments[lane];
    alone.environment = options.lane_environments[lane];
    LinuxFleet shared(image_of({kSvc}), fleet_of(lane + 1), alone);
    const uint64_t end = machine.fleet().memory_end();
    EXPECT_EQ(shared.fleet().get(Field::sp, lane), start.sp);
    EXPECT_EQ(shared.fleet().read(lane, start.sp, end - start.sp),
              machine.fleet().read(lane, start.sp, end - start.sp));
  }
}

TEST(LinuxInputs, OneOfThemMayBeShared) {
  LinuxOptions options;
  options.lane_arguments = {{"a"}, {"b"}};
  options.environment = {"E=1"};
  LinuxFleet machine(image_of({kSvc}), fleet_of(2), options);
  EXPECT_EQ(Start(machine.fleet(), 1).arguments, std::vector<std::string>{"b"});
  EXPECT_EQ(Start(machine.fleet(), 1).environment[0], "E=1");
}

TEST(LinuxInputs, TheyAreGivenForEveryLaneOrForNone) {
  LinuxOptions options;
  options.lane_arguments = {{"a"}};
  EXPECT_EQ(refusal(options), "lane_arguments are given for 1 lanes, and the fleet has 2; give one for each lane");
  options.lane_arguments.push_back({"b"});
  options.arguments = {"c"};
  EXPECT_EQ(refusal(options), "both lane_arguments and arguments are given; leave one of them out");
  options = {};
  options.lane_environments.resize(3);
  EXPECT_NE(refusal(options).find("lane_environments are given for 3 lanes"), std::string::npos);
  options = {};
  options.files = strings_of({"", "", ""});
  EXPECT_NE(refusal(options).find("files are given for 3 lanes"), std::string::npos);
  options = {};
  options.standard_inputs = strings_of({"", ""});
  options.standard_input = {1};
  EXPECT_NE(refusal(options).find("both standard_inputs and standard_input"), std::string::npos);
  options = {};
  options.lane_arguments = {{"a"}, {std::string(1 << 17, 'a')}};
  EXPECT_NE(refusal(options).find("need more than 32 KiB of stack"), std::string::npos) << refusal(options);
}

TEST(LinuxInputs, EachLaneReadsItsStandardInput) {
  LinuxOptions options;
  options.standard_inputs = strings_of({"first", "", "third one"});
  Caller caller(3, options);
  EXPECT_EQ(caller.call({{kRead63, 0, kBuffer, 4}, {kRead63, 0, kBuffer, 4}, {kRead63, 0, kBuffer, 100}}),
            (Results{4, 0, 9}));
  EXPECT_EQ(text(caller.machine.fleet().read(0, kBuffer, 4)), "firs");
  EXPECT_EQ(text(caller.machine.fleet().read(2, kBuffer, 9)), "third one");
  EXPECT_EQ(caller.call({{kRead63, 0, kBuffer, 4}, {kRead63, 0, kBuffer, 4}, {kRead63, 0, kBuffer, 100}}),
            (Results{1, 0, 0}));
}

/// A lane with an input file, and the host with a file of the same bytes.
struct FileAndHost {
  explicit FileAndHost(const std::string& contents) : guest(1, options_with(contents)) {
    path = testing::TempDir() + "/myriarm_inputs_" + std::to_string(getpid());
    std::FILE* file = std::fopen(path.c_str(), "wb");
    EXPECT_EQ(std::fwrite(contents.data(), 1, contents.size(), file), contents.size());
    std::fclose(file);
    chmod(path.c_str(), 0444);
    guest.put_text(kPath, std::string(kInputFile) + '\0');
  }
  ~FileAndHost() {
    for (const auto& [mine, theirs] : descriptors) ::close(theirs);
    unlink(path.c_str());
  }
  static LinuxOptions options_with(const std::string& contents) {
    LinuxOptions options;
    options.files = strings_of({contents});
    return options;
  }
  static int64_t outcome(int64_t result) { return result < 0 ? -errno : result; }
  /// Opens the file in both, or copies a descriptor; the numbers themselves are the lowest that are free in each.
  void add(int64_t mine, int64_t theirs) {
    ASSERT_EQ(mine < 0 ? mine : 0, theirs < 0 ? theirs : 0);
    if (mine < 0) return;
    ASSERT_EQ(descriptors.count(mine), 0u);
    descriptors[mine] = static_cast<int>(theirs);
  }
  Caller guest;
  std::string path;
  std::map<int64_t, int> descriptors;
};

TEST(LinuxInputFile, RandomCallsAgreeWithLinux) {
  std::mt19937_64 random(3);
  for (size_t size : {0, 1, 5000, 9000}) {
    FileAndHost both(random_text(random, size));
    Caller& guest = both.guest;
    std::vector<uint8_t> buffer(8192);
    for (int step = 0; step < 1500; step++) {
      SCOPED_TRACE("size " + std::to_string(size) + " step " + std::to_string(step));
      const uint64_t choice = random() % 8;
      if (choice == 0 && both.descriptors.size() < 20) {
        both.add(guest.call(kOpenat, kHere, kPath, O_RDONLY), FileAndHost::outcome(open(both.path.c_str(), O_RDONLY)));
        continue;
      }
      if (both.descriptors.empty()) continue;
      auto chosen = both.descriptors.begin();
      std::advance(chosen, random() % both.descriptors.size());
      const auto [mine, theirs] = *chosen;
      const uint64_t near = random() % (size + 100), count = random() % 3000;
      // File systems differ in the largest position; all of them have terabytes.
      const auto far = static_cast<int64_t>(random()) >> (random() % 2 ? 24 : 0);
      const int64_t offset = random() % 50 == 0 ? std::min(far, int64_t{1} << 40) : static_cast<int64_t>(near) - 50;
      int64_t moved = 0, expected = 0;
      switch (choice) {
        case 1:
          if (both.descriptors.size() < 20) both.add(guest.call(kDup, mine), FileAndHost::outcome(dup(theirs)));
          continue;
        case 2:
          EXPECT_EQ(guest.call(kClose, mine), 0);
          ::close(theirs);
          both.descriptors.erase(chosen);
          continue;
        case 3: {
          const int origin = static_cast<int>(random() % 6);
          EXPECT_EQ(guest.call(kLseek, mine, offset, origin), FileAndHost::outcome(lseek(theirs, offset, origin)))
              << offset << " " << origin;
          continue;
        }
        case 4: {
          struct stat status = {};
          ASSERT_EQ(fstat(theirs, &status), 0);
          ASSERT_EQ(guest.call(kFstat, mine, kBuffer), 0);
          EXPECT_EQ(guest.word(kBuffer + 48), static_cast<uint64_t>(status.st_size));
          EXPECT_EQ(guest.word(kBuffer + 16) & 0xffffffff, status.st_mode);
          continue;
        }
        case 5:
          moved = guest.call(kPread64, mine, kBuffer, count, offset);
          expected = FileAndHost::outcome(pread(theirs, buffer.data(), count, offset));
          break;
        default:
          moved = guest.call(kRead63, mine, kBuffer, count);
          expected = FileAndHost::outcome(read(theirs, buffer.data(), count));
      }
      ASSERT_EQ(moved, expected) << offset << " " << count;
      if (moved <= 0) continue;
      ASSERT_EQ(guest.machine.fleet().read(0, kBuffer, moved),
                std::vector<uint8_t>(buffer.begin(), buffer.begin() + moved));
    }
  }
}

TEST(LinuxInputFile, IsFoundByItsPathAlone) {
  LinuxOptions options;
  options.files = strings_of({"abc"});
  Caller caller(1, options);
  const auto open_path = [&](const std::string& path, uint64_t flags = O_RDONLY, uint64_t folder = kHere) {
    caller.put_text(kPath, path + '\0');
    return caller.call(kOpenat, folder, kPath, flags);
  };
  int64_t next = 3;
  for (const char* path : {"/input", "input", "./input", "//input", "/.//./input", "../input", "/../../input"}) {
    EXPECT_EQ(open_path(path), next++) << path;
  }
  EXPECT_EQ(open_path("/input", O_RDONLY, 77), next++) << "the folder does not matter";
  EXPECT_EQ(open_path("input", O_RDONLY, 77), -EBADF);
  EXPECT_EQ(open_path("input", O_RDONLY, 1), -ENOTDIR);
  EXPECT_EQ(open_path(""), -ENOENT);
  for (uint64_t flags : {O_WRONLY, O_RDWR, O_RDONLY | O_TRUNC}) EXPECT_EQ(open_path("/input", flags), -EACCES) << flags;
  EXPECT_EQ(open_path("/input", O_CREAT), next++);
  EXPECT_EQ(open_path("/input", O_CREAT | O_EXCL), -EEXIST);
  EXPECT_EQ(open_path("/input", 040000), -ENOTDIR) << "O_DIRECTORY, as AArch64 has it";
  EXPECT_EQ(caller.machine.unimplemented().count("openat"), 0u);
  EXPECT_EQ(open_path("/"), -ENOSYS) << "a folder cannot be listed";
  for (const char* path : {"/input/", "/inputs", "/other/input", "/etc/passwd"}) {
    EXPECT_EQ(open_path(path), -ENOSYS) << path;
  }
  EXPECT_EQ(caller.machine.unimplemented()["openat"].count, 5u);
}

TEST(LinuxInputFile, CanBeOpenedAgainAndAgain) {
  // again: movn x0, #99; mov x1, x19; mov x2, #0; mov x8, #56; svc #0; mov x8, #57; svc #0; subs x20, x20, #1; b.ne again
  const ElfImage image =
      image_of({0x92800c60, 0xaa1303e1, 0xd2800002, 0xd2800708, kSvc, 0xd2800728, kSvc, 0xf1000694, 0x54ffff01, kBrk});
  LinuxOptions options;
  options.files = strings_of({"abc"});
  LinuxFleet machine(image, fleet_of(1), options);
  machine.fleet().write(0, kPath, bytes_of(std::string(kInputFile) + '\0'));
  machine.fleet().set(x(19), 0, kPath);
  machine.fleet().set(x(20), 0, 40000);
  machine.run();
  EXPECT_EQ(machine.outcome(0).stop.reason, StopReason::breakpoint);
  EXPECT_EQ(machine.fleet().get(x(0), 0), 0u) << "the last close()";
}

TEST(LinuxInputFile, IsReadOnly) {
  LinuxOptions options;
  options.files = strings_of({"abc"});
  Caller caller(1, options);
  caller.put_text(kPath, std::string(kInputFile) + '\0');
  for (const auto& [mode, result] : std::vector<std::pair<uint64_t, int64_t>>{
           {F_OK, 0}, {R_OK, 0}, {W_OK, -EACCES}, {R_OK | X_OK, -EACCES}, {8, -EINVAL}}) {
    EXPECT_EQ(caller.call(kFaccessat, kHere, kPath, mode), result) << mode;
  }
  EXPECT_EQ(caller.call(kNewfstatat, kHere, kPath, kBuffer, 0), 0);
  EXPECT_EQ(caller.word(kBuffer + 16) & 0xffffffff, uint32_t{S_IFREG | 0444});
  EXPECT_EQ(caller.word(kBuffer + 48), 3u);
  EXPECT_EQ(caller.word(kBuffer + 64), 1u) << "blocks of 512 bytes";
  EXPECT_EQ(caller.call(kReadlinkat, kHere, kPath, kBuffer, 100), -EINVAL);
  for (const char* path : {"/", ".", "./", "/..", "//."}) {
    caller.put_text(kPath, std::string(path) + '\0');
    EXPECT_EQ(caller.call(kNewfstatat, kHere, kPath, kBuffer, 0), 0) << path;
    EXPECT_EQ(caller.word(kBuffer + 16) & 0xffffffff, uint32_t{S_IFDIR | 0555}) << path;
    EXPECT_EQ(caller.call(kFaccessat, kHere, kPath, R_OK | X_OK), 0) << path;
    EXPECT_EQ(caller.call(kFaccessat, kHere, kPath, W_OK), -EACCES) << path;
  }
  caller.put_text(kPath, std::string(kInputFile) + '\0');
  EXPECT_EQ(caller.call(kOpenat, kHere, kPath, O_RDONLY), 3);
  EXPECT_EQ(caller.call(kWrite64, 3, kBuffer, 1), -EBADF);
  EXPECT_EQ(caller.call(kFcntl, 3, F_GETFL), 0400000) << "O_LARGEFILE, as the kernel sets it on AArch64";
  EXPECT_EQ(caller.call(kPread64, 0, kBuffer, 1, 0), -ESPIPE);
  EXPECT_EQ(caller.call(kPread64, 9, kBuffer, 1, 0), -EBADF);
  EXPECT_EQ(caller.call(kPread64, 3, 16, 3, 0), -EFAULT);
  EXPECT_EQ(caller.call(kRead63, 3, 16, 3), -EFAULT);
  EXPECT_EQ(caller.call(kRead63, 3, kBuffer, 9), 3) << "the failed call has moved nothing";
}

TEST(LinuxInputFile, CanBeMapped) {
  constexpr uint64_t kPage = 4096;
  std::mt19937_64 random(4);
  const std::string same_size = random_text(random, kPage + 100);
  LinuxOptions options;
  options.files = strings_of({random_text(random, kPage + 100), same_size, "short"});
  Caller caller(3, options);
  for (uint32_t lane = 0; lane < 3; lane++) caller.put_text(kPath, std::string(kInputFile) + '\0', lane);
  const auto all = [&](uint64_t number, uint64_t x0 = 0, uint64_t x1 = 0, uint64_t x2 = 0, uint64_t x3 = 0,
                       uint64_t x4 = 0, uint64_t x5 = 0) {
    return caller.call(std::vector<Caller::Request>(3, {number, x0, x1, x2, x3, x4, x5}));
  };
  EXPECT_EQ(all(kOpenat, kHere, kPath, O_RDONLY), (Results{3, 3, 3}));
  const Results places = all(kMmap, 0, 3 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE, 3, 0);
  Fleet& fleet = caller.machine.fleet();
  for (uint32_t lane = 0; lane < 3; lane++) {
    ASSERT_GT(places[lane], 0);
    const auto place = static_cast<uint64_t>(places[lane]);
    std::string expected = text(options.files[lane]);
    expected.resize(lane == 2 ? kPage : 2 * kPage);
    EXPECT_EQ(text(fleet.read(lane, place, expected.size())), expected) << lane;
    EXPECT_EQ(permissions_at(fleet, lane, place), kMapped | kRead | kWrite);
    EXPECT_EQ(permissions_at(fleet, lane, place + expected.size()), kMapped) << "no page of the file";
  }
  // The second page alone; the third lane has none.
  const Results second = all(kMmap, 0, kPage, PROT_READ, MAP_SHARED, 3, kPage);
  EXPECT_EQ(text(fleet.read(1, second[1], 100)), same_size.substr(kPage));
  EXPECT_EQ(permissions_at(fleet, 1, second[1]), kMapped | kRead);
  EXPECT_EQ(permissions_at(fleet, 2, second[2]), kMapped);
  EXPECT_EQ(all(kMmap, 0, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, 3, 0), (Results{-EACCES, -EACCES, -EACCES}));
  EXPECT_EQ(all(kMmap, 0, kPage, PROT_READ, MAP_PRIVATE, 3, 100), (Results{-EINVAL, -EINVAL, -EINVAL}));
  EXPECT_EQ(all(kMmap, 0, kPage, PROT_READ, MAP_PRIVATE, 0, 0), (Results{-ENODEV, -ENODEV, -ENODEV}));
  EXPECT_EQ(all(kMmap, 0, kPage, PROT_READ, MAP_PRIVATE, 9, 0), (Results{-EBADF, -EBADF, -EBADF}));
  EXPECT_EQ(all(kMadvise, places[0], kPage, 4), (Results{-EINVAL, -EINVAL, -EINVAL}))
      << "the pages would have to be read again";
  EXPECT_EQ(all(kClose, 3), (Results{0, 0, 0}));
  EXPECT_EQ(text(fleet.read(1, places[1], 100)), same_size.substr(0, 100)) << "a mapping outlives its descriptor";
  EXPECT_EQ(all(kMunmap, places[0], 3 * kPage), (Results{0, 0, 0}));
}

TEST(LinuxInputFile, ItsPathReplacesTheMarkInArguments) {
  LinuxOptions options;
  options.arguments = {"program", "@@", "--in=@@,@@", "@"};
  options.files = strings_of({"a"});
  LinuxFleet machine(image_of({kSvc}), fleet_of(1), options);
  EXPECT_EQ(Start(machine.fleet(), 0).arguments,
            (std::vector<std::string>{"program", "/input", "--in=/input,/input", "@"}));
  options.files = {};
  LinuxFleet without(image_of({kSvc}), fleet_of(1), options);
  EXPECT_EQ(Start(without.fleet(), 0).arguments, options.arguments);
}

}  // namespace
}  // namespace myriarm
