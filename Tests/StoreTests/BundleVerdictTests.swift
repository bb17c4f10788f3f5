// What a seal is worth: sealed and signed by us, by openssl(1) and by minisign(1).
import Containers
import LinuxKit
import Store
import TestSupport
import Testing

/// A bundle, a directory of keys and what is trusted.
private struct Scene {
  let directory: String
  let bundle: SampleBundle
  var settings: [UInt8] { Array("\(directory)/settings".utf8) }

  static func with(_ body: (Scene) throws -> Void) throws {
    try withTemporaryDirectory { directory in
      let scene = Scene(directory: directory, bundle: try SampleBundle.flat(in: directory))
      try scene.bundle.write("hello".utf8, to: "data/greeting")
      try scene.bundle.write("ciao".utf8, to: "it.lproj/greeting")
      try scene.bundle.link("alias", to: "data/greeting")
      try scene.shell("mkdir -p settings/trust.d; chmod 755 settings settings/trust.d")
      try body(scene)
    }
  }

  func shell(_ script: String) throws {
    let outcome = try run("bash", ["-c", "set -eu; umask 022; cd \(directory); \(script)"])
    if outcome.status != 0 { throw ProgramFailure(description: "\(outcome)") }
  }

  func walker() throws -> Walker { try Walker.open(path: Array(bundle.path.utf8)) }

  @discardableResult
  func seal(by name: String? = nil) throws -> SealingReport {
    let identity = try name.map { name in
      try SigningIdentity(
        key: Array("\(directory)/\(name).key".utf8),
        certificate: Array("\(directory)/\(name).pem".utf8))
    }
    return try BundleSealing.seal(
      try walker(), called: Array("Notes.app".utf8), identity: identity)
  }

  func makeKey(_ name: String) throws {
    try shell(
      """
      openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout \(name).key \
        -out \(name).pem -subj '/CN=\(name)' -days 9 -addext extendedKeyUsage=codeSigning \
        -addext keyUsage=digitalSignature 2> log
      """)
  }

  func verdict(isDeep: Bool = false) throws -> BundleVerdict {
    try BundleVerdict(
      of: try walker(), called: Array("Notes.app".utf8), trust: try Trust(settings: [settings]),
      isDeep: isDeep)
  }
}

@Suite struct BundleVerdictTests {
  @Test("A bundle is unsigned, then sealed ad hoc, and sealing it again changes nothing")
  func adHoc() throws {
    try Scene.with { scene in
      #expect(try scene.verdict().state == .unsigned)
      let report = try scene.seal()
      #expect(report.entryCount == 5 && report.signer == nil && !report.isUnchanged)
      let verdict = try scene.verdict()
      #expect(verdict.state == .adHoc && verdict.notes.isEmpty && verdict.reasons.isEmpty)
      #expect(verdict.inspection.unsealed.isEmpty, "executable and Info.plist are sealed too")
      #expect(try scene.seal().isUnchanged)
      try scene.shell("rm -r Notes.app/it.lproj")
      #expect(try scene.verdict().state == .adHoc, "a language may go")
      try scene.shell("echo more >> Notes.app/Notes")
      let modified = try scene.verdict()
      #expect(modified.state == .modified && modified.inspection.changed == [Array("Notes".utf8)])
      #expect(try !scene.seal().isUnchanged)
      #expect(try scene.verdict().state == .adHoc)
    }
  }

  @Test(
    "Signed by us it is untrusted, valid once the certificate is in trust.d, and openssl agrees")
  func signed() throws {
    try Scene.with { scene in
      try scene.makeKey("jane")
      #expect(try scene.seal(by: "jane").signer == "jane")
      let stranger = try scene.verdict()
      #expect(stranger.state == .untrusted && stranger.signers.map(\.name) == ["jane"])
      #expect(stranger.reasons.first?.hasPrefix("the certificate of jane is not trusted") == true)
      try scene.shell(
        """
        openssl cms -verify -binary -inform DER -in Notes.app/_CodeSignature/CodeSignature \
          -content Notes.app/_CodeSignature/CodeResources -CAfile jane.pem -purpose any > out 2> log
        cmp out Notes.app/_CodeSignature/CodeResources
        cp jane.pem settings/trust.d/
        """)
      let valid = try scene.verdict()
      #expect(valid.state == .valid && valid.signers.first?.isTrusted == true)
      try scene.shell("echo >> Notes.app/_CodeSignature/CodeResources")
      let changed = try scene.verdict()
      #expect(changed.state == .modified)
      #expect(changed.inspection.changed == [Array("_CodeSignature/CodeSignature".utf8)])
      try scene.seal()
      #expect(try scene.verdict().state == .adHoc, "sealing anew takes the old signature away")
    }
  }

