// The command about what a mounted container may hold, and holds.
//
// {"command":"quota"} is answered by a line for each book that is kept, and a last one with
// "status". With "count" each line also says what a count says; with "repair" the books say so from
// then on. With "set" the container's own limits become "bytes", "entries" and "soft", of which
// those that are not there are none.
import Accounting
import Containers
import FuseKit
import LinuxKit
import View

extension LivePolicy {
  /// Answers the command.
  func answerAboutLimits(_ request: [String: [UInt8]]) -> [UInt8] {
    do throws(Errno) {
      if request["set"] != nil {
        guard let limits = ContainerLimits(request) else {
          return ControlAnswer.refusal("expected whole numbers as \"bytes\", \"entries\", \"soft\"")
        }
        try setLimits(limits)
      }
      let isRepair = request["repair"] != nil
      let reports = try reports(counting: isRepair || request["count"] != nil, repairing: isRepair)
      let notes = request["set"] == nil || reports.isEmpty ? [] : noteOfKeptWrites
      return reports.flatMap(\.line) + notes + ControlAnswer.done
    } catch {
      return ControlAnswer.refusal("what the container holds can't be counted: \(error.message)")
    }
  }
}

extension LivePolicy {
  /// Where the kernel keeps what is written, a limit is met when it writes it, and nobody is told.
  private var noteOfKeptWrites: [UInt8] {
    guard transfer == "writeback" else { return [] }
    return ControlAnswer.note(
      "the kernel keeps what is written until the next mount: the limit holds from then on")
  }
}

extension ContainerLimits {
  fileprivate init?(_ request: [String: [UInt8]]) {
    var limits: [UInt64?] = []
    for name in ["bytes", "entries", "soft"] {
      guard let text = request[name] else {
        limits.append(nil)
        continue
      }
      guard let number = UInt64(String(decoding: text, as: UTF8.self)) else { return nil }
      limits.append(number)
    }
    self.init(byteCount: limits[0], entryCount: limits[1], softByteCount: limits[2])
  }
}

extension BookReport {
  /// A line for whoever asked.
  fileprivate var line: [UInt8] {
    var object = FlatObjectWriter()
    object.add("book", (rule ?? "container").utf8)
    object.add("bytes", Int(clamping: used.bytes))
    object.add("entries", Int(clamping: used.entries))
    add("byteLimit", byteLimit, to: &object)
    add("entryLimit", entryLimit, to: &object)
    add("softLimit", softLimit, to: &object)
    if let counted {
      object.add("countedBytes", Int(clamping: counted.bytes))
      object.add("countedEntries", Int(clamping: counted.entries))
    }
    return object.line + [UInt8(ascii: "\n")]
  }

  private func add(_ name: StaticString, _ limit: UInt64?, to object: inout FlatObjectWriter) {
    if let limit { object.add(name, Int(clamping: limit)) }
  }
}
