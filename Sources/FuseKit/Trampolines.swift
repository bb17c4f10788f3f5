// libfuse's callbacks: each unwraps its arguments and calls the file system's method.
//
// Unwrapping is safe by libfuse's contract: requests, names and buffers are never null, and
// `fuse_file_info` is null only where its opcode may come without an open file.
internal import CFuse3
internal import Glibc
internal import LinuxKit

/// Calls the file system behind `request`, which `Session` keeps alive until the loop has ended: no
/// reference is counted.
@inline(__always)
private func withFileSystem(
  _ request: fuse_req_t?, _ body: (FileSystem, Request, consuming Reply) -> Void
) {
  let raw = request.unsafelyUnwrapped
  let owner = cfuse_context_of(raw).unsafelyUnwrapped.pointee.owner.unsafelyUnwrapped
  Unmanaged<FileSystem>.fromOpaque(owner)._withUnsafeGuaranteedRef { fileSystem in
    let request = Request(raw)
    body(fileSystem, request, Reply(request))
  }
}

@inline(__always)
private func name(_ pointer: UnsafePointer<CChar>?) -> Name { Name(pointer.unsafelyUnwrapped) }

@inline(__always)
private func handle(_ info: UnsafeMutablePointer<fuse_file_info>?) -> HandleID {
  HandleID(info.unsafelyUnwrapped.pointee.fh)
}

@inline(__always)
private func bytes(_ pointer: UnsafePointer<CChar>?, _ count: Int) -> UnsafeRawBufferPointer {
  UnsafeRawBufferPointer(start: pointer, count: count)
}

/// The table that libfuse calls.
func operations() -> fuse_lowlevel_ops {
  var table = fuse_lowlevel_ops()
  setNames(&table)
  setFiles(&table)
  setDirectories(&table)
  setAttributes(&table)
  return table
}

private func setNames(_ table: inout fuse_lowlevel_ops) {
  table.`init` = { context, connection in
    let context = context.unsafelyUnwrapped.assumingMemoryBound(to: cfuse_context.self)
    guard cfuse_negotiate(context, connection) != 0 else { return }
    let owner = context.pointee.owner.unsafelyUnwrapped
    let agreeable = context.pointee.agreeable_flags
    var terms = Connection(
      connection.unsafelyUnwrapped, passesThrough: agreeable & CFUSE_PASSTHROUGH != 0)
    Unmanaged<FileSystem>.fromOpaque(owner).takeUnretainedValue().negotiate(&terms)
  }
  table.lookup = { request, parent, entry in
    withFileSystem(request) { $0.lookup($1, NodeID(UInt64(parent)), name(entry), $2) }
  }
  table.forget = { request, node, count in
    withFileSystem(request) { fileSystem, _, reply in
      cfuse_note_forgotten()
      fileSystem.forget(NodeID(UInt64(node)), count)
      reply.none()
    }
  }
  table.forget_multi = { request, count, forgets in
    withFileSystem(request) { fileSystem, _, reply in
      for index in 0..<count {
        let forget = forgets.unsafelyUnwrapped[index]
        cfuse_note_forgotten()
        fileSystem.forget(NodeID(forget.ino), forget.nlookup)
      }
      reply.none()
    }
  }
  table.mknod = { request, parent, entry, mode, device in
    withFileSystem(request) {
      $0.makeNode($1, NodeID(UInt64(parent)), name(entry), mode, UInt64(device), $2)
    }
  }
  table.mkdir = { request, parent, entry, mode in
    withFileSystem(request) { $0.makeDirectory($1, NodeID(UInt64(parent)), name(entry), mode, $2) }
  }
  table.unlink = { request, parent, entry in
    withFileSystem(request) { $0.unlink($1, NodeID(UInt64(parent)), name(entry), $2) }
  }
  table.rmdir = { request, parent, entry in
    withFileSystem(request) { $0.removeDirectory($1, NodeID(UInt64(parent)), name(entry), $2) }
  }
  table.symlink = { request, target, parent, entry in
    withFileSystem(request) {
      $0.symbolicLink(
        $1, target.unsafelyUnwrapped, NodeID(UInt64(parent)), name(entry), $2)
    }
  }
  table.rename = { request, parent, entry, newParent, newEntry, flags in
    withFileSystem(request) {
      $0.rename(
        $1, NodeID(UInt64(parent)), name(entry), NodeID(UInt64(newParent)), name(newEntry), flags,
        $2)
    }
  }
  table.link = { request, node, parent, entry in
    withFileSystem(request) {
      $0.link($1, NodeID(UInt64(node)), NodeID(UInt64(parent)), name(entry), $2)
    }
  }
}

