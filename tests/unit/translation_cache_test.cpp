// SPDX-License-Identifier: Apache-2.0
// The translation cache on disk, without a translator: its files, every kind of damage, whom it trusts, its size, and
// processes that share it and are killed.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

#include "generate/generate.h"
#include "myriarm/translation_cache.h"
#include "myriarm/version.h"
#include "translate/cache/region_cache.h"
#include "translate/cache/region_file.h"

namespace myriarm::translate {
namespace {

namespace fs = std::filesystem;

RegionKey key_of_region(u32 number) {
  RegionKey key = {};
  for (size_t i = 0; i < key.size(); i++) key[i] = static_cast<u8>(number >> 8 * (i % 4) ^ i * 37);
  return key;
}
/// Bytes that tell from which region they are.
std::vector<u8> object_of_region(u32 number) {
  Random random(number);
  std::vector<u8> bytes(200 + random.below(2000));
  for (u8& byte : bytes) byte = static_cast<u8>(random.next());
  return bytes;
}
std::vector<u8> file_of_region(u32 number) {
  const std::vector<u8> object = object_of_region(number);
  RegionFile file;
  file.key = key_of_region(number);
  file.note = {0x400000 + u64{number}, number + 1, 0.001 * number};
  file.version = "0.0";
  file.object = object;
  return encode(file);
}

/// A folder for the cache, which the environment names.
class TranslationCacheTest : public testing::Test {
 protected:
  TranslationCacheTest() {
    std::string name = testing::TempDir() + "myriarm-cache-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder for the test");
    around_ = name;
    folder_ = around_ / "cache";
    setenv("MYRIARM_CACHE_DIR", folder_.c_str(), 1);
    unsetenv("MYRIARM_CACHE_SIZE");
  }
  ~TranslationCacheTest() override { fs::remove_all(around_); }

  fs::path path_of(u32 number) const { return folder_ / file_name(key_of_region(number)); }
  void fill(u32 regions) {
    RegionCache cache;
    for (u32 i = 0; i < regions; i++)
      cache.keep(key_of_region(i), {0x400000 + u64{i}, i + 1, 0.5}, object_of_region(i));
  }
  static std::vector<u8> bytes_of(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  static void put(const fs::path& path, std::span<const u8> bytes) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<i64>(bytes.size()));
  }
  static void used_at(const fs::path& path, i64 seconds) {
    const timespec times[2] = {{seconds, 0}, {seconds, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW), 0);
  }
  /// Region 0 is not found, the reason is told, and to keep it again mends the cache.
  void expect_ignored(const std::string& why) {
    RegionCache cache;
    EXPECT_TRUE(cache.find(key_of_region(0)).empty());
    EXPECT_EQ(cache.warning(), "the translation cache was ignored in part: " + path_of(0).string() + ": " + why);
    const TranslationCache content = read_translation_cache();
    ASSERT_EQ(content.regions.size(), 1u);
    EXPECT_EQ(content.regions[0].problem, why);
    cache.keep(key_of_region(0), {}, object_of_region(0));
    EXPECT_EQ(RegionCache().find(key_of_region(0)), object_of_region(0));
  }

  fs::path around_, folder_;
};

TEST(RegionFiles, HaveTheSumThatTheirNameSays) {
  const std::string digits = "123456789";  // the check value of CRC-64/XZ
  EXPECT_EQ(crc64({reinterpret_cast<const u8*>(digits.data()), digits.size()}), 0x995DC9BBDF1939FAu);
}

TEST(RegionFiles, AreReadAsTheyWereWritten) {
  const std::vector<u8> bytes = file_of_region(7);
  RegionFile file;
  std::string why;
  ASSERT_TRUE(decode(bytes, file, why)) << why;
  EXPECT_EQ(file.key, key_of_region(7));
  EXPECT_EQ(file.note.pc, 0x400007u);
  EXPECT_EQ(file.note.instructions, 8u);
  EXPECT_DOUBLE_EQ(file.note.seconds, 0.007);
  EXPECT_EQ(file.version, "0.0");
  EXPECT_EQ(std::vector<u8>(file.object.begin(), file.object.end()), object_of_region(7));
}