  @Test("What openssl signs over our seal is valid, and no signature at all is modified")
  func openssl() throws {
    try Scene.with { scene in
      try scene.makeKey("jane")
      try scene.seal()
      try scene.shell(
        """
        openssl cms -sign -binary -in Notes.app/_CodeSignature/CodeResources -signer jane.pem \
          -inkey jane.key -outform DER -md sha256 -out Notes.app/_CodeSignature/CodeSignature
        cp jane.pem settings/trust.d/
        """)
      #expect(try scene.verdict().state == .valid)
      try scene.shell("echo nonsense > Notes.app/_CodeSignature/CodeSignature")
      let broken = try scene.verdict()
      #expect(broken.state == .modified)
      #expect(broken.reasons.first?.hasSuffix("it is no CMS signature in DER") == true)
    }
  }

  @Test("What minisign signs is valid if its key is trusted", arguments: ["", "-l"])
  func minisign(_ options: String) throws {
    try Scene.with { scene in
      try scene.seal()
      try scene.shell(
        """
        minisign -G -W -p jane.pub -s jane.key > log
        cd Notes.app/_CodeSignature
        minisign -S \(options) -m CodeResources -s ../../jane.key -x CodeResources.minisig \
          -t 'Notes 1.0' > ../../log
        """)
      let stranger = try scene.verdict()
      #expect(stranger.state == .untrusted)
      #expect(stranger.reasons.first?.hasPrefix("the minisign key ") == true)
      try scene.shell("cp jane.pub settings/trust.d/")
      let valid = try scene.verdict()
      #expect(valid.state == .valid)
      #expect(valid.signers.map(\.kind) == [.minisign(comment: "Notes 1.0")])
      // The number that minisign itself shows.
      try scene.shell("grep -q 'public key \(valid.signers[0].name)' jane.pub")
      try scene.shell(
        "sed -i 's/Notes 1.0/Notes 2.0/' Notes.app/_CodeSignature/CodeResources.minisig")
      #expect(try scene.verdict().state == .modified, "the comment is signed too")
      try scene.shell("rm Notes.app/_CodeSignature/CodeResources.minisig; echo >> Notes.app/Notes")
      #expect(try scene.verdict().state == .modified)
    }
  }

  @Test("A seal that leaves the executable or Info.plist out is not valid, whoever signed it")
  func gap() throws {
    try Scene.with { scene in
      try scene.makeKey("jane")
      try scene.shell(
        """
        cp jane.pem settings/trust.d/
        rm -r Notes.app/data Notes.app/it.lproj Notes.app/alias
        mkdir Notes.app/_CodeSignature
        cat > Notes.app/_CodeSignature/CodeResources <<'.'
        <plist><dict><key>files2</key><dict/><key>rules2</key><dict><key>^.*</key><true/>
        <key>^Info.plist$</key>
        <dict><key>omit</key><true/><key>weight</key><integer>20</integer></dict>
        </dict></dict></plist>
        .
        openssl cms -sign -binary -in Notes.app/_CodeSignature/CodeResources -signer jane.pem \
          -inkey jane.key -outform DER -md sha256 -out Notes.app/_CodeSignature/CodeSignature
        """)
      let verdict = try scene.verdict()
      #expect(verdict.state == .untrusted)
      #expect(verdict.reasons == ["Notes is not under the seal, so anybody can exchange it"])
      #expect(verdict.notes == ["Info.plist and 1 more are not under the seal"])
    }
  }

