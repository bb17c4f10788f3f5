// What install makes of seals, and what it refuses.
import Containers
import LinuxKit
import Paths
import Store
import TestSupport
import Testing

@Suite struct SealedInstallTests {
  private func shell(_ script: String, in directory: String) throws {
    let outcome = try run("bash", ["-c", "set -eu; umask 022; cd \(directory); \(script)"])
    if outcome.status != 0 { throw ProgramFailure(description: "\(outcome)") }
  }

  private func sign(_ bundle: SampleBundle, in directory: String) throws {
    try DeveloperKey.create(
      key: Array("\(directory)/key".utf8), certificate: Array("\(directory)/pem".utf8),
      name: "Jane", days: 2)
    let identity = try SigningIdentity(
      key: Array("\(directory)/key".utf8), certificate: Array("\(directory)/pem".utf8))
    _ = try BundleDirectory.open(Array(bundle.path.utf8)).seal(identity: identity)
  }

  @discardableResult
  private func install(
    _ bundle: SampleBundle, in store: Store, requiring requirement: SealRequirement? = nil
  ) throws -> ContainerRecord {
    let report = try store.install(
      from: Array(bundle.path.utf8), options: InstallOptions(requirement: requirement))
    let record = try store.container(report.identifier).record
    #expect(record.sealState == report.sealState)
    return record
  }

  private func refusal(_ body: () throws -> Void) -> String {
    let error = #expect(throws: StoreError.self) { try body() }
    return error?.message ?? ""
  }

  @Test("What is not sealed is sealed in the store, and what the bundle was stays as it was")
  func unsigned() throws {
    try withStore { store, directory in
      let bundle = try SampleBundle.flat(in: directory)
      #expect(try install(bundle, in: store).sealState == .adHoc)
      try shell("[ ! -e Notes.app/_CodeSignature ]", in: directory)
      let identifier = try #require(BundleIdentifier("com.example.Notes"))
      let installed = try BundleDirectory.installed(in: try store.container(identifier))
      #expect(try installed.verdict(trust: Trust(), isDeep: true).state == .adHoc)
      let message = refusal { try install(bundle, in: store, requiring: .signed) }
      #expect(message.contains("is not even sealed"))
    }
  }

  @Test(
    "Installing reads each file once to copy it and once to hash it", arguments: [false, true])
  func readOnce(_ isSealed: Bool) throws {
    try withTemporaryDirectory { directory in
      _ = try SampleBundle.flat(in: directory)
      let inner = try SampleBundle("Notes.app/Frameworks/A.framework", in: directory)
      try inner.write("{}".utf8, to: "Resources/Info.plist")
      let size = 32 << 20
      try shell("truncate -s \(size) Notes.app/large \(inner.path)/large", in: directory)
      let program = BuiltPrograms.path("sandboxfs")
      let sealed = isSealed ? "\(program) seal Notes.app" : "true"
      // What a shell's children have read is added to what the shell has.
      let outcome = try run(
        "sh",
        [
          "-ec",
          """
          cd '\(directory)'; export SANDBOXFS_STORE=$PWD/store SANDBOXFS_SETTINGS=$PWD/settings
          \(program) seal \(inner.path) >&2; \(sealed) >&2
          sed -n 's/^rchar: //p' /proc/$$/io
          \(program) install Notes.app >&2
          sed -n 's/^rchar: //p' /proc/$$/io
          """,
        ])
      try #require(outcome.status == 0, "\(outcome.errorText)")
      let counts = outcome.text.split(separator: "\n").compactMap { Int($0) }
      try #require(counts.count == 2)
      #expect(counts[1] - counts[0] < 2 * size * 5 / 2, "\(counts)")
    }
  }

  @Test("A signed bundle is untrusted until its certificate lies in trust.d, and then valid")
  func signed() throws {
    try withStore { store, directory in
      let bundle = try SampleBundle.flat(in: directory)
      try sign(bundle, in: directory)
      #expect(try install(bundle, in: store).sealState == .untrusted)
      let message = refusal { try install(bundle, in: store, requiring: .signed) }
      #expect(message.contains("must be signed by a key in trust.d: the certificate of Jane"))
      try shell("mkdir -p settings/trust.d; cp pem settings/trust.d/jane.pem", in: directory)
      #expect(try install(bundle, in: store, requiring: .signed).sealState == .valid)
      // What was required once is required of each later version.
      try shell("rm settings/trust.d/jane.pem", in: directory)
      let later = refusal { try install(bundle, in: store) }
      #expect(later.contains("must be signed"))
      let record = try install(bundle, in: store, requiring: .adHoc)
      #expect(record.requirement == .adHoc && record.sealState == .untrusted)
    }
  }

  @Test("What was modified since it was sealed is refused by path, whatever is required")
  func modified() throws {
    try withStore { store, directory in
      let bundle = try SampleBundle.flat(in: directory)
      try sign(bundle, in: directory)
      try shell("echo >> Notes.app/Notes; echo > Notes.app/more", in: directory)
      for requirement in SealRequirement.allCases {
        let message = refusal { try install(bundle, in: store, requiring: requirement) }
        #expect(
          message.hasPrefix(
            "Notes.app was modified since it was sealed: Notes has changed, and 1 more;"))
      }
      #expect(try store.list().isEmpty)
    }
  }

  @Test("What can't be sealed is installed only if any is good enough")
  func unsealable() throws {
    try withStore { store, directory in
      let bundle = try SampleBundle.flat(in: directory)
      try shell("touch $'Notes.app/\\xff'", in: directory)
      let message = refusal { try install(bundle, in: store) }
      #expect(message.contains("not UTF-8") && message.hasSuffix("--require any"))
      #expect(try install(bundle, in: store, requiring: .any).sealState == .unsigned)
    }
  }

  @Test("The administrator's word holds over everybody's, and a mistake in it is told")
  func administrator() throws {
    try withStore { store, directory in
      let bundle = try SampleBundle.flat(in: directory)
      try shell(
        "mkdir settings; echo 'require = signed # all' > settings/sandboxfs.conf", in: directory)
      let message = refusal { try install(bundle, in: store, requiring: .any) }
      #expect(message.contains("must be signed"))
      try shell("printf '\\n# none\\nrequire=best\\n' > settings/sandboxfs.conf", in: directory)
      let mistake = refusal { try install(bundle, in: store) }
      #expect(
        mistake.hasSuffix(
          "sandboxfs.conf:3: 'require=best': expected require = signed, adhoc or any"))
      try shell("echo > settings/sandboxfs.conf", in: directory)
      #expect(try install(bundle, in: store).sealState == .adHoc)
    }
  }
}
