// SPDX-License-Identifier: Apache-2.0
// A folder of the host as a root: what it contains, and where paths lead. The oracle of paths is the host's own Linux
// (openat2 with RESOLVE_IN_ROOT).
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "myriarm/error.h"
#include "root_folder.h"

namespace myriarm {
namespace {

using test::content_of;
using test::RootFolder;

std::string error_of(const std::string& folder) {
  try {
    read_root(folder);
    return "";
  } catch (const ArgumentError& error) {
    return error.what();
  }
}

/// The names of a folder, from its records.
std::vector<std::string> names_of(const FileTree& tree, const std::string& path) {
  std::vector<std::string> names;
  std::span<const uint8_t> records;
  const int64_t folder = tree.find(0, path, kFollowLast, "");
  if (folder < 0 || !tree.content(static_cast<uint32_t>(folder), records)) return {"?"};
  for (size_t at = 0; at < records.size();) {
    uint64_t next = 0, number = 0;
    uint16_t length = 0;
    std::memcpy(&number, &records[at], 8);
    std::memcpy(&next, &records[at + 8], 8);
    std::memcpy(&length, &records[at + 16], 2);
    const std::string name = reinterpret_cast<const char*>(&records[at + 19]);
    EXPECT_EQ(length % 8, 0) << name;
    EXPECT_EQ(next, at + length) << name;
    const int64_t file = tree.find(static_cast<uint32_t>(folder), name, 0, "");
    EXPECT_GE(file, 0) << name;
    if (file >= 0) {
      EXPECT_EQ(tree.facts(static_cast<uint32_t>(file)).number, number) << name;
      EXPECT_EQ(tree.facts(static_cast<uint32_t>(file)).mode >> 12, records[at + 18]) << name;
    }
    names.push_back(name);
    at += length;
  }
  return names;
}

TEST(Root, FilesHaveTheFactsOfTheHostButOneOwner) {
  RootFolder folder;
  folder.file("b", "two words", 0640);
  folder.folder("a/inner", 0751);
  folder.link("l", "a/inner");
  ASSERT_EQ(::link(folder.path("b").c_str(), folder.path("a/again").c_str()), 0);
  const auto tree = read_root(folder.path());
  const auto facts = [&](const char* path) { return tree->facts(static_cast<uint32_t>(tree->find(0, path, 0, ""))); };
  struct stat status = {};
  ASSERT_EQ(::stat(folder.path("b").c_str(), &status), 0);
  EXPECT_EQ(facts("/b").mode, uint32_t{S_IFREG | 0640});
  EXPECT_EQ(facts("/b").size, 9u);
  EXPECT_EQ(facts("/b").seconds, status.st_mtim.tv_sec);
  EXPECT_EQ(facts("/b").nanoseconds, static_cast<uint32_t>(status.st_mtim.tv_nsec));
  EXPECT_EQ(facts("/b").user, 0u);
  EXPECT_EQ(facts("/b").links, 2u);
  EXPECT_EQ(facts("/b").number, facts("/a/again").number) << "two names of one file";
  EXPECT_EQ(facts("/a/inner").mode, uint32_t{S_IFDIR | 0751});
  EXPECT_EQ(facts("/a").links, 3u);
  EXPECT_EQ(facts("/l").mode & S_IFMT, uint32_t{S_IFLNK});
  EXPECT_EQ(facts("/l").size, 7u);
  EXPECT_EQ(content_of(*tree, "/a/again"), "two words");
  EXPECT_EQ(content_of(*tree, "/l", 0), "a/inner");
  EXPECT_EQ(facts("/").number, 2u);
  EXPECT_EQ(tree->find(0, "/l", kFollowLast, ""), tree->find(0, "/a/inner", 0, ""));
}

TEST(Root, NamesAndNumbersComeInOneOrder) {
  const auto make = [](RootFolder& folder, const std::vector<std::string>& names) {
    for (const std::string& name : names) folder.file(name, name);
    folder.folder("sub");
    folder.file("sub/x", "");
  };
  RootFolder first, second;
  make(first, {"b", "a", "C"});
  make(second, {"C", "a", "b"});
  const auto one = read_root(first.path()), other = read_root(second.path());
  const std::vector<std::string> expected = {".", "..", "C", "a", "b", "dev", "proc", "sub", "tmp"};
  EXPECT_EQ(names_of(*one, "/"), expected);
  EXPECT_EQ(names_of(*other, "/"), expected);
  EXPECT_EQ(names_of(*one, "/sub"), (std::vector<std::string>{".", "..", "x"}));
  int64_t before = -1;
  for (const char* path : {"/", "/C", "/a", "/b", "/sub", "/sub/x"}) {
    EXPECT_GT(one->find(0, path, 0, ""), before) << path << " comes in the order of the names";
    before = one->find(0, path, 0, "");
  }
  for (const char* path : {"/", "/C", "/b", "/sub", "/sub/x", "/dev/null", "/proc/self"}) {
    EXPECT_EQ(one->find(0, path, 0, ""), other->find(0, path, 0, "")) << path;
  }
}

TEST(Root, HasDevicesAndTheProgramOfItsOwn) {
  RootFolder folder;
  folder.folder("dev");
  folder.folder("proc");
  folder.file("dev/secret", "of the host");
  folder.file("program", "the program");
  const auto tree = read_root(folder.path());
  EXPECT_EQ(names_of(*tree, "/dev"), (std::vector<std::string>{".", "..", "fd", "full", "null", "random", "shm",
                                                               "stderr", "stdin", "stdout", "tty", "urandom", "zero"}));
  EXPECT_EQ(tree->find(0, "/dev/secret", 0, ""), -ENOENT);
  const auto null = static_cast<uint32_t>(tree->find(0, "/dev/null", 0, ""));
  EXPECT_EQ(tree->facts(null).device, 0x103u);
  EXPECT_EQ(names_of(*tree, "/proc"),
            (std::vector<std::string>{".", "..", "1000", "cpuinfo", "filesystems", "loadavg", "meminfo", "mounts",
                                      "self", "stat", "sys", "uptime", "version"}));
  EXPECT_EQ(content_of(*tree, "/proc/self/exe"), "the program");
  const auto exe = static_cast<uint32_t>(tree->find(0, "/proc/self/exe", 0, "/program"));
  EXPECT_TRUE(tree->is_program_link(exe));
  EXPECT_FALSE(tree->is_program_link(null));
  EXPECT_EQ(tree->find(0, "/proc/self/exe", kFollowLast, "/gone"), -ENOENT);
  EXPECT_EQ(tree->find(0, "/proc/self/root", 0, "/program"), -ENOENT) << "no way out";
}

TEST(Root, FindsErrorsInLinuxOrder) {
  RootFolder folder;
  folder.folder("a/b");
  folder.file("a/f", "f");
  folder.folder("locked", 0700);
  folder.file("locked/x", "");
  folder.link("loop", "loop");
  folder.link("dangling", "nothing/there");
  folder.link("up", "../../../../a/f");
  folder.link("absolute", "/a/f");
  for (int i = 0; i < 50; i++) folder.link("chain" + std::to_string(i), "chain" + std::to_string(i + 1));
  folder.file("chain50", "end");
  const auto tree = read_root(folder.path());
  const auto find = [&](const std::string& path, uint32_t flags = kFollowLast) {
    return tree->find(0, path, flags, "/program");
  };
  const int64_t file = find("/a/f");
  ASSERT_GT(file, 0);
  EXPECT_EQ(find("/"), 0);
  EXPECT_EQ(find("/.."), 0);
  EXPECT_EQ(find("//a///.//b/../f"), file);
  EXPECT_EQ(find("/../../a/../../a/f"), file);
  EXPECT_EQ(find("/up"), file);
  EXPECT_EQ(find("/absolute"), file);
  EXPECT_EQ(find("/a/f/"), -ENOTDIR);
  EXPECT_EQ(find("/a/f/."), -ENOTDIR);
  EXPECT_EQ(find("/a/f/.."), -ENOTDIR);
  EXPECT_EQ(find("/absolute/"), -ENOTDIR);
  EXPECT_EQ(find("/a/x/y"), -ENOENT);
  EXPECT_EQ(find("/loop"), -ELOOP);
  EXPECT_EQ(find("/loop/x"), -ELOOP);
  EXPECT_GT(find("/loop", 0), 0);
  EXPECT_EQ(find("/loop/", 0), -ELOOP) << "a slash follows";
  EXPECT_EQ(find("/dangling"), -ENOENT);
  EXPECT_EQ(find("/locked/x"), -EACCES);
  EXPECT_EQ(find("/locked/."), -EACCES);
  EXPECT_GT(find("/locked"), 0);
  EXPECT_EQ(find("/chain10"), find("/chain50")) << "40 links";
  EXPECT_EQ(find("/chain9"), -ELOOP) << "41 links";
  EXPECT_EQ(find("/" + std::string(255, 'n')), -ENOENT);
  EXPECT_EQ(find("/" + std::string(256, 'n')), -ENAMETOOLONG);
  EXPECT_EQ(find("/a/f/" + std::string(256, 'n')), -ENOTDIR);
}

/// Where the host's Linux ends with the path, with `root` as "/": a path inside it, or an error.
std::string on_host(const std::string& root, const std::string& path, bool follows) {
  const int folder = ::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  open_how how = {};
  how.flags = O_PATH | O_CLOEXEC | (follows ? 0 : O_NOFOLLOW);
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  // EAGAIN: anybody on the host has renamed something meanwhile, and the kernel cannot know where ".." leads.
  int found = 0;
  do {
    found = static_cast<int>(::syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how));
  } while (found < 0 && errno == EAGAIN);
  std::string result = found < 0 ? "error " + std::to_string(errno) : "";
  if (found >= 0) {
    char name[4096];
    const ssize_t size = ::readlink(("/proc/self/fd/" + std::to_string(found)).c_str(), name, sizeof name);
    result = std::string(name, static_cast<size_t>(std::max<ssize_t>(size, 0)));
    ::close(found);
  }
  ::close(folder);
  return result;
}

TEST(Root, PathsLeadWhereTheHostsLinuxGoes) {
  RootFolder folder;
  const std::string root = std::filesystem::canonical(folder.path());
  folder.folder("a/b/c");
  folder.folder("d");
  folder.file("a/f", "1");
  folder.file("d/f", "2");
  folder.link("a/l", "../d");
  folder.link("d/l", "/a/b");
  folder.link("a/b/l", "../../../../../d/f");
  folder.link("d/b", "../a/l/l/c");
  folder.link("c", "d/./b/../..");
  folder.link("l", "l");
  folder.link("f", "/a/f/");
  const auto tree = read_root(root);
  if (on_host(root, "/", true) == "error " + std::to_string(ENOSYS)) GTEST_SKIP() << "Linux before 5.6";

  const std::vector<std::string> parts = {"a", "b", "c", "d", "f", "l", ".", "..", "", "x"};
  std::mt19937 random(1);
  unsigned found_files = 0;
  for (int i = 0; i < 20000; i++) {
    std::string path = random() % 2 ? "/" : "";
    for (unsigned k = 1 + random() % 6; k != 0; k--) path += parts[random() % parts.size()] + (k > 1 ? "/" : "");
    if (random() % 4 == 0) path += "/";
    if (path.empty()) continue;
    const bool follows = random() % 2;
    const std::string expected = on_host(root, path, follows);
    const int64_t found = tree->find(0, path, follows ? uint32_t{kFollowLast} : 0, "");
    if (expected.starts_with("error ")) {
      ASSERT_EQ("error " + std::to_string(-found), expected) << path << (follows ? "" : ", not following");
    } else {
      ASSERT_TRUE(expected.starts_with(root)) << expected;
      const std::string inside = expected.size() == root.size() ? "/" : expected.substr(root.size());
      ASSERT_GE(found, 0) << path << " should be " << inside;
      ASSERT_EQ(found, tree->find(0, inside, 0, "")) << path << " should be " << inside;
      found_files++;
    }
  }
  EXPECT_GT(found_files, 3000u);
}

TEST(Root, NothingOutsideIsReachedWhateverHappensToTheFolder) {
  RootFolder folder, outside;
  outside.file("secret", "of the host");
  folder.folder("a");
  folder.file("a/secret", "inside");
  folder.file("a/other", "inside");
  folder.file("a/late", "inside");
  folder.link("way", outside.path("secret"));
  folder.link("far", "../../../../../../../../../../../../" + outside.path("secret"));
  const auto tree = read_root(folder.path());
  EXPECT_EQ(tree->find(0, "/way", kFollowLast, ""), -ENOENT) << "an absolute link stays in the root";
  EXPECT_EQ(tree->find(0, "/far", kFollowLast, ""), -ENOENT);
  EXPECT_EQ(tree->find(0, outside.path("secret"), kFollowLast, ""), -ENOENT);
  // The folder changes between a path that was followed and the file that is read.
  std::filesystem::remove(folder.path("a/other"));
  folder.link("a/other", outside.path("secret"));
  EXPECT_EQ(content_of(*tree, "/a/other"), "error " + std::to_string(-tree->find(0, "/a/other", 0, "")))
      << "a link in the place of a file is not followed";
  std::filesystem::rename(folder.path("a"), folder.path("b"));
  folder.link("a", outside.path());
  std::span<const uint8_t> bytes;
  EXPECT_FALSE(tree->content(static_cast<uint32_t>(tree->find(0, "/a/secret", 0, "")), bytes))
      << "a link in the place of a folder is not followed";
  std::filesystem::remove(folder.path("a"));
  std::filesystem::rename(folder.path("b"), folder.path("a"));
  EXPECT_EQ(content_of(*tree, "/a/late"), "inside") << "back in its place it can be read";
  folder.file("a/late", "changed");
  EXPECT_EQ(content_of(*tree, "/a/late"), "inside") << "what was read once stays";
}

TEST(Root, ARaceOfRenamesReachesNothingOutside) {
  RootFolder folder, outside;
  folder.folder("a");
  constexpr int kFiles = 300;
  for (int i = 0; i < kFiles; i++) {
    folder.file("a/" + std::to_string(i), "inside");
    outside.file(std::to_string(i), "beyond");
  }
  folder.link("swap", outside.path());
  const auto tree = read_root(folder.path());
  std::atomic<bool> ended = false;
  std::atomic<unsigned> swaps = 0;
  std::thread swapper([&] {
    while (!ended) {
      (void)::syscall(SYS_renameat2, AT_FDCWD, folder.path("a").c_str(), AT_FDCWD, folder.path("swap").c_str(),
                      RENAME_EXCHANGE);
      swaps++;
    }
  });

  for (int i = 0; i < kFiles; i++) {
    const int64_t file = tree->find(0, "/a/" + std::to_string(i), 0, "");
    for (const unsigned before = swaps; swaps == before;) std::this_thread::yield();
    std::span<const uint8_t> bytes;
    if (!tree->content(static_cast<uint32_t>(file), bytes)) continue;
    EXPECT_EQ(std::string(bytes.begin(), bytes.end()), "inside");
  }
  ended = true;
  swapper.join();
}

TEST(Root, AFileThatHasChangedCannotBeRead) {
  RootFolder folder;
  folder.file("f", "as it was");
  const auto tree = read_root(folder.path());
  folder.file("f", "as it is now");
  std::span<const uint8_t> bytes;
  EXPECT_FALSE(tree->content(static_cast<uint32_t>(tree->find(0, "/f", 0, "")), bytes));
}

TEST(Root, FoldersAreBoundIntoIt) {
  RootFolder folder, first, second;
  folder.folder("in/there");
  folder.file("in/there/hidden", "is not seen");
  folder.file("in/beside", "beside");
  first.file("f", "first", 0640);
  first.link("up", "../beside");
  second.folder("deep");
  second.file("deep/f", "second");
  const BoundFolder binds[] = {{first.path(), "/in/there/", true}, {second.path(), "/made/for/it", false}};
  const auto tree = read_root(folder.path(), binds);
  EXPECT_EQ(names_of(*tree, "/in/there"), (std::vector<std::string>{".", "..", "f", "up"}));
  EXPECT_EQ(content_of(*tree, "/in/there/f"), "first");
  EXPECT_EQ(content_of(*tree, "/in/there/up"), "beside") << "paths go on in the root";
  EXPECT_EQ(content_of(*tree, "/made/for/it/deep/f"), "second");
  EXPECT_EQ(content_of(*tree, "/made/for/it/../../../in/beside"), "beside");
  const auto facts = [&](const char* path) { return tree->facts(static_cast<uint32_t>(tree->find(0, path, 0, ""))); };
  EXPECT_EQ(facts("/in/there/f").user, 1000u);
  EXPECT_EQ(facts("/in/there").user, 1000u);
  EXPECT_EQ(facts("/made/for/it/deep/f").user, 0u);
  EXPECT_EQ(facts("/made").user, 0u);
  EXPECT_EQ(facts("/in/there/f").mode, uint32_t{S_IFREG | 0640});
  EXPECT_EQ(facts("/tmp").mode, uint32_t{S_IFDIR | 01777});
  for (const char* place : {"", "there", "/", "/dev/x", "/proc", "/a/../b", "/in/beside/x"}) {
    const BoundFolder wrong = {first.path(), place, false};
    EXPECT_THROW(read_root(folder.path(), {&wrong, 1}), ArgumentError) << place;
  }
}

TEST(Root, RefusesWhatIsNoFolder) {
  RootFolder folder;
  folder.file("f", "");
  EXPECT_NE(error_of(folder.path("f")).find("cannot be opened as a root (Not a directory)"), std::string::npos);
  EXPECT_NE(error_of(folder.path("x")).find("give a folder"), std::string::npos);
  std::string deep = folder.path("deep");
  for (int i = 0; i < 201; i++) deep += "/d";
  std::filesystem::create_directories(deep);
  EXPECT_NE(error_of(folder.path()).find("nested more than 200 deep"), std::string::npos);
}

}  // namespace
}  // namespace myriarm
