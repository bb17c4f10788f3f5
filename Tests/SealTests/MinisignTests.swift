// Keys and signatures as minisign(1) writes them.

import Seal
import Testing

@Suite("Minisign")
struct MinisignTests {
  // minisign prints the number with %PRIX64 (its minisign.c), which has no leading zeros: one key
  // in sixteen is shown with fewer than 16 digits.
  @Test(
    "A key's number is shown as minisign shows it, without leading zeros",
    arguments: [
      ([0xC1, 0x9F, 0x0C, 0xE1, 0xBD, 0xD8, 0xDD, 0x5B], "5BDDD8BDE10C9FC1"),
      ([0xC1, 0x9F, 0x0C, 0xE1, 0xBD, 0xD8, 0xDD, 0x0B], "BDDD8BDE10C9FC1"),
      ([0xC1, 0x9F, 0x0C, 0xE1, 0xBD, 0x08, 0x00, 0x00], "8BDE10C9FC1"),
      ([0, 0, 0, 0, 0, 0, 0, 0], "0"),
    ] as [([UInt8], String)])
  func number(_ keyID: [UInt8], _ shown: String) {
    #expect(MinisignKey.shown(keyID) == shown)
  }
}