TEST(RegionFiles, WithAnyByteChangedOrMissingAreRefused) {
  const std::vector<u8> whole = file_of_region(3);
  RegionFile file;
  for (size_t i = 0; i < whole.size(); i++) {
    std::vector<u8> changed = whole;
    changed[i] ^= static_cast<u8>(1 + i % 255);
    std::string why;
    EXPECT_FALSE(decode(changed, file, why)) << "byte " << i;
    EXPECT_NE(why, "");
    EXPECT_FALSE(decode(std::span(whole).first(i), file, why)) << i << " bytes";
  }
  std::vector<u8> longer = whole;
  longer.push_back(0);
  std::string why;
  EXPECT_FALSE(decode(longer, file, why));
  EXPECT_EQ(why, "it is longer than it says");
}

TEST(RegionFiles, ThatAreTooLongAreNotMade) {
  RegionFile file;
  const std::vector<u8> object(kMostRegionFileBytes);
  file.object = object;
  EXPECT_TRUE(encode(file).empty());
  file.object = std::span(object).first(10);
  EXPECT_FALSE(encode(file).empty());
  file.version = std::string(kMostVersionBytes + 1, 'v');
  EXPECT_TRUE(encode(file).empty());
}

TEST(RegionFiles, AreNamedByTheirKey) {
  const std::string name = file_name(key_of_region(5));
  EXPECT_EQ(key_of(name), key_of_region(5));
  for (const std::string& other : {name.substr(1), name + "x", "g" + name.substr(1), "A" + name.substr(1),
                                   name.substr(0, 64), std::string(), std::string("..")}) {
    EXPECT_EQ(key_of(other), std::nullopt) << other;
  }
}