  @Test("What others can write into trust.d is not trusted, and is told")
  func trust() throws {
    try Scene.with { scene in
      try scene.makeKey("jane")
      try scene.shell(
        """
        cd settings/trust.d
        cp ../../jane.pem good.pem
        cp ../../jane.pem loose.pem; chmod 666 loose.pem
        echo nonsense > none.pem
        echo nonsense > none.pub
        echo notes > README
        ln -s nowhere gone.pem
        mkdir directory.pem
        ln -s good.pem linked.crt
        """)
      let trust = try Trust(settings: [scene.settings])
      let names = ["README", "directory.pem", "gone.pem", "loose.pem", "none.pem", "none.pub"]
      #expect(trust.warnings.count == names.count, "\(trust.warnings)")
      for (warning, name) in zip(trust.warnings, names) { #expect(warning.contains(name)) }
      try scene.shell("chmod 777 settings/trust.d")
      #expect(try Trust(settings: [scene.settings]).warnings.count == 1)
      #expect(try Trust(settings: [Array("/nowhere".utf8)]).warnings.isEmpty)
    }
  }

  @Test("Deep, a bundle in the bundle is held against its own seal too")
  func deep() throws {
    try Scene.with { scene in
      try scene.bundle.write("lib".utf8, to: "Frameworks/A.framework/A")
      try scene.bundle.write("{}".utf8, to: "Frameworks/A.framework/Resources/Info.plist")
      try scene.shell("mkdir -p Notes.app/Frameworks/A.framework/_CodeSignature")
      let inner = SampleBundle(of: "\(scene.bundle.path)/Frameworks/A.framework")
      _ = try BundleSealing.seal(
        try Walker.open(path: Array(inner.path.utf8)), called: Array("A.framework".utf8))
      try scene.seal()
      #expect(try scene.verdict(isDeep: true).state == .adHoc)
      try inner.write("lab".utf8, to: "A")
      let error = #expect(throws: StoreError.self) { try scene.seal() }
      #expect(
        error?.message == "Notes.app/Frameworks/A.framework was modified since it was sealed: "
          + "A has changed; seal it before the bundle that it is in")
      // Bound all the same by whoever changed it, who is not the framework's maker.
      try scene.shell(
        """
        digest() { printf $1 | openssl dgst -$2 -binary | base64; }
        for kind in sha1 sha256; do
          sed -i "s|$(digest lib $kind)|$(digest lab $kind)|" Notes.app/_CodeSignature/CodeResources
        done
        """)
      #expect(try scene.verdict().state == .adHoc)
      let deep = try scene.verdict(isDeep: true)
      #expect(deep.state == .modified)
      #expect(deep.inspection.changed == [Array("Frameworks/A.framework/A".utf8)])
    }
  }

  @Test("A bundle as on macOS is sealed in Contents, or from the top if something lies beside")
  func deepForm() throws {
    try Scene.with { scene in
      try scene.shell(
        """
        cd Notes.app; rm -r data it.lproj alias; mkdir -p Contents/MacOS
        mv Info.plist Contents; mv Notes Contents/MacOS
        """)
      try scene.seal()
      #expect(try scene.verdict().inspection.sealPrefix == Array("Contents/".utf8))
      try scene.shell("echo icon > Notes.app/Icon")
      #expect(try scene.verdict().inspection.added == [Array("Icon".utf8)])
      try scene.seal()
      let verdict = try scene.verdict()
      #expect(verdict.state == .adHoc && verdict.inspection.sealPrefix == [])
      #expect(verdict.inspection.executable == Array("Contents/MacOS/Notes".utf8))
    }
  }

  @Test(
    "What a seal can't hold is refused by name, and nothing is written",
    arguments: [
      ("touch $'Notes.app/data/\\xff'", "name is not UTF-8"),
      ("touch $'Notes.app/caf\\u00e9' $'Notes.app/cafe\\u0301'", "letters are composed"),
      ("mkfifo Notes.app/pipe", "Notes.app/pipe is no file"),
      ("mkdir Notes.app/_CodeSignature; touch Notes.app/_CodeSignature/x", "is no part of a seal"),
      ("ln -s data Notes.app/_CodeSignature", "is no part of a seal"),
    ])
  func refusals(_ change: String, _ reason: String) throws {
    try Scene.with { scene in
      try scene.shell(change)
      let error = #expect(throws: StoreError.self) { try scene.seal() }
      #expect(error?.message.contains(reason) == true, "\(error as Any)")
      try scene.shell("[ ! -e Notes.app/_CodeSignature/CodeResources ]; ! ls -d Notes.app/.Code*")
    }
  }
}
