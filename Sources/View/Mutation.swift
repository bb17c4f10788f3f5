// The wrapper around every system call that changes the backing store.
//
// A daemon may die between the call and its answer, and the kernel then asks again. What makes the
// repetition exact is a record of the operation, kept around the call: these are the places for it.
// Until it is kept, the wrapper is inlined to nothing.
import LinuxKit

/// What a repeated request would have to know about its first run.
enum Mutation {
  /// A name was made: the repetition finds it there.
  case makesName
  /// A name was removed: the repetition does not find it.
  case removesName
  /// A name was moved: the repetition finds the source's inode at the target.
  case movesName(Identity)
  /// Attributes, xattrs or bytes were set: the repetition sets them again.
  case setsValue
}

extension ViewFileSystem {
  /// Runs a system call that changes the backing store.
  @inline(__always)
  func mutate<Result: ~Copyable>(
    _ mutation: Mutation, _ call: () throws(Errno) -> Result
  ) throws(Errno) -> Result {
    FaultPoint.beforeCall.pass()
    let result = try call()
    FaultPoint.afterCall.pass()
    return result
  }
}

/// Places at which a build for fault injection may kill itself.
enum FaultPoint: Int {
  case beforeCall
  case afterCall

  /// Ends the process here, if this build injects faults and was told to at this place.
  @inline(__always)
  func pass() {
    #if FAULT_INJECTION
      FaultInjection.reached(rawValue)
    #endif
  }
}
