// Seals by generators that nobody here wrote: rcodesign's library (apple-platform-py) and ipasign.
//
// scripts/test puts both into .build/peers where the Python Package Index can be reached.
import Containers
import Foundation
import LinuxKit
import Store
import TestSupport
import Testing

private let interpreter = URL(filePath: #filePath).deletingLastPathComponent()
  .deletingLastPathComponent().deletingLastPathComponent()
  .appending(path: ".build/peers/bin/python").path

private let isReady = FileManager.default.isExecutableFile(atPath: interpreter)

@Suite(.enabled(if: isReady, "there are no other generators in .build/peers: see scripts/test"))
struct PeerSealTests {
  private func bundle(in directory: String, _ keys: [(String, String)]) throws -> SampleBundle {
    let bundle = try SampleBundle("Peer.app", in: directory)
    try bundle.write(
      SampleBundle.information([("CFBundleIdentifier", "com.example.Peer")] + keys).utf8,
      to: "Info.plist")
    try bundle.write([0x7f, 0x45, 0x4c, 0x46], to: "Peer", mode: 0o755)
    try bundle.write([UInt8](repeating: 66, count: 100_000), to: "data/b & <c> \u{e9}")
    try bundle.write([], to: "empty")
    try bundle.write([], to: "data/.DS_Store")
    try bundle.write("ciao".utf8, to: "it.lproj/x.strings")
    try bundle.write("base".utf8, to: "Base.lproj/x.strings")
    return bundle
  }

  private func python(_ program: String, _ arguments: [String]) throws {
    let outcome = try run(interpreter, ["-c", program] + arguments)
    if outcome.status != 0 { throw ProgramFailure(description: "\(outcome)") }
  }

  private func verdict(_ path: String) throws -> BundleVerdict {
    try BundleDirectory.open(Array(path.utf8)).verdict(trust: Trust(), isDeep: true)
  }

  @Test("What rcodesign seals is as it was sealed, and each of its digests is ours")
  func rcodesign() throws {
    try withTemporaryDirectory { directory in
      let ours = try bundle(in: directory, [("CFBundlePackageType", "BNDL")])
      try ours.link("alias", to: "data")
      let theirs = "\(directory)/Theirs.app"
      try python(
        "import sys, apple_platform as a; a.sign(*sys.argv[1:], timestamp_url='none')",
        [ours.path, theirs])
      let sealed = try verdict(theirs)
      #expect(sealed.state == .adHoc, "\(sealed.reasons) \(sealed.inspection.changed)")
      #expect(
        sealed.inspection.unsealed == [
          Array("Info.plist".utf8), Array("data/.DS_Store".utf8),
        ])
      _ = try BundleDirectory.open(Array(ours.path.utf8)).seal()
      try python(
        """
        import plistlib, sys
        ours, theirs = [plistlib.load(open(p + '/_CodeSignature/CodeResources', 'rb'))
                        for p in sys.argv[1:]]
        for book in 'files', 'files2':
            assert theirs[book]
            for path, entry in theirs[book].items():
                assert ours[book][path] == entry, path
        assert set(ours['files2']) - set(theirs['files2']) == {'Info.plist'}
        """, [ours.path, theirs])
      _ = try run(
        "sh",
        ["-c", "for file in \(theirs)/data/b*; do echo >> \"$file\"; done; rm \(theirs)/alias"])
      let changed = try verdict(theirs)
      #expect(changed.state == .modified)
      #expect(changed.inspection.changed == [Array("data/b & <c> \u{e9}".utf8)])
      #expect(changed.inspection.missing == [Array("alias".utf8)])
    }
  }

  @Test("What ipasign seals is as it was sealed, but for the executable that it leaves out")
  func ipasign() throws {
    try withTemporaryDirectory { directory in
      let bundle = try bundle(in: directory, [("CFBundleExecutable", "Peer")])
      try python(
        """
        import sys, pathlib, ipasign.bundle
        bundle = pathlib.Path(sys.argv[1])
        seal = ipasign.bundle.generate_code_resources(bundle, 'Peer')
        (bundle / '_CodeSignature').mkdir()
        (bundle / '_CodeSignature' / 'CodeResources').write_bytes(seal)
        """, [bundle.path])
      let sealed = try verdict(bundle.path)
      #expect(sealed.state == .adHoc, "\(sealed.reasons) \(sealed.inspection.changed)")
      #expect(sealed.inspection.unsealed.contains(Array("Peer".utf8)))
      try bundle.write("x".utf8, to: "empty")
      #expect(try verdict(bundle.path).inspection.changed == [Array("empty".utf8)])
    }
  }
}
