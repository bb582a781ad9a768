// SPDX-License-Identifier: Apache-2.0
#pragma once
// Files for .npy and .npz: reading at offsets with the size known, and writing that either happens
// whole or not at all (a temporary file beside the target, renamed when committed). Every failure
// is an IoError that names the file. Power loss is defended against where commit is told to: file
// and folder are then flushed to the disk.
//   FileWriter out(path);  out.write(bytes, n);  out.commit();

#include <string>

#include "tessera/base/api.hpp"

namespace tessera {

// Where a path leads, through links, also to a file that is not there yet.
std::string follow_links(const std::string& path);
// Gives a file the permissions of the old one, whose place it will take; nothing where there is none.
void keep_permissions(const std::string& old, const std::string& fresh);

class TESSERA_API FileReader {
 public:
  explicit FileReader(std::string path);
  ~FileReader();
  FileReader(const FileReader&) = delete;
  FileReader& operator=(const FileReader&) = delete;
  const std::string& path() const { return path_; }
  i64 size() const { return size_; }
  // Exactly n bytes; the range must lie within the size.
  void read(i64 offset, void* to, i64 n) const;

 private:
  std::string path_;
  int file_ = -1;
  i64 size_ = 0;
};

class FileWriter {
 public:
  explicit FileWriter(const std::string& path);
  ~FileWriter();  // without commit(): the target stays as it was
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;
  void write(const void* from, i64 n);
  void write_at(i64 offset, const void* from, i64 n);  // over bytes already written
  i64 written() const { return written_; }
  void commit(bool durable = false);

 private:
  void put(i64 offset, const void* from, i64 n);

  std::string path_;       // what the caller named, links followed
  std::string temporary_;  // empty: a device or pipe, written straight
  int file_ = -1;
  i64 written_ = 0;
};

}  // namespace tessera
