// What a run is, decided before anything is done: steps, options, environment.

import LinuxKit
import Testing

@testable import Launch

private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

private func sandbox(byRoot: Bool, display: String? = nil) throws -> Sandbox {
  var sandbox = Sandbox(
    uid: 0x7000_0000, gid: 0x7000_0001, isStartedByRoot: byRoot,
    bundleName: Array("Notes.app".utf8), view: Array("/views/org.example.Notes".utf8),
    stage: Array("/stage".utf8), command: [Array("/home/app/Notes.app/Notes".utf8), [0xff]],
    callerEnvironment: [Array("LANG=ja_JP.UTF-8".utf8), Array("SECRET=1".utf8)],
    environmentTable: try EnvironmentTable(EnvironmentTable.shipped),
    host: HostTree(
      entries: [
        .init(name: Array("bin".utf8), form: .link(Array("usr/bin".utf8))),
        .init(name: Array("lib64".utf8), form: .directory),
      ],
      configuration: [
        .init(name: Array("localtime".utf8), form: .link(Array("/usr/share/zoneinfo/UTC".utf8))),
        .init(name: Array("ssl/certs".utf8), form: .directory),
        .init(name: Array("ssl/openssl.cnf".utf8), form: .file),
      ],
      networkConfiguration: [.init(name: Array("resolv.conf".utf8), form: .file)]))
  sandbox.reach.display = display.flatMap { Display(Array($0.utf8)) }.map { ($0, keys: [1, 2, 3]) }
  return sandbox
}

@Suite("What a run sees and may do")
struct SandboxTests {
  private static let harmless: MountAttributes = [.noExec, .noSetID, .noDevices]

  @Test("every mount that is made outside is noexec, but the bundle, which is read-only")
  func writableMountsAreNoExec() throws {
    for byRoot in [true, false] {
      for step in try sandbox(byRoot: byRoot, display: ":77").steps {
        switch step {
        case .bind(let source, _, let adding, _):
          #expect(!adding.isDisjoint(with: [.noExec, .readOnly]), "\(text(source))")
          #expect(adding.contains(.noSetID), "\(text(source))")
        case .show(let source, _, let adding):
          #expect(adding.isSuperset(of: [.readOnly, .noSetID, .noDevices]), "\(text(source))")
        case .bindBeneath(let source, _, _, let adding):
          #expect(adding.isSuperset(of: [.noExec, .readOnly, .noSetID]), "\(text(source))")
        case .mount(let type, _, _, let attributes):
          #expect(attributes.isSuperset(of: [.noExec, .noSetID]), "\(type)")
        default: break
        }
      }
    }
  }

  @Test("root's run leaves its identity behind, after the last mount")
  func rootBecomesTheApp() throws {
    let steps = try sandbox(byRoot: true).steps
    #expect(steps.prefix(2) == [.leave(user: false), .keepMountsInside])
    let change = try #require(steps.firstIndex(of: .become(uid: 0x7000_0000, gid: 0x7000_0001)))
    for step in steps[(change + 1)...] {
      guard case .directoryBeneath = step else {
        Issue.record("\(step) is done as the app")
        continue
      }
    }
  }