TEST_F(TranslationCacheTest, IsMadeForItsOwnerAloneWhenItIsFirstFilled) {
  EXPECT_TRUE(RegionCache().find(key_of_region(0)).empty());
  EXPECT_FALSE(fs::exists(folder_));
  EXPECT_TRUE(read_translation_cache().regions.empty());
  EXPECT_EQ(clear_translation_cache().regions, 0u);
  fill(1);
  struct stat status;
  ASSERT_EQ(stat(folder_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  ASSERT_EQ(stat(path_of(0).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(TranslationCacheTest, GivesLaterRunsWhatEarlierOnesKept) {
  fill(20);
  RegionCache cache;
  for (u32 i = 0; i < 20; i++) EXPECT_EQ(cache.find(key_of_region(i)), object_of_region(i));
  EXPECT_TRUE(cache.find(key_of_region(20)).empty());
  EXPECT_EQ(cache.warning(), "");
  const TranslationCache content = read_translation_cache();
  EXPECT_EQ(content.folder, folder_.string());
  EXPECT_EQ(content.limit, u64{256} << 20);
  ASSERT_EQ(content.regions.size(), 20u);
  for (const CachedRegion& region : content.regions) {
    EXPECT_EQ(region.problem, "");
    EXPECT_EQ(region.version, MYRIARM_VERSION);
    EXPECT_EQ(region.instructions, region.pc - 0x400000 + 1);
    EXPECT_EQ(region.bytes, fs::file_size(folder_ / region.file));
    EXPECT_DOUBLE_EQ(region.seconds, 0.5);
  }
}

TEST_F(TranslationCacheTest, IsWhereTheEnvironmentSays) {
  setenv("XDG_CACHE_HOME", "/xdg", 1);
  setenv("HOME", "/h", 1);
  EXPECT_EQ(cache_path(), folder_.string());
  unsetenv("MYRIARM_CACHE_DIR");
  EXPECT_EQ(cache_path(), "/xdg/myriarm");
  setenv("XDG_CACHE_HOME", "relative", 1);
  EXPECT_EQ(cache_path(), "/h/.cache/myriarm");
  unsetenv("HOME");
  EXPECT_EQ(cache_path(), "");
  EXPECT_THROW(read_translation_cache(), Error);
  RegionCache nowhere;
  nowhere.keep(key_of_region(0), {}, object_of_region(0));
  EXPECT_TRUE(nowhere.find(key_of_region(0)).empty());
  EXPECT_EQ(nowhere.warning(), "");
  for (const auto& [text, limit] : {std::pair<const char*, u64>{"1000", 1000},
                                    {"2K", 2048},
                                    {"3M", u64{3} << 20},
                                    {"1G", u64{1} << 30},
                                    {"0", 0},
                                    {"", u64{256} << 20},
                                    {"x", u64{256} << 20},
                                    {"5T", u64{256} << 20},
                                    {"99999999999G", u64{256} << 20}}) {
    setenv("MYRIARM_CACHE_SIZE", text, 1);
    EXPECT_EQ(cache_limit(), limit) << text;
  }
}

TEST_F(TranslationCacheTest, IgnoresWhatIsDamaged) {
  using Damage = std::pair<std::string, std::function<void(std::vector<u8>&)>>;
  for (const auto& [why, damage] : {
           Damage{"it is cut off", [](auto& bytes) { bytes.resize(bytes.size() / 2); }},
           Damage{"it is cut off", [](auto& bytes) { bytes.resize(20); }},
           Damage{"it is no file of this cache", [](auto& bytes) { bytes.clear(); }},
           Damage{"it is no file of this cache", [](auto& bytes) { bytes[0] = '#'; }},
           Damage{"it has another format", [](auto& bytes) { bytes[8]++; }},
           Damage{"its checksum is wrong", [](auto& bytes) { bytes[200] ^= 1; }},
           Damage{"its checksum is wrong", [](auto& bytes) { bytes.back() ^= 1; }},
           Damage{"it is longer than it says", [](auto& bytes) { bytes.push_back(0); }},
           Damage{"it is too large", [](auto& bytes) { bytes.resize(kMostRegionFileBytes + 1); }},
           Damage{"it is of another region", [](auto& bytes) { bytes = file_of_region(1); }},
       }) {
    fill(1);
    std::vector<u8> bytes = bytes_of(path_of(0));
    damage(bytes);
    put(path_of(0), bytes);
    SCOPED_TRACE(why);
    if (why == "it is too large") {  // it is not even read
      RegionCache cache;
      EXPECT_TRUE(cache.find(key_of_region(0)).empty());
      EXPECT_NE(cache.warning().find(why), std::string::npos);
      fs::remove(path_of(0));
      continue;
    }
    expect_ignored(why);
  }
}

TEST_F(TranslationCacheTest, IgnoresWhatOthersMayHaveWritten) {
  for (const mode_t mode : {0620, 0602, 0666}) {
    fill(1);
    ASSERT_EQ(chmod(path_of(0).c_str(), mode), 0);
    expect_ignored("others may write to it");
  }
  fill(2);
  fs::rename(path_of(1), around_ / "elsewhere");
  fs::remove(path_of(0));
  fs::create_symlink(around_ / "elsewhere", path_of(0));
  expect_ignored("it is a link");
  EXPECT_TRUE(fs::exists(around_ / "elsewhere"));
  fs::remove(path_of(0));
  ASSERT_EQ(mkfifo(path_of(0).c_str(), 0600), 0);
  expect_ignored("it is no file");
}

TEST_F(TranslationCacheTest, IgnoresFilesOfOtherUsers) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  fill(1);
  ASSERT_EQ(chown(path_of(0).c_str(), 12345, 12345), 0);
  expect_ignored("it belongs to another user");
  ASSERT_EQ(chown(folder_.c_str(), 12345, 12345), 0);
  RegionCache cache;
  EXPECT_TRUE(cache.find(key_of_region(0)).empty());
  EXPECT_EQ(cache.warning(),
            "the translation cache was ignored in part: " + folder_.string() + ": it belongs to another user");
  cache.keep(key_of_region(1), {}, object_of_region(1));
  EXPECT_FALSE(fs::exists(path_of(1)));
  EXPECT_THROW(read_translation_cache(), Error);
  EXPECT_THROW(clear_translation_cache(), Error);
  EXPECT_TRUE(fs::exists(path_of(0)));
}

TEST_F(TranslationCacheTest, IgnoresFoldersThatOthersMayWriteTo) {
  fill(1);
  const auto expect_unused = [&](const std::string& why) {
    RegionCache cache;
    for (u32 i = 0; i < 3; i++) EXPECT_TRUE(cache.find(key_of_region(0)).empty());
    EXPECT_EQ(cache.warning(), "the translation cache was ignored in part: " + folder_.string() + ": " + why);
    cache.keep(key_of_region(1), {}, object_of_region(1));
    EXPECT_FALSE(fs::exists(path_of(1)));
    EXPECT_THROW(read_translation_cache(), Error);
  };
  ASSERT_EQ(chmod(folder_.c_str(), 0770), 0);
  expect_unused("others may write to it");
  ASSERT_EQ(chmod(folder_.c_str(), 0700), 0);
  EXPECT_EQ(RegionCache().find(key_of_region(0)), object_of_region(0));
  fs::rename(folder_, around_ / "real");
  fs::create_directory_symlink(around_ / "real", folder_);
  expect_unused("it is no folder, or a link to one");
  fs::remove(folder_);
  put(folder_, object_of_region(0));
  expect_unused("it is no folder, or a link to one");
}

TEST_F(TranslationCacheTest, CountsWhatItIgnoresAndNamesTheFirst) {
  fill(5);
  for (u32 i = 0; i < 4; i++) put(path_of(i), {});
  RegionCache cache;
  for (u32 i = 0; i < 5; i++) cache.find(key_of_region(i));
  cache.reject(key_of_region(4), "LLVM cannot read it");
  EXPECT_EQ(cache.warning(), "5 parts of the translation cache were ignored; the first: " + path_of(0).string() +
                                 ": it is no file of this cache");
}

TEST_F(TranslationCacheTest, WithoutAPlaceIsSilent) {
  put(around_ / "file", {});
  RegionCache cache(around_ / "missing" / ".." / "file" / "cache", 1 << 20);
  EXPECT_TRUE(cache.find(key_of_region(0)).empty());
  cache.keep(key_of_region(0), {}, object_of_region(0));
  EXPECT_TRUE(cache.find(key_of_region(0)).empty());
}

TEST_F(TranslationCacheTest, RemovesWhatWasUsedLongestAgo) {
  fill(20);
  u64 bytes = 0;
  for (u32 i = 0; i < 20; i++) {
    bytes += fs::file_size(path_of(i));
    used_at(path_of(i), 1'000'000 + i * 7 % 20);
  }
  EXPECT_EQ(RegionCache().find(key_of_region(0)), object_of_region(0));  // was the oldest, and is used now
  put(folder_ / "unfinished-0123456789abcdef", object_of_region(1));
  used_at(folder_ / "unfinished-0123456789abcdef", 1'000'000);
  put(folder_ / "unfinished-fedcba9876543210", object_of_region(1));
  put(folder_ / "somebody's", object_of_region(1));
  RegionCache small(folder_, bytes / 2);
  small.keep(key_of_region(20), {}, object_of_region(20));
  EXPECT_EQ(small.find(key_of_region(20)), object_of_region(20));
  EXPECT_EQ(small.find(key_of_region(0)), object_of_region(0));
  u64 left = 0, oldest = ~u64{0}, removed_last = 0;
  for (u32 i = 0; i < 21; i++) {
    if (fs::exists(path_of(i))) left += fs::file_size(path_of(i));
    if (i == 0 || i == 20) continue;
    const u64 used = i * 7 % 20;
    if (fs::exists(path_of(i))) oldest = std::min(oldest, used);
    else removed_last = std::max(removed_last, used);
  }
  EXPECT_LE(left, bytes / 2);
  EXPECT_GT(left, bytes / 4);
  EXPECT_EQ(oldest, removed_last + 1);
  EXPECT_FALSE(fs::exists(folder_ / "unfinished-0123456789abcdef")) << "a killed writer's";
  EXPECT_TRUE(fs::exists(folder_ / "unfinished-fedcba9876543210")) << "perhaps a living writer's";
  // Nothing is larger than the cache.
  RegionCache tiny(folder_, 50);
  tiny.keep(key_of_region(30), {}, object_of_region(30));
  EXPECT_FALSE(fs::exists(path_of(30)));
  const ClearedCache cleared = clear_translation_cache();
  EXPECT_EQ(cleared.bytes, left);
  EXPECT_FALSE(fs::exists(folder_ / "unfinished-fedcba9876543210"));
  EXPECT_TRUE(fs::exists(folder_ / "somebody's")) << "is not the cache's to remove";
  EXPECT_TRUE(read_translation_cache().regions.empty());
}

/// Uses the cache as a run does, and writes a byte after each step: '.' if all was right.
[[noreturn]] void share_cache(const fs::path& folder, u64 limit, u64 seed, bool ends, int progress) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  Random random(seed);
  RegionCache cache(folder, limit);
  for (int step = 0; step < 300 || !ends; step++) {
    const u32 number = static_cast<u32>(random.below(40));
    const std::vector<u8> found = cache.find(key_of_region(number));
    const bool right = found.empty() || found == object_of_region(number);
    if (found.empty()) cache.keep(key_of_region(number), {}, object_of_region(number));
    const char told = right && cache.warning().empty() ? '.' : 'X';
    if (write(progress, &told, 1) != 1) _exit(1);
  }
  _exit(0);
}

TEST_F(TranslationCacheTest, IsSharedByProcessesThatAreKilled) {
  constexpr u64 kLimit = 20'000;  // less than the 40 regions have
  constexpr int kProcesses = 10;
  Random random(2026);
  std::vector<std::pair<pid_t, int>> children;
  auto is_killed = [](u64 i) { return i % 4 != 3; };  // the others run to their end
  for (u64 i = 0; i < kProcesses; i++) {
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) share_cache(folder_, kLimit, i + 1, !is_killed(i), pipe_ends[1]);
    close(pipe_ends[1]);
    children.emplace_back(child, pipe_ends[0]);
  }
  for (size_t i = 0; i < children.size(); i++) {
    const auto [child, progress] = children[i];
    std::string told;
    u64 steps = is_killed(i) ? random.below(250) : 1000;
    for (char step; steps > 0 && read(progress, &step, 1) == 1; steps--) told += step;
    if (is_killed(i)) kill(child, SIGKILL);  // somewhere behind that step
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    for (char step; read(progress, &step, 1) == 1;) told += step;
    close(progress);
    EXPECT_EQ(WIFSIGNALED(status), is_killed(i));
    EXPECT_EQ(told, std::string(told.size(), '.')) << "process " << i;
  }
  const TranslationCache content = read_translation_cache();
  EXPECT_GT(content.regions.size(), 5u);
  for (const CachedRegion& region : content.regions) EXPECT_EQ(region.problem, "") << region.file;
  RegionCache after(folder_, kLimit);
  for (u32 i = 0; i < 40; i++) {
    after.keep(key_of_region(i), {}, object_of_region(i));
    EXPECT_EQ(after.find(key_of_region(i)), object_of_region(i));
  }
  u64 bytes = 0;
  for (const CachedRegion& region : read_translation_cache().regions) bytes += region.bytes;
  EXPECT_LE(bytes, kLimit);
  EXPECT_EQ(after.warning(), "");
}

}  // namespace
}  // namespace myriarm::translate
