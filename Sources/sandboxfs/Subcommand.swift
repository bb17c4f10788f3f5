// The table of subcommands: each is declared, with what it does, in the file of its name.

internal import Arguments

/// What one word behind `sandboxfs` does, or two.
struct Subcommand: Sendable {
  /// What it is called and takes.
  let command: Command
  /// The exit status of a usage error; 2 as everywhere, but for those that pass on another's.
  var usageStatus: Int32 = 2
  /// The exit status when it fails.
  var failureStatus: Int32 = 1
  /// Does it; the exit status.
  ///
  /// Whatever it throws is printed as one line behind the subcommand's name.
  let run: @Sendable (ParsedArguments) throws -> Int32
}

/// All subcommands, in the order of help.
let subcommands: [Subcommand] = [
  installSubcommand,
  uninstallSubcommand,
  listSubcommand,
  infoSubcommand,
  mountSubcommand,
  unmountSubcommand,
  statusSubcommand,
  upgradeSubcommand,
  runSubcommand,
  execSubcommand,
  psSubcommand,
  killSubcommand,
  grantSubcommand,
  revokeSubcommand,
  grantsSubcommand,
  defaultsReadSubcommand,
  defaultsWriteSubcommand,
  defaultsDeleteSubcommand,
  defaultsExportSubcommand,
  defaultsImportSubcommand,
  settingsSubcommand,
  logSubcommand,
  quotaSubcommand,
  checkSubcommand,
  sealSubcommand,
  signSubcommand,
  verifySubcommand,
  keygenSubcommand,
  policyExplainSubcommand,
  policyShowSubcommand,
  policyCheckSubcommand,
  policyTestSubcommand,
  policyDiffSubcommand,
  policySetSubcommand,
  policyUnsetSubcommand,
  policyReloadSubcommand,
  policyLearnSubcommand,
  backupMakeSubcommand,
  backupListSubcommand,
  backupShowSubcommand,
  backupVerifySubcommand,
  backupDiffSubcommand,
  restoreSubcommand,
  excludeSubcommand,
  includeSubcommand,
  purgeSubcommand,
  duSubcommand,
  exportSubcommand,
  importSubcommand,
  completionSubcommand,
  helpSubcommand,
  versionSubcommand,
]

/// The program as its help, its completion and its parser see it.
let sandboxfs = Program(
  name: "sandboxfs",
  summary: "Gives each app its own Documents, Library and tmp, and nothing of any other.",
  examples: [
    "sandboxfs install /usr/lib/GNUstep/Applications/TextEdit.app",
    "sandboxfs run org.gnustep.TextEdit",
  ],
  sharedOptions: [storeOption],
  commands: subcommands.map(\.command),
  groups: [
    CommandGroup(
      name: "policy", summary: "Explains, shows, checks, compares, changes, learns rules."),
    CommandGroup(
      name: "defaults", summary: "Shows and changes the preferences of apps."),
    CommandGroup(
      name: "backup", summary: "Saves the data of apps, and looks into what was saved.",
      implied: "make"),
  ])

/// `--store DIR`, which every subcommand takes.
let storeOption = Option(
  "store", value: "DIR", .directory,
  summary: "the store; else $SANDBOXFS_STORE, else /var/lib/sandboxfs for root and "
    + "~/.local/share/sandboxfs for a user")

/// The statuses of a subcommand that has no others.
let plainStatuses = [
  ExitStatus("0", "it is done"), ExitStatus("1", "it could not be done; one line says why"),
  ExitStatus("2", "the command line was not understood"),
]

/// The help text about one command.
func help(about command: Command) -> String {
  command.help(of: sandboxfs.name, shared: sandboxfs.sharedOptions)
}

/// Why a subcommand could not do its work, where no other error says it.
struct Failure: Error, CustomStringConvertible {
  /// What is wrong and what to do, on one line.
  let description: String
  /// Whether the command line itself is at fault.
  let isUsage: Bool

  init(_ description: String, isUsage: Bool = false) {
    self.description = description
    self.isUsage = isUsage
  }
}
