// SPDX-License-Identifier: Apache-2.0
// The error numbers of Linux (errno(3), asm-generic/errno.h), under their own names: those of the host's C library are
// macros, and may differ.
#pragma once

#include "core/portable.h"

namespace myriarm::kernel {

// clang-format off
enum Errno : i32 {
  kEPERM = 1, kENOENT = 2, kESRCH = 3, kEINTR = 4, kEIO = 5, kENXIO = 6, kE2BIG = 7, kENOEXEC = 8, kEBADF = 9, kECHILD = 10, kEAGAIN = 11, kENOMEM = 12, kEACCES = 13,
  kEFAULT = 14, kEBUSY = 16, kEEXIST = 17, kEXDEV = 18, kENODEV = 19, kENOTDIR = 20,
  kEISDIR = 21, kEINVAL = 22, kENFILE = 23, kEMFILE = 24, kENOTTY = 25, kETXTBSY = 26, kEFBIG = 27, kENOSPC = 28,
  kESPIPE = 29, kEROFS = 30, kEPIPE = 32, kERANGE = 34, kEDEADLK = 35, kENAMETOOLONG = 36, kENOLCK = 37, kENOSYS = 38, kENOTEMPTY = 39, kELOOP = 40,
  kEOVERFLOW = 75, kELIBBAD = 80, kENOTSOCK = 88, kEMSGSIZE = 90, kEPROTOTYPE = 91, kENOPROTOOPT = 92, kEPROTONOSUPPORT = 93, kEOPNOTSUPP = 95,
  kEAFNOSUPPORT = 97, kESOCKTNOSUPPORT = 94, kECONNRESET = 104, kEISCONN = 106, kENOTCONN = 107, kECONNREFUSED = 111,
  kETIMEDOUT = 110,
};
// clang-format on

}  // namespace myriarm::kernel
