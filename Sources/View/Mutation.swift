// The wrapper around every system call that changes the backing store.
//
// A process may die between the call and its answer, and the kernel then asks another one again.
// What makes the repetition exact is the request's record in the arena: it says before the call
// that it is about to be made, and after it that it was.
import FuseKit
import LinuxKit

/// What a repeated request has to know about its first run.
enum Mutation {
  /// A name was made: the repetition finds it there.
  case makesName
  /// A name was removed: the repetition does not find it.
  ///
  /// Its inode is kept open.
  case removesName(Identity, CInt)
  /// A name was moved: the repetition finds the source's inode at the target.
  ///
  /// What was replaced is kept open; -1 if nothing was.
  case movesName(Identity, CInt)
  /// Attributes, xattrs or bytes were set: the repetition sets them again.
  case setsValue
}

extension ViewFileSystem {
  /// Runs a system call that changes the backing store.
  @inline(__always)
  func mutate<Result: ~Copyable>(
    _ mutation: Mutation, _ call: () throws(Errno) -> Result
  ) throws(Errno) -> Result {
    let record = RequestRecord.current
    switch mutation {
    case .makesName, .setsValue: break
    case .removesName(let identity, let descriptor), .movesName(let identity, let descriptor):
      record.note(
        device: identity.device, inode: identity.inode,
        birthNanoseconds: identity.birthNanoseconds)
      record.descriptor = descriptor
    }
    FaultPoint.beforeRecord.pass()
    record.begin()
    FaultPoint.beforeCall.pass()
    let result: Result
    do throws(Errno) {
      result = try call()
    } catch {
      // Before the descriptor is closed, which its owner does next.
      record.descriptor = -1
      // Of a repeated request the first run may have succeeded, and this be how it shows.
      if !RequestRecord.isRepeated { record.failed() }
      throw error
    }
    FaultPoint.afterCall.pass()
    record.executed()
    FaultPoint.afterRecord.pass()
    return result
  }

  /// Runs a call of which `error` says, where the request is repeated, that it was made before.
  @inline(__always)
  func once(_ error: Errno, _ call: () throws(Errno) -> Void) throws(Errno) {
    let failure: Errno
    do throws(Errno) {
      return try call()
    } catch {
      failure = error
    }
    guard failure == error, RequestRecord.isRepeated else { throw failure }
  }
}

extension RequestRecord {
  /// What the name meant that was moved or removed.
  var notedIdentity: Identity {
    let (device, inode, birthNanoseconds) = identity
    return Identity(device: device, inode: inode, birthNanoseconds: birthNanoseconds)
  }

  /// Gives the descriptor that was kept to the caller, who has a place for it; nil if there is
  /// none.
  func takeDescriptor() -> Descriptor? {
    guard descriptor >= 0 else { return nil }
    return Descriptor(owning: descriptor)
  }
}

#if DEBUG
  extension ViewFileSystem {
    /// Fails where the name is one that says so, in a build that injects faults and was told to.
    @inline(never)
    func meet(_ name: Name) {
      guard FaultInjection.meet(name.cString) == .damage else { return }
      arena.header.pointee.layoutVersion = 0
      FaultInjection.die()
    }
  }
#endif

/// Places at which a build for fault injection may kill itself.
enum FaultPoint: Int {
  case beforeRecord
  case beforeCall
  case afterCall
  case afterRecord
  case beforeAnswer
  case insideTable

  /// Ends the process here, if this build injects faults and was told to at this place.
  @inline(__always)
  func pass() {
    #if DEBUG
      if FaultInjection.onlyPlace == rawValue && !RequestRecord.isRepeated { FaultInjection.die() }
      FaultInjection.reached(rawValue)
    #endif
  }

  /// Ends the process at this step of a change of limits, if this build injects faults and was told
  /// to.
  static func change(_ step: Int) {
    #if DEBUG
      if FaultInjection.changeStep == step { FaultInjection.die() }
      insideTable.pass()
    #endif
  }
}