private func setFiles(_ table: inout fuse_lowlevel_ops) {
  table.open = { request, node, info in
    let flags = info.unsafelyUnwrapped.pointee.flags
    withFileSystem(request) { $0.open($1, NodeID(UInt64(node)), flags, $2) }
  }
  table.create = { request, parent, entry, mode, info in
    let flags = info.unsafelyUnwrapped.pointee.flags
    withFileSystem(request) {
      $0.create($1, NodeID(UInt64(parent)), name(entry), mode, flags, $2)
    }
  }
  table.read = { request, node, count, offset, info in
    withFileSystem(request) {
      $0.read($1, NodeID(UInt64(node)), handle(info), Int64(offset), count, $2)
    }
  }
  table.write = { request, node, buffer, count, offset, info in
    withFileSystem(request) {
      $0.write(
        $1, NodeID(UInt64(node)), handle(info), bytes(buffer, count), Int64(offset), $2)
    }
  }
  table.flush = { request, node, info in
    withFileSystem(request) { $0.flush($1, NodeID(UInt64(node)), handle(info), $2) }
  }
  table.release = { request, node, info in
    withFileSystem(request) { $0.release($1, NodeID(UInt64(node)), handle(info), $2) }
  }
  table.fsync = { request, node, dataOnly, info in
    withFileSystem(request) {
      $0.synchronize($1, NodeID(UInt64(node)), handle(info), dataOnly != 0, $2)
    }
  }
  table.fallocate = { request, node, mode, offset, length, info in
    withFileSystem(request) {
      $0.allocate(
        $1, NodeID(UInt64(node)), handle(info), mode, Int64(offset), Int64(length), $2)
    }
  }
  table.copy_file_range = {
    request, source, from, sourceInfo, target, to, targetInfo, count, flags in
    withFileSystem(request) {
      $0.copyRange(
        $1, (NodeID(UInt64(source)), handle(sourceInfo), Int64(from)),
        (NodeID(UInt64(target)), handle(targetInfo), Int64(to)), count,
        UInt32(bitPattern: flags), $2)
    }
  }
  table.lseek = { request, node, offset, whence, info in
    withFileSystem(request) {
      $0.seek($1, NodeID(UInt64(node)), handle(info), Int64(offset), whence, $2)
    }
  }
}

private func setDirectories(_ table: inout fuse_lowlevel_ops) {
  table.opendir = { request, node, _ in
    withFileSystem(request) { $0.openDirectory($1, NodeID(UInt64(node)), $2) }
  }
  table.readdir = { request, node, count, offset, info in
    withFileSystem(request) {
      $0.readDirectory(
        $1, NodeID(UInt64(node)), handle(info), Int64(offset), count, false, $2)
    }
  }
  table.readdirplus = { request, node, count, offset, info in
    withFileSystem(request) {
      $0.readDirectory(
        $1, NodeID(UInt64(node)), handle(info), Int64(offset), count, true, $2)
    }
  }
  table.releasedir = { request, node, info in
    withFileSystem(request) { $0.releaseDirectory($1, NodeID(UInt64(node)), handle(info), $2) }
  }
  table.fsyncdir = { request, node, dataOnly, info in
    withFileSystem(request) {
      $0.synchronizeDirectory($1, NodeID(UInt64(node)), handle(info), dataOnly != 0, $2)
    }
  }
  table.statfs = { request, node in
    withFileSystem(request) { $0.fileSystemStatus($1, NodeID(UInt64(node)), $2) }
  }
}

private func setAttributes(_ table: inout fuse_lowlevel_ops) {
  table.getattr = { request, node, info in
    withFileSystem(request) {
      $0.getAttributes($1, NodeID(UInt64(node)), info.map { HandleID($0.pointee.fh) }, $2)
    }
  }
  table.setattr = { request, node, attributes, changes, info in
    withFileSystem(request) {
      $0.setAttributes(
        $1, NodeID(UInt64(node)), attributes.unsafelyUnwrapped.pointee,
        AttributeChanges(rawValue: changes), info.map { HandleID($0.pointee.fh) }, $2)
    }
  }
  table.readlink = { request, node in
    withFileSystem(request) { $0.readLink($1, NodeID(UInt64(node)), $2) }
  }
  table.setxattr = { request, node, attribute, value, count, flags in
    withFileSystem(request) {
      $0.setExtendedAttribute(
        $1, NodeID(UInt64(node)), attribute.unsafelyUnwrapped, bytes(value, count),
        flags & ~CFUSE_SETXATTR_ACL_KILL_SGID,
        clearsSetGroupID: flags & CFUSE_SETXATTR_ACL_KILL_SGID != 0, $2)
    }
  }
  table.getxattr = { request, node, attribute, count in
    withFileSystem(request) {
      $0.getExtendedAttribute($1, NodeID(UInt64(node)), attribute.unsafelyUnwrapped, count, $2)
    }
  }
  table.listxattr = { request, node, count in
    withFileSystem(request) { $0.listExtendedAttributes($1, NodeID(UInt64(node)), count, $2) }
  }
  table.removexattr = { request, node, attribute in
    withFileSystem(request) {
      $0.removeExtendedAttribute($1, NodeID(UInt64(node)), attribute.unsafelyUnwrapped, $2)
    }
  }
}
