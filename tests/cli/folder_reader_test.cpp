// SPDX-License-Identifier: Apache-2.0
// FolderReader gives the files in the order of their names, whatever order its threads read them in, and holds no more
// bytes and files than it may.
#include "../../cli/folder_reader.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "myriarm/error.h"
#include "until.h"

namespace myriarm::cli {
namespace {

using std::chrono::milliseconds;
using test::until;

constexpr milliseconds kLong{600'000};

class Folder : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "folder_reader_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(path_); }

  void add(const std::string& name, const std::string& contents) {
    std::ofstream(path_ / name, std::ios::binary) << contents;
    names_.push_back(name);
  }
  FolderReader reader(const FolderReader::Options& options = {}) const {
    return FolderReader("--inputs", path_.string(), names_, options);
  }

  std::filesystem::path path_;
  std::vector<std::string> names_;
};

std::string text(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

TEST_F(Folder, FilesComeInTheOrderOfTheNames) {
  std::mt19937_64 random(1);
  std::vector<std::string> contents;
  for (int i = 0; i < 300; i++) {
    contents.emplace_back(random() % 10 == 0 ? random() % 500'000 : random() % 50, static_cast<char>('a' + i % 26));
    add(std::to_string(i), contents.back());
  }
  for (unsigned threads : {1u, 2u, 7u}) {
    for (uint64_t most : {uint64_t{0}, uint64_t{100'000}, uint64_t{1} << 30}) {
      FolderReader files = reader({threads, most, 20});
      for (size_t i = 0; i < contents.size(); i++) {
        const std::optional<FolderReader::File> file = files.take();
        ASSERT_TRUE(file.has_value());
        EXPECT_EQ(file->name, names_[i]);
        ASSERT_EQ(text(file->bytes), contents[i]);
      }
      EXPECT_FALSE(files.take().has_value());
      EXPECT_EQ(files.held_bytes(), 0u);
    }
  }
}

TEST_F(Folder, BytesAndFilesAheadAreBounded) {
  for (int i = 0; i < 50; i++) add(std::to_string(i), std::string(1000, 'x'));
  FolderReader by_bytes = reader({4, 10'000, 100});
  EXPECT_TRUE(by_bytes.is_ready(1000, kLong));
  // The threads read until they hold ten files of those that are left, and no more, or one more if it is the next.
  for (uint64_t left = 50; left != 0; left--) {
    until([&] { return by_bytes.held_bytes() >= std::min<uint64_t>(left, 10) * 1000; });
    EXPECT_LE(by_bytes.held_bytes(), 11'000u);
    EXPECT_LE(by_bytes.ready(), 11u);
    ASSERT_TRUE(by_bytes.take().has_value());
  }
  FolderReader by_files = reader({4, 1 << 30, 7});
  EXPECT_TRUE(by_files.is_ready(7000, kLong));
  until([&] { return by_files.ready() == 7; });
  EXPECT_EQ(by_files.held_bytes(), 7000u);
}

TEST_F(Folder, AFileLargerThanTheBoundIsReadAlone) {
  for (int i = 0; i < 6; i++) add(std::to_string(i), std::string(i % 2 == 0 ? 50'000 : 10, 'x'));
  FolderReader files = reader({3, 1000, 100});
  for (int i = 0; i < 6; i++) {
    EXPECT_EQ(files.take()->bytes.size(), i % 2 == 0 ? 50'000u : 10u);
    EXPECT_LE(files.held_bytes(), 50'000u + 1000);
  }
}

TEST_F(Folder, IsReadySaysWhatCanBeTaken) {
  for (int i = 0; i < 5; i++) add(std::to_string(i), std::string(100, 'x'));
  FolderReader files = reader();
  EXPECT_TRUE(files.is_ready(300, kLong));
  EXPECT_GE(files.ready(), 3u);
  EXPECT_TRUE(files.is_ready(1'000'000, kLong)) << "there are no more than five";
  EXPECT_EQ(files.ready(), 5u);
  while (files.take()) {
  }
  EXPECT_TRUE(files.is_ready(1, kLong));
  EXPECT_EQ(files.ready(), 0u);
}

TEST_F(Folder, AFileThatCannotBeReadIsTold) {
  add("a", "first");
  names_.push_back("b");  // not there
  add("c", "third");
  FolderReader files = reader();
  EXPECT_EQ(text(files.take()->bytes), "first");
  try {
    files.take();
    ADD_FAILURE() << "b is not there";
  } catch (const ArgumentError& error) {
    EXPECT_NE(std::string(error.what()).find("/b cannot be read (No such file"), std::string::npos) << error.what();
  }
  std::filesystem::resize_file(path_ / "a", (uint64_t{1} << 32) + 1);
  EXPECT_THROW(reader().take(), ArgumentError);
}

TEST_F(Folder, AFileWhoseSizeIsNotKnownIsReadToItsEnd) {
  const FolderReader::Options options;
  FolderReader files("--inputs", "/proc/self", {"status"}, options);
  EXPECT_NE(text(files.take()->bytes).find("Threads:"), std::string::npos);
}

TEST_F(Folder, ItCanBeLeftAtAnyTime) {
  for (int i = 0; i < 100; i++) add(std::to_string(i), std::string(5000, 'x'));
  for (int taken = 0; taken < 20; taken++) {
    FolderReader files = reader({3, 10'000, 100});
    for (int i = 0; i < taken; i++) ASSERT_TRUE(files.take().has_value());
  }
  FolderReader none("--inputs", path_.string(), {}, {});
  EXPECT_FALSE(none.take().has_value());
}

}  // namespace
}  // namespace myriarm::cli
