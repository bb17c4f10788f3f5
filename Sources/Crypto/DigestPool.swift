// Digests that are made once and used again, for threads that may not allocate.

internal import CCrypto
internal import LinuxKit
internal import Synchronization

/// Contexts for SHA-256, each used by one thread at a time.
public final class DigestPool: @unchecked Sendable {
  private static let capacity = 64

  private let contexts: UnsafeMutablePointer<OpaquePointer>
  /// A bit for each context that is free.
  private let free = Atomic<UInt64>(.max)

  /// A pool for as many threads as use it at once, up to 64; more wait for each other.
  public init() throws(CryptoError) {
    contexts = .allocate(capacity: Self.capacity)
    for index in 0..<Self.capacity {
      guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1
      else { throw .unavailable }
      contexts[index] = context
    }
  }

  deinit {
    for index in 0..<Self.capacity { EVP_MD_CTX_free(contexts[index]) }
    contexts.deallocate()
  }

  /// Whether the SHA-256 of some bytes is this one, of 32 bytes.
  ///
  /// Nothing is allocated.
  public func matches(_ digest: UnsafeRawPointer, of bytes: UnsafeRawBufferPointer) -> Bool {
    let index = take()
    defer { free.bitwiseOr(1 << UInt64(index), ordering: .releasing) }
    let context = contexts[index]
    var found: [32 of UInt8] = .init(repeating: 0)
    return withUnsafeMutableBytes(of: &found) { found in
      let result = found.baseAddress?.assumingMemoryBound(to: UInt8.self)
      // What failed matches nothing.
      guard EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1,
        EVP_DigestFinal_ex(context, result, nil) == 1,
        EVP_DigestInit_ex(context, nil, nil) == 1
      else { return false }
      return CRYPTO_memcmp(found.baseAddress, digest, found.count) == 0
    }
  }

  private func take() -> Int {
    var tries = 0
    while true {
      let bits = free.load(ordering: .relaxed)
      let index = bits.trailingZeroBitCount
      guard index < Self.capacity else {
        tries += 1
        Pause.yield(tries)
        continue
      }
      let taken = free.weakCompareExchange(
        expected: bits, desired: bits & ~(1 << UInt64(index)), ordering: .acquiring)
      if taken.exchanged { return index }
    }
  }
}
