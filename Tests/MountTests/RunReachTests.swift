// What an app may reach outside by name: the network and the sockets of a session, with servers of
// the test's own in their place; and that it reaches none of them otherwise.

import Foundation
import Glibc
import TestSupport
import Testing

@Suite("What an app reaches outside", .enabled(if: geteuid() == 0, "needs root"))
struct RunReachTests {
  /// Says a word to each who connects, at an address of each kind; its last line says the port.
  private static let server = """
    import os, socket, sys, threading
    def serve(family, address, word):
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.bind(address)
        listening.listen()
        if isinstance(address, str) and address[0] != chr(0): os.chmod(address, 0o777)
        def answer():
            while True:
                connection = listening.accept()[0]
                connection.sendall(word.encode())
                connection.close()
        threading.Thread(target=answer, daemon=True).start()
        return listening
    os.makedirs(sys.argv[1] + "/pulse", exist_ok=True)
    for name in ["wayland-7", "pulse/native", "pipewire-0"]:
        serve(socket.AF_UNIX, sys.argv[1] + "/" + name, name)
    serve(socket.AF_UNIX, chr(0) + sys.argv[2], "without a file")
    port = serve(socket.AF_INET, ("127.0.0.1", 0), "network").getsockname()[1]
    print(port, flush=True)
    threading.Event().wait()
    """

  /// Prints what those addresses say that it is given, or the errno.
  private static let client = """
    import errno, os, socket, sys
    for word in sys.argv[1:]:
        address = os.path.expandvars(word).removeprefix("unix:")
        try:
            if address.isdigit():
                connection = socket.create_connection(("127.0.0.1", int(address)))
            else:
                connection = socket.socket(socket.AF_UNIX)
                connection.connect(address.replace("@", chr(0)))
            print(connection.recv(100).decode())
        except OSError as error:
            print(errno.errorcode[error.errno])
    """

  private func withServer(
    _ scene: RunScene, _ body: (_ port: String, _ session: [String: String], String) throws -> Void
  ) throws {
    let session = scene.path + "/session"
    let abstract = "sandboxfs-test-\(UInt32.random(in: 0...UInt32.max))"
    _ = try scene.perform(["mkdir", "-m", "711", session])
    let server = try BackgroundRun(
      scene.words(["python3", "-c", Self.server, session, abstract]),
      environment: scene.environment)
    defer { server.end() }
    try server.wait { server.text.hasSuffix("\n") }
    let port = server.text.trimmingCharacters(in: .newlines)
    try body(
      port, ["XDG_RUNTIME_DIR": session, "WAYLAND_DISPLAY": "wayland-7"], "@" + abstract)
  }

  @Test(
    "is what it was allowed, and nothing besides", arguments: RunScene.Person.allCases)
  func reaching(_ person: RunScene.Person) throws {
    try withRunScene(person) { scene in
      try withServer(scene) { port, session, abstract in
        let app = try scene.installScript("Notes")
        // The run's own directories must not be where root or the user has none.
        var session = session
        session["HOME"] = scene.home
        let addresses = [
          port, abstract, "$WAYLAND_DISPLAY", "$PULSE_SERVER", "/run/app/pipewire-0",
        ]
        func reach(_ allowed: String...) throws -> [String] {
          let outcome = try scene.run(
            app, options: allowed.flatMap { ["--allow", $0] },
            ["python3", "-c", Self.client] + addresses, environment: session)
          return (outcome.text + outcome.errorText).split(separator: "\n").map(String.init)
        }
        let none = ["ECONNREFUSED", "ECONNREFUSED", "ENOENT", "ENOENT", "ENOENT"]
        #expect(try reach() == none)
        // Sockets without a file belong to a network; these are kept apart by Landlock.
        #expect(try reach("network") == ["network", "EPERM"] + none.dropFirst(2))
        #expect(try reach("wayland") == none.prefix(2) + ["wayland-7"] + none.dropFirst(3))
        #expect(try reach("audio") == none.prefix(3) + ["pulse/native", "pipewire-0"])
        // What the record allows is there in each run, and where the session has it.
        let grant = ["grant", app, "--allow", "network", "--allow", "wayland", "--allow", "x11"]
        #expect(try scene.perform([scene.program] + grant).status == 0)
        #expect(try reach() == ["network", "EPERM", "wayland-7"] + none.dropFirst(3))
        session["WAYLAND_DISPLAY"] = "wayland-8"
        #expect(try reach() == ["network", "EPERM"] + none.dropFirst(2))
        #expect(
          try reach("wayland").first?.hasSuffix("wayland-8: No such file or directory") == true)
      }
    }
  }

  @Test("by the network are the host's names, and exec is kept from the same as run")
  func names() throws {
    try withRunScene(.ordinaryUser) { scene in
      try withServer(scene) { port, _, abstract in
        let app = try scene.installScript("Notes")
        let outcome = try scene.run(
          app, options: ["--allow", "network"],
          ["sh", "-c", "cat /etc/resolv.conf; tail -n +3 /etc/hosts; readlink /proc/self/ns/net"])
        let names = try run(
          "sh", ["-c", "cat /etc/resolv.conf /etc/hosts; readlink /proc/self/ns/net"])
        #expect(outcome.text == names.text, "\(outcome.errorText)")
        let running = try scene.start(
          app, options: ["--allow", "network"], ["sh", "-c", "touch tmp/ready; sleep 60"])
        defer { running.end() }
        try running.wait { access(scene.data(app, "tmp/ready"), F_OK) == 0 }
        let joined = try scene.perform(
          [scene.program, "exec", app, "--", "python3", "-c", Self.client, port, abstract])
        #expect(joined.text == "network\nEPERM\n", "\(joined.errorText)")
      }
    }
  }

  @Test("is no more than sandboxfs.conf lets apps have, and must be there if it is asked for")
  func limits() throws {
    try withRunScene(.root) { scene in
      let app = try scene.installScript("Notes")
      let settings = scene.path + "/settings/sandboxfs.conf"
      func line(_ allowed: String, _ more: [String: String] = [:]) throws -> String {
        try scene.run(app, options: ["--allow", allowed], ["true"], environment: more).errorText
      }
      let grant = [scene.program, "grant", app, "--allow", "network"]
      #expect(try scene.perform(grant).status == 0)
      try "allow = x11, wayland\n".write(toFile: settings, atomically: true, encoding: .utf8)
      let refusal = "'network' is allowed to no app here: see 'allow' in sandboxfs.conf\n"
      #expect(try scene.perform(grant).errorText == "sandboxfs grant: " + refusal)
      #expect(try scene.run(app, ["true"]).errorText == "sandboxfs run: " + refusal)
      #expect(try scene.perform([scene.program, "revoke", app, "--all"]).status == 0)
      #expect(try line("network") == "sandboxfs run: " + refusal)
      try "allow = all\n".write(toFile: settings, atomically: true, encoding: .utf8)
      #expect(
        try line("network").contains("sandboxfs.conf:1: 'allow = all': expected allow = none"))
      try FileManager.default.removeItem(atPath: settings)
      let session = scene.path + "/session"
      _ = try run("sh", ["-c", "mkdir -p \(session); touch \(session)/wayland-0"])
      let rows: [(String, [String: String], String)] = [
        ("wayland", [:], "--allow wayland: XDG_RUNTIME_DIR is not set"),
        ("wayland", ["XDG_RUNTIME_DIR": session], "\(session)/wayland-0 is no socket"),
        ("audio", ["XDG_RUNTIME_DIR": session], "--allow audio: there is no sound server at "),
        ("dbus", [:], "--allow dbus: an app that root runs is in nobody's session"),
      ]
      for (allowed, more, want) in rows {
        let said = try line(allowed, more)
        #expect(said.contains(want), "\(said)")
      }
    }
  }
}

