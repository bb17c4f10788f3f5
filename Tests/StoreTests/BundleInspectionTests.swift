// A bundle beside its seal, with every way in which it can differ.
import Glibc
import LinuxKit
import Seal
import Store
import TestSupport
import Testing

private func inspected(
  _ bundle: SampleBundle, digests: BundleDigests = []
) throws -> BundleInspection {
  try BundleInspection(
    of: try Walker.open(path: Array(bundle.path.utf8)), called: Array("Notes.app".utf8),
    digests: digests)
}

/// Base64 of a digest that another program computed.
private func digest(_ algorithm: String, of path: String) throws -> String {
  let outcome = try run(
    "sh", ["-c", "openssl dgst -\(algorithm) -binary \"$1\" | base64 -w0", "sh", path])
  return String(decoding: outcome.output, as: UTF8.self)
}

private func paths(_ names: String...) -> [[UInt8]] { names.map { Array($0.utf8) } }

@Suite struct BundleInspectionTests {
  /// A bundle whose seal was written by hand, with digests that openssl computed.
  private static func withSealed(_ body: (SampleBundle) throws -> Void) throws {
    try withTemporaryDirectory { directory in
      let bundle = try SampleBundle.flat(in: directory)
      try bundle.write([UInt8](repeating: 65, count: 200_000), to: "data/big")
      try bundle.write([], to: "data/empty")
      try bundle.link("alias", to: "data/big")
      var entries = ""
      for name in ["Info.plist", "Notes", "data/big", "data/empty"] {
        let value = try digest("sha256", of: "\(bundle.path)/\(name)")
        entries += "<key>\(name)</key><dict><key>hash2</key><data>\(value)</data></dict>"
      }
      entries += "<key>alias</key><dict><key>symlink</key><string>data/big</string></dict>"
      try seal(bundle, entries)
      try body(bundle)
    }
  }

  private static func seal(_ bundle: SampleBundle, _ entries: String) throws {
    let rules = """
      <key>^.*</key><true/>
      <key>^(.*/)?\\.DS_Store$</key>
      <dict><key>omit</key><true/><key>weight</key><real>2000</real></dict>
      """
    let text = """
      <plist><dict>
      <key>files2</key><dict>\(entries)</dict>
      <key>rules2</key><dict>\(rules)</dict>
      </dict></plist>
      """
    try bundle.write(text.utf8, to: "_CodeSignature/CodeResources")
  }

