// SPDX-License-Identifier: Apache-2.0
#include "kernel_machine.h"

namespace myriarm::test {

template <u32 kTeam>
kernel::Result KernelMachine<kTeam>::serve_attempt() {
  return kernel::serve(*this);
}
template <u32 kTeam>
kernel::Result KernelMachine<kTeam>::deliver_attempt() {
  return kernel::deliver(*this);
}
template <u32 kTeam>
kernel::Result KernelMachine<kTeam>::deliver_fault_attempt(const StopRecord& stop) {
  return kernel::deliver_fault(*this, stop);
}

template class KernelMachine<1>;
template class KernelMachine<2>;

}  // namespace myriarm::test