extension RunReachTests {
  @Test(
    "by the session bus is the bus under its own name, and nobody else",
    .enabled(
      if: isInstalled("xdg-dbus-proxy") && isInstalled("dbus-daemon"), "needs xdg-dbus-proxy"))
  func bus() throws {
    try withRunScene(.ordinaryUser) { scene in
      let app = try scene.installScript("Notes")
      let address = "unix:path=\(scene.path)/bus"
      let daemon = try BackgroundRun(
        scene.words(
          ["dbus-daemon", "--session", "--nofork", "--nopidfile", "--address=" + address]),
        environment: scene.environment)
      defer { daemon.end() }
      try daemon.wait { access(scene.path + "/bus", F_OK) == 0 }
      func call(_ member: String, _ arguments: String...) -> String {
        let words = ["--print-reply", "--dest=org.freedesktop.DBus", "/org/freedesktop/DBus"]
        return
          (["dbus-send", "--session"] + words + ["org.freedesktop.DBus." + member] + arguments)
          .joined(separator: " ") + " 2>&1 | grep -v '^method'"
      }
      let script = [
        call("RequestName", "string:org.example.Notes.Window", "uint32:0"),
        call("RequestName", "string:org.example.Other", "uint32:0"), call("ListNames"),
      ].joined(separator: "; ")
      let outcome = try scene.run(
        app, options: ["--allow", "dbus"], ["sh", "-c", script],
        environment: ["DBUS_SESSION_BUS_ADDRESS": address])
      let lines = outcome.text.split(separator: "\n").map {
        $0.trimmingCharacters(in: .whitespaces)
      }
      #expect(lines.first == "uint32 1", "\(outcome.errorText)")
      #expect(lines.dropFirst().first?.contains("org.freedesktop.DBus.Error") == true)
      let names = lines.filter { $0.hasPrefix("string \"") && !$0.contains("\":") }
      #expect(names == ["string \"org.freedesktop.DBus\""], "\(lines)")
      let left = try FileManager.default.contentsOfDirectory(
        atPath: scene.home + "/.local/state/sandboxfs")
      #expect(left.sorted() == ["stage", "views"])
    }
  }

  @Test("to draw with are the render nodes alone")
  func graphics() throws {
    try withRunScene(.root) { scene in
      let app = try scene.installScript("Notes")
      #expect(
        try scene.run(app, ["sh", "-c", "ls /dev/dri 2>/dev/null || echo none"]).text == "none\n")
      let script = """
        d=\(scene.path)/dev; mkdir $d; mount -t tmpfs none $d; mkdir $d/dri $d/pts
        for node in full fuse null random tty urandom zero; do
          touch $d/$node; mount --bind /dev/$node $d/$node
        done
        mount --bind /dev/pts $d/pts; mknod -m 666 $d/dri/renderD128 c 1 3
        mknod -m 666 $d/dri/card0 c 1 3; mount --rbind $d /dev
        exec "$@"
        """
      let outcome = try run(
        "unshare",
        [
          "-m", "sh", "-ec", script, "sh", scene.program, "run", "--allow", "gpu", app, "--", "sh",
          "-c",
          "ls -m /dev/dri; echo x >/dev/dri/renderD128 && echo written; "
            + "grep dri /proc/self/mountinfo | grep -c nosuid,noexec",
        ], environment: scene.environment)
      #expect(outcome.text == "renderD128\nwritten\n1\n", "\(outcome.errorText)")
    }
  }
}
