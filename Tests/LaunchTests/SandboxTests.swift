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
        .init(name: Array("bin".utf8), linkTarget: Array("usr/bin".utf8)),
        .init(name: Array("lib64".utf8), linkTarget: nil),
      ], gnustepConfiguration: []))
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
          Array("/views/org.example.Notes".utf8), onto: Array("/stage/home".utf8),
          adding: Self.harmless, recursive: true)))
    #expect(
      steps.contains(
        .bind(
          Array("/views/org.example.Notes/Notes.app".utf8),
          onto: Array("/stage/home/Notes.app".utf8), adding: [.readOnly, .noSetID, .noDevices],
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
        --ro-bind /usr /usr --symlink usr/bin /bin --ro-bind /lib64 /lib64 \
        --ro-bind-try /etc/alternatives /etc/alternatives \
        --ro-bind-try /etc/ca-certificates /etc/ca-certificates \
        --ro-bind-try /etc/chromium.d /etc/chromium.d \
        --ro-bind-try /etc/crypto-policies /etc/crypto-policies \
        --ro-bind-try /etc/fonts /etc/fonts --ro-bind-try /etc/gai.conf /etc/gai.conf \
        --ro-bind-try /etc/java /etc/java \
        --ro-bind-try /etc/java-11-openjdk /etc/java-11-openjdk \
        --ro-bind-try /etc/java-17-openjdk /etc/java-17-openjdk \
        --ro-bind-try /etc/java-21-openjdk /etc/java-21-openjdk \
        --ro-bind-try /etc/java-25-openjdk /etc/java-25-openjdk \
        --ro-bind-try /etc/ld.so.cache /etc/ld.so.cache \
        --ro-bind-try /etc/ld.so.conf /etc/ld.so.conf \
        --ro-bind-try /etc/ld.so.conf.d /etc/ld.so.conf.d \
        --ro-bind-try /etc/locale.alias /etc/locale.alias \
        --ro-bind-try /etc/locale.conf /etc/locale.conf \
        --ro-bind-try /etc/localtime /etc/localtime --ro-bind-try /etc/mime.types /etc/mime.types \
        --ro-bind-try /etc/nsswitch.conf /etc/nsswitch.conf \
        --ro-bind-try /etc/pki/ca-trust /etc/pki/ca-trust \
        --ro-bind-try /etc/pki/tls/certs /etc/pki/tls/certs \
        --ro-bind-try /etc/protocols /etc/protocols --ro-bind-try /etc/services /etc/services \
        --ro-bind-try /etc/ssl/certs /etc/ssl/certs \
        --ro-bind-try /etc/ssl/openssl.cnf /etc/ssl/openssl.cnf \
        --ro-bind-try /etc/timezone /etc/timezone --symlink /proc/self/mounts /etc/mtab \
        --perms 0444 --file 7 /etc/passwd --perms 0444 --file 8 /etc/group \
        --perms 0444 --file 9 /etc/hosts --perms 0444 --file 10 /etc/GNUstep/GNUstep.conf \
        --proc /proc --dev-bind /stage/dev /dev --bind /stage/home /home/app \
        --symlink /home/app/tmp /tmp --symlink /home/app/tmp /var/tmp \
        --remount-ro / --chdir /home/app
        """)
    #expect(
      plain.arguments.dropLast().map(text) == [
        "bwrap", "--args", "3", "--", "/home/app/Notes.app/Notes",
      ])
    #expect(plain.arguments.last == [0xff])
  }

  @Test("a display adds its socket, its key and two variables, and nothing else")
  func display() throws {
    let (plain, shown) = (try sandbox(byRoot: true), try sandbox(byRoot: true, display: ":77"))
    #expect(
      shown.files.dropFirst(plain.files.count)
        == [.init(path: Array("/etc/Xauthority".utf8), mode: 0o400, content: [1, 2, 3])])
    #expect(
      shown.environment.dropFirst(plain.environment.count).map(text)
        == ["DISPLAY=:77.0", "XAUTHORITY=/etc/Xauthority"])
    #expect(
      shown.steps.contains(
        .bindBeneath(
          Array("/stage/display".utf8), base: Array("/stage/home".utf8),
          path: Array("tmp/.X11-unix".utf8),
          adding: [.noExec, .noSetID, .noDevices, .readOnly])))
    let added = shown.options.map(text).filter { !plain.options.map(text).contains($0) }
    #expect(
      added == ["0400", "11", "/etc/Xauthority"])
  }

  @Test("the network is the host's where it is shared, and names are found as there")
  func network() throws {
    let plain = try sandbox(byRoot: true)
    var shared = plain
    shared.reach.hosts = Array("10.0.0.1 printer\n".utf8)
    #expect(shared.steps.last == .keepFromAbstractSockets)
    #expect(Array(shared.steps.dropLast()) == plain.steps)
    #expect(!shared.options.contains(Array("--unshare-net".utf8)))
    #expect(shared.options.contains(Array("/etc/resolv.conf".utf8)))
    #expect(!plain.options.contains(Array("/etc/resolv.conf".utf8)))
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
      sandbox.options.map(text).joined(separator: " ").contains(
        "--ro-bind \(text(device)) \(text(device)) "
          + "--symlink \(text(device))/drm/renderD128 /sys/dev/char/226:128 --remount-ro /"))
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