  @Test("A bundle as it was sealed is intact, and every file has the digests of its bytes")
  func intact() throws {
    try Self.withSealed { bundle in
      let found = try inspected(bundle, digests: [.chunks, .sha1])
      #expect(found.isIntact && found.unsealed.isEmpty && !found.hasWeakDigests)
      #expect(
        found.executable == Array("Notes".utf8) && found.information == Array("Info.plist".utf8))
      #expect(
        found.files.map(\.path)
          == paths("Info.plist", "Notes", "_CodeSignature/CodeResources", "data/big", "data/empty"))
      let big = try #require(found.files.first { $0.path == Array("data/big".utf8) })
      #expect(big.digests.byteCount == 200_000 && big.digests.chunks.count == 4 * 32)
      let wanted = try run(
        "sh",
        [
          "-c",
          "for i in 0 1 2 3; do dd if=\"$1\" bs=65536 skip=$i count=1 status=none | openssl dgst -sha256 -binary; done",
          "sh", "\(bundle.path)/data/big",
        ])
      #expect(big.digests.chunks == wanted.output)
      #expect(found.files.first { $0.path == Array("data/empty".utf8) }?.digests.chunks == [])
    }
  }

  @Test("Files of every size are hashed right, however many threads share them")
  func sizes() throws {
    try withTemporaryDirectory { directory in
      let bundle = try SampleBundle.flat(in: directory)
      let made = try run(
        "bash",
        [
          "-ec",
          """
          cd '\(bundle.path)'; mkdir data
          seq 2000000 > all
          for size in 0 1 65535 65536 65537 1048575 1048576 1048577 4194304 4194305; do
            head -c $size all > data/$size
          done
          rm all
          for file in data/*; do
            split -b 65536 --filter='openssl dgst -sha256 -binary' $file > ../${file##*/}.chunks
            openssl dgst -sha1 -binary $file > ../${file##*/}.sha1
            openssl dgst -sha256 -binary $file > ../${file##*/}.sha256
          done
          """,
        ])
      try #require(made.status == 0, "\(made.errorText)")
      let all: BundleDigests = [.sha1, .sha256, .chunks]
      for asked in [.sha1, .sha256, .chunks, all] {
        let found = try inspected(bundle, digests: asked).files.filter {
          $0.path.starts(with: "data/".utf8)
        }
        #expect(found.count == 10)
        for file in found {
          let name = String(decoding: file.path.dropFirst(5), as: UTF8.self)
          let digests = file.digests
          #expect(digests.byteCount == Int64(name))
          for (kind, kindName, digest) in [
            (.sha1, "sha1", digests.sha1), (.sha256, "sha256", digests.sha256),
            (BundleDigests.chunks, "chunks", digests.chunks),
          ] {
            let wanted = try Descriptor.open("\(directory)/\(name).\(kindName)", O_RDONLY)
              .readToEnd(atMost: 1 << 20)
            #expect(digest == (asked.contains(kind) ? wanted : []), "\(kindName) of \(name)")
          }
        }
      }
    }
  }

  @Test("However many large files there are, few are open at once")
  func openFiles() throws {
    try withTemporaryDirectory { directory in
      _ = try SampleBundle.flat(in: directory)
      let outcome = try run(
        "bash",
        [
          "-ec",
          """
          cd '\(directory)'; for n in {1..200}; do truncate -s 1100000 Notes.app/$n; done
          ulimit -n 40
          '\(BuiltPrograms.path("sandboxfs"))' seal Notes.app
          '\(BuiltPrograms.path("sandboxfs"))' verify Notes.app
          """,
        ])
      #expect(outcome.text == "sealed Notes.app: 202 files\nNotes.app: ad hoc\n")
      #expect(outcome.errorText == "")
    }
  }

  @Test("A bundle without a seal is not intact, and its files are read if they are asked for")
  func unsealed() throws {
    try withTemporaryDirectory { directory in
      let bundle = try SampleBundle.flat(in: directory)
      #expect(try inspected(bundle).sealBytes == nil)
      #expect(try inspected(bundle).files.isEmpty)
      #expect(try inspected(bundle, digests: .chunks).files.count == 2)
    }
  }

  struct Change: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let make: @Sendable (SampleBundle) throws -> Void
    var changed: [String] = []
    var missing: [String] = []
    var added: [String] = []
    var unsealed: [String] = []

    init(
      _ label: String, changed: [String] = [], missing: [String] = [], added: [String] = [],
      unsealed: [String] = [], _ make: @escaping @Sendable (SampleBundle) throws -> Void
    ) {
      testDescription = label
      self.changed = changed
      self.missing = missing
      self.added = added
      self.unsealed = unsealed
      self.make = make
    }
  }

  private static func shell(_ bundle: SampleBundle, _ command: String) throws {
    #expect(try run("sh", ["-ec", "cd \"$1\"; \(command)", "sh", bundle.path]).status == 0)
  }

  @Test(
    "Every change is found and named",
    arguments: [
      Change("a byte in the last chunk", changed: ["data/big"]) {
        try shell($0, "printf B | dd of=data/big bs=1 seek=199999 conv=notrunc status=none")
      },
      Change("a byte in the first chunk, times put back", changed: ["data/big"]) {
        try shell(
          $0,
          "touch -r data/big t; printf B | dd of=data/big bs=1 conv=notrunc status=none; touch -r t data/big; rm t"
        )
      },
      Change("cut short", changed: ["data/big"]) { try shell($0, "truncate -s 199999 data/big") },
      Change("made longer", changed: ["data/empty"]) { try shell($0, "printf x >> data/empty") },
      Change("two files exchanged", changed: ["Info.plist", "Notes"]) {
        try shell($0, "mv Notes n; mv Info.plist Notes; mv n Info.plist")
      },
      Change("a link to the same bytes", changed: ["data/big"]) {
        try shell($0, "mv data/big ../big; ln -s ../../big data/big")
      },
      Change("a link that leads elsewhere", changed: ["alias"]) {
        try shell($0, "ln -sf data/empty alias")
      },
      Change("a file where a link was", changed: ["alias"]) {
        try shell($0, "rm alias; cp data/big alias")
      },
      Change("a file more", added: ["data/new"]) { try shell($0, "echo > data/new") },
      Change("a link more", added: ["data/new"]) { try shell($0, "ln -s big data/new") },
      Change("a pipe", added: ["data/new"]) { try shell($0, "mkfifo data/new") },
      Change("a file less", missing: ["data/empty"]) { try shell($0, "rm data/empty") },
      Change("another name", missing: ["data/empty"], added: ["data/Empty"]) {
        try shell($0, "mv data/empty data/Empty")
      },
      Change("a second name", added: ["data/second"]) { try shell($0, "ln data/big data/second") },
      Change("what a rule omits", unsealed: ["data/.DS_Store"]) {
        try shell($0, "echo > data/.DS_Store")
      },
      Change("a file beside the seal", added: ["_CodeSignature/run.so"]) {
        try shell($0, "echo > _CodeSignature/run.so")
      },
      Change("no seal any more", changed: ["_CodeSignature/CodeResources"]) {
        try shell($0, "echo '<plist><dict/></plist>' > _CodeSignature/CodeResources")
      },
      Change("an empty directory, which no seal covers") { try shell($0, "mkdir data/empty.d") },
    ])
  func changes(_ change: Change) throws {
    try Self.withSealed { bundle in
      try change.make(bundle)
      let found = try inspected(bundle)
      #expect(found.changed.map { String(decoding: $0, as: UTF8.self) } == change.changed)
      #expect(found.missing.map { String(decoding: $0, as: UTF8.self) } == change.missing)
      #expect(found.added.map { String(decoding: $0, as: UTF8.self) } == change.added)
      #expect(found.unsealed.map { String(decoding: $0, as: UTF8.self) } == change.unsealed)
      let isChanged = !(change.changed + change.missing + change.added).isEmpty
      #expect(found.isIntact == !isChanged)
    }
  }

  @Test("A rule that is no pattern makes a seal that can't be read, and not a crash")
  func brokenRule() throws {
    try withTemporaryDirectory { directory in
      let bundle = try SampleBundle.flat(in: directory)
      let text = """
        <plist><dict><key>files2</key><dict/>
        <key>rules2</key><dict><key>[z-a]</key><true/></dict></dict></plist>
        """
      try bundle.write(text.utf8, to: "_CodeSignature/CodeResources")
      let found = try inspected(bundle)
      #expect(!found.isIntact)
      #expect(found.sealMistake == "the rule '[z-a]' is no regular expression")
    }
  }

  @Test("A nested bundle is checked by its own seal, and one without is not what was sealed")
  func nested() throws {
    try withTemporaryDirectory { directory in
      let bundle = try SampleBundle.flat(in: directory)
      let zero = "AAAAAAAAAAAAAAAAAAAAAAAAAAA="
      try bundle.write("lib".utf8, to: "Frameworks/A.framework/A")
      let inner = SampleBundle(of: "\(bundle.path)/Frameworks/A.framework")
      let lib = try digest("sha256", of: "\(inner.path)/A")
      var entries =
        "<key>Frameworks/A.framework</key><dict><key>cdhash</key><data>\(zero)</data></dict>"
      for name in ["Info.plist", "Notes"] {
        let value = try digest("sha256", of: "\(bundle.path)/\(name)")
        entries += "<key>\(name)</key><dict><key>hash2</key><data>\(value)</data></dict>"
      }
      try Self.seal(bundle, entries)
      #expect(try inspected(bundle).changed == paths("Frameworks/A.framework"))
      try Self.seal(inner, "<key>A</key><dict><key>hash2</key><data>\(lib)</data></dict>")
      let intact = try inspected(bundle)
      #expect(intact.isIntact && intact.code == paths("Frameworks/A.framework"))
      #expect(intact.files.contains { $0.path == Array("Frameworks/A.framework/A".utf8) })
      try inner.write("lab".utf8, to: "A")
      #expect(try inspected(bundle).changed == paths("Frameworks/A.framework/A"))
    }
  }

  @Test("Where a bundle is sealed in Contents, nothing may lie beside")
  func deep() throws {
    try withTemporaryDirectory { directory in
      let bundle = try SampleBundle("Deep.app", in: directory)
      try bundle.write("x".utf8, to: "Contents/Resources/x")
      let value = try digest("sha1", of: "\(bundle.path)/Contents/Resources/x")
      let text =
        "<plist><dict><key>files</key><dict><key>Resources/x</key><data>\(value)</data></dict><key>rules</key><dict><key>^Resources/</key><true/></dict></dict></plist>"
      try bundle.write(text.utf8, to: "Contents/_CodeSignature/CodeResources")
      let found = try inspected(bundle)
      #expect(found.isIntact && found.hasWeakDigests && found.sealPrefix == Array("Contents/".utf8))
      try bundle.write("y".utf8, to: "beside")
      try bundle.write("y".utf8, to: "Contents/Resources/more")
      #expect(try inspected(bundle).added == paths("Contents/Resources/more", "beside"))
    }
  }
}
