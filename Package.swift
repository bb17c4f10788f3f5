// swift-tools-version: 6.2
import PackageDescription

/// glibc hides its GNU names without this; it reaches the clang importer of each target.
let gnu: [CSetting] = [.define("_GNU_SOURCE")]

let strict: [SwiftSetting] = [
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

/// Decides without the system: no Glibc, no Foundation, tested without a mount.
func pure(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

/// The only door to what it names.
func edge(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .target(name: name, dependencies: dependencies, cSettings: gnu, swiftSettings: strict)
}

/// The functions of a library that is loaded when it is needed, and so is not linked as a whole.
func loaded(_ name: String, linked libraries: [String] = []) -> Target {
  .target(
    name: name, dependencies: ["CLinux"], path: "Modules/\(name)", cSettings: gnu,
    linkerSettings: libraries.map { .linkedLibrary($0) })
}

func program(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .executableTarget(name: name, dependencies: dependencies, cSettings: gnu, swiftSettings: strict)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(name: name, dependencies: dependencies, cSettings: gnu, swiftSettings: strict)
}

let package = Package(
  name: "sandboxfs",
  products: [
    .executable(name: "sandboxfs", targets: ["sandboxfs"]),
    .executable(name: "sandboxfs-view", targets: ["sandboxfs-view"]),
    .executable(name: "mount.sandboxfs", targets: ["MountHelper"]),
    .library(name: "AppContainer", targets: ["AppContainer"]),
  ],
  targets: [
    .systemLibrary(
      name: "CFuse3Library", path: "Modules/CFuse3Library", pkgConfig: "fuse3",
      providers: [.apt(["libfuse3-dev"])]),
    .systemLibrary(
      name: "CSeccomp", path: "Modules/CSeccomp", pkgConfig: "libseccomp",
      providers: [.apt(["libseccomp-dev"])]),
    .target(
      name: "CFuse3", dependencies: ["CFuse3Library"], path: "Modules/CFuse3", cSettings: gnu),
    .systemLibrary(name: "CAppContainer", path: "Modules/CAppContainer"),
    .target(name: "CLinux", path: "Modules/CLinux", cSettings: gnu),
    loaded("CArchive"),
    // From the archive comes SHA-256 alone.
    loaded("CCrypto", linked: [":libcrypto.a"]),
    loaded("CMount"),
    loaded("CSQLite"),

    pure("Paths"),
    pure("Policy", ["Paths"]),
    pure("Containers", ["Paths", "Policy"]),
    pure("PropertyLists"),
    pure("Preferences", ["PropertyLists"]),
    pure("Arguments", ["Paths"]),
    pure("Seal", ["PropertyLists"]),
    pure("BackupFormat", ["PropertyLists"]),

    edge("LinuxKit", ["CLinux"]),
    edge("FuseKit", ["CFuse3", "CLinux", "LinuxKit"]),
    edge("Crypto", ["CCrypto", "LinuxKit"]),
    edge("Accounting", ["Policy", "LinuxKit"]),
    edge(
      "Store",
      [
        "Paths", "Policy", "Containers", "PropertyLists", "Seal", "LinuxKit", "Crypto", "Purging",
        "CArchive",
      ]),
    edge("Purging", ["Policy", "LinuxKit"]),
    edge(
      "View",
      [
        "Paths", "Policy", "Containers", "PropertyLists", "Seal", "LinuxKit", "FuseKit", "Crypto",
        "Accounting",
      ]),
    edge("Mounting", ["Paths", "Containers", "LinuxKit", "Store", "CMount"]),
    edge(
      "MobileBackup",
      [
        "Paths", "Policy", "Containers", "PropertyLists", "BackupFormat", "LinuxKit", "Crypto",
        "Purging", "Store", "CSQLite",
      ]),
    edge(
      "Launch",
      ["Paths", "Policy", "Containers", "LinuxKit", "Purging", "Store", "Mounting", "CSeccomp"]),

    edge("AppContainer", ["CAppContainer", "PropertyLists"]),

    program(
      "sandboxfs",
      [
        "Paths", "Policy", "Containers", "PropertyLists", "Preferences", "Arguments", "Seal",
        "BackupFormat", "LinuxKit", "Crypto", "Purging", "Store", "MobileBackup", "Mounting",
        "Launch", "AppContainer", "Accounting",
      ]),
    program(
      "sandboxfs-view",
      [
        "Paths", "Policy", "Containers", "Seal", "LinuxKit", "FuseKit", "Crypto", "Accounting",
        "Purging", "View",
      ]),
    program(
      "MountHelper", ["Paths", "Containers", "Arguments", "LinuxKit", "Store", "Mounting"]),

    .target(
      name: "TestSupport", dependencies: ["Paths", "Policy", "Containers", "LinuxKit", "Store"],
      path: "Tests/TestSupport", cSettings: gnu, swiftSettings: strict),
    tests("PathsTests", ["Paths"]),
    tests("PolicyTests", ["Paths", "Policy"]),
    tests("ContainersTests", ["Paths", "Policy", "Containers"]),
    tests("PropertyListsTests", ["PropertyLists"]),
    tests("PreferencesTests", ["PropertyLists", "Preferences"]),
    tests("ArgumentsTests", ["Paths", "Arguments"]),
    tests("SealTests", ["PropertyLists", "Seal"]),
    tests("LinuxKitTests", ["LinuxKit"]),
    tests("CryptoTests", ["LinuxKit", "Crypto", "TestSupport"]),
    tests(
      "StoreTests",
      [
        "Paths", "Policy", "Containers", "PropertyLists", "Seal", "LinuxKit", "Store",
        "TestSupport", "sandboxfs",
      ]),
    tests(
      "MobileBackupTests",
      [
        "Paths", "Policy", "Containers", "PropertyLists", "BackupFormat", "LinuxKit", "Store",
        "MobileBackup", "TestSupport", "sandboxfs",
      ]),
    tests("PurgingTests", ["Policy", "LinuxKit", "Purging", "TestSupport"]),
    tests("ViewTests", ["Paths", "Policy", "Containers", "LinuxKit", "FuseKit", "View"]),
    tests(
      "MountTests",
      [
        "Paths", "Policy", "Containers", "LinuxKit", "Store", "Mounting", "TestSupport",
        "sandboxfs",
        "sandboxfs-view", "MountHelper",
      ]),
    tests(
      "ConformanceTests",
      ["Containers", "LinuxKit", "TestSupport", "sandboxfs-view"]),
    tests("LaunchTests", ["Containers", "LinuxKit", "Launch"]),
    tests("AppContainerTests", ["AppContainer"]),
    tests("GoldenTests", ["Arguments", "LinuxKit", "TestSupport", "sandboxfs", "MountHelper"]),
    .target(
      name: "FuzzTargets",
      dependencies: [
        "Paths", "Policy", "Containers", "PropertyLists", "Preferences", "Arguments", "Seal",
        "BackupFormat",
      ],
      path: "Tests/Fuzz/Targets", swiftSettings: strict),
    tests("FuzzTests", ["FuzzTargets"]),
    tests("TidyTests", []),
  ]
)
