// SPDX-License-Identifier: Apache-2.0
// Writes the files that --collect takes out of lanes.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "myriarm/linux.h"

namespace myriarm::cli {

/// Writes files to DIR/<number>/<their path in the guest>. Links are written as links; on the host nothing is followed, and what
/// is there under these names is replaced. Throws Error if a file cannot be written, and names on standard error files that
/// were left out.
void write_collected(const std::string& folder, uint64_t number, std::span<const CollectedFile> files);

/// The same for paths of all lanes, as they are now.
void write_collected(const std::string& folder, const LinuxFleet& machine, uint64_t lanes,
                     std::span<const std::string> paths);

/// What --bind gives: HOST:GUEST, HOST:GUEST:ro or HOST:GUEST:rw.
BoundFolder parse_bind(const std::string& text);

}  // namespace myriarm::cli