  @Test("an ordinary user's run binds the view noexec and the bundle executable")
  func usersBundle() throws {
    let steps = try sandbox(byRoot: false).steps
    #expect(
      steps.prefix(3) == [
        .leave(user: true), .mapRoot(uid: 0x7000_0000, gid: 0x7000_0001), .keepMountsInside,
      ])
    #expect(
      steps.contains(
        .bind(
          Array("/views/org.example.Notes".utf8), onto: Array("/stage/home/app".utf8),
          adding: Self.harmless, recursive: true)))
    #expect(
      steps.contains(
        .bind(
          Array("/views/org.example.Notes/Notes.app".utf8),
          onto: Array("/stage/home/app/Notes.app".utf8), adding: [.readOnly, .noSetID, .noDevices],
          recursive: false)))
    #expect(!steps.contains { if case .become = $0 { true } else { false } })
  }

  @Test("bubblewrap's options are these")
  func options() throws {
    let plain = try sandbox(byRoot: true)
    #expect(
      plain.options.map(text).joined(separator: " ") == """
        --unshare-user --disable-userns --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup \
        --unshare-net --uid 1879048192 --gid 1879048193 --hostname app --cap-drop ALL \
        --die-with-parent --new-session --seccomp 6 --json-status-fd 4 --block-fd 5 \
        --dev-bind /stage / --proc /proc --chdir /home/app
        """)
    #expect(
      plain.arguments.dropLast().map(text) == [
        "bwrap", "--args", "3", "--", "/home/app/Notes.app/Notes",
      ])
    #expect(plain.arguments.last == [0xff])
  }

  @Test("the tree is made of these, each directory once, and is read-only before the app's turn")
  func tree() throws {
    let steps = try sandbox(byRoot: true).steps
    let attributes: MountAttributes = [.readOnly, .noSetID, .noDevices]
    func path(_ text: String) -> [UInt8] { Array(text.utf8) }
    #expect(
      steps.dropFirst(2).prefix(16) == [
        .mount(
          type: "tmpfs", onto: path("/stage"), options: "mode=0755,uid=1879048192,gid=1879048193",
          attributes: Self.harmless),
        .owner(uid: 0x7000_0000, gid: 0x7000_0001),
        .directory(path("/stage/usr"), mode: 0o755),
        .show(path("/usr"), onto: path("/stage/usr"), adding: attributes),
        .link(path("/stage/bin"), target: path("usr/bin")),
        .directory(path("/stage/lib64"), mode: 0o755),
        .show(path("/lib64"), onto: path("/stage/lib64"), adding: attributes),
        .directory(path("/stage/etc"), mode: 0o755),
        .link(path("/stage/etc/localtime"), target: path("/usr/share/zoneinfo/UTC")),
        .directory(path("/stage/etc/ssl"), mode: 0o755),
        .directory(path("/stage/etc/ssl/certs"), mode: 0o755),
        .show(path("/etc/ssl/certs"), onto: path("/stage/etc/ssl/certs"), adding: attributes),
        .file(path("/stage/etc/ssl/openssl.cnf")),
        .show(
          path("/etc/ssl/openssl.cnf"), onto: path("/stage/etc/ssl/openssl.cnf"),
          adding: attributes),
        .file(path("/stage/etc/passwd"), content: try sandbox(byRoot: true).files[0].content),
        .file(path("/stage/etc/group"), content: try sandbox(byRoot: true).files[1].content),
      ])
    let close = try #require(steps.firstIndex(of: .restrict(path("/stage"), .readOnly)))
    for step in steps[(close + 1)...] {
      switch step {
      case .become, .directoryBeneath: break
      default: Issue.record("\(step) comes after the end")
      }
    }
    let made = steps.compactMap { step in
      if case .directory(let path, _) = step { path } else { nil }
    }
    #expect(Set(made).count == made.count)
  }

  @Test("a display adds its socket, its key and two variables, and nothing else")
  func display() throws {
    let (plain, shown) = (try sandbox(byRoot: true), try sandbox(byRoot: true, display: ":77"))
    #expect(
      shown.files.dropFirst(plain.files.count)
        == [.init(path: Array("/etc/Xauthority".utf8), mode: 0o400, content: [1, 2, 3])])
    #expect(shown.filePaths == shown.files.map(\.path))
    #expect(plain.filePaths == plain.files.map(\.path))
    #expect(
      shown.environment.dropFirst(plain.environment.count).map(text)
        == ["DISPLAY=:77.0", "XAUTHORITY=/etc/Xauthority"])
    #expect(
      shown.steps.contains(
        .bindBeneath(
          Array("/stage/run/app/x11".utf8), base: Array("/stage/home/app".utf8),
          path: Array("tmp/.X11-unix".utf8),
          adding: [.noExec, .noSetID, .noDevices, .readOnly])))
    #expect(
      shown.steps.contains(
        .file(Array("/stage/etc/Xauthority".utf8), mode: 0o400, content: [1, 2, 3])))
    #expect(shown.options == plain.options)
  }

  @Test("the network is the host's where it is shared, and names are found as there")
  func network() throws {
    let plain = try sandbox(byRoot: true)
    var shared = plain
    shared.reach.hosts = Array("10.0.0.1 printer\n".utf8)
    #expect(shared.steps.last == .keepFromAbstractSockets)
    #expect(!shared.options.contains(Array("--unshare-net".utf8)))
    let resolver = NamespaceStep.show(
      Array("/etc/resolv.conf".utf8), onto: Array("/stage/etc/resolv.conf".utf8),
      adding: [.readOnly, .noSetID, .noDevices])
    #expect(shared.steps.contains(resolver) && !plain.steps.contains(resolver))
    let hosts = try #require(shared.files.first { text($0.path) == "/etc/hosts" })
    #expect(text(hosts.content).hasSuffix("localhost\n10.0.0.1 printer\n"))
  }

  @Test("graphics devices are nodes of their own, and what the kernel tells of them")
  func graphics() throws {
    var sandbox = try sandbox(byRoot: false)
    let device = Array("/sys/devices/pci0000:00/0000:00:02.0".utf8)
    sandbox.reach.graphics = GraphicsDevices(
      nodes: [Array("/dev/dri/renderD128".utf8), Array("/dev/nvidia0".utf8)],
      descriptions: [device],
      links: [
        .init(
          path: Array("/sys/dev/char/226:128".utf8), target: device + Array("/drm/renderD128".utf8))
      ])
    let nodes = sandbox.steps.compactMap { step -> String? in
      guard case .bind(let source, let target, [.noExec, .noSetID], false) = step else {
        return nil
      }
      return text(source) + " " + text(target)
    }
    #expect(nodes.contains("/dev/dri/renderD128 /stage/dev/dri/renderD128"))
    #expect(nodes.contains("/dev/nvidia0 /stage/dev/nvidia0"))
    #expect(sandbox.steps.contains(.directory(Array("/stage/dev/dri".utf8), mode: 0o755)))
    #expect(
      sandbox.steps.contains(
        .show(
          device, onto: Array("/stage".utf8) + device,
          adding: [.readOnly, .noSetID, .noDevices])))
    #expect(
      sandbox.steps.contains(
        .link(
          Array("/stage/sys/dev/char/226:128".utf8), target: device + Array("/drm/renderD128".utf8))
      ))
  }

  @Test("user namespaces inside are refused unless they are allowed")
  func userNamespaces() throws {
    var sandbox = try sandbox(byRoot: true)
    #expect(sandbox.options.contains(Array("--disable-userns".utf8)))
    sandbox.reach.allowsUserNamespaces = true
    #expect(!sandbox.options.contains(Array("--disable-userns".utf8)))
  }

  @Test("the caller's variables go in only by name")
  func environment() throws {
    let lines = try sandbox(byRoot: true).environment.map(text)
    #expect(lines.contains("LANG=ja_JP.UTF-8"))
    #expect(!lines.contains { $0.contains("SECRET") })
    #expect(lines.contains("HOME=/home/app"))
  }
}
