// `sandboxfs policy check FILE...`.

internal import Arguments
internal import Paths
internal import Policy
internal import Store

private let json = Option("json", summary: "print an array of objects, one for each mistake")

let policyCheckSubcommand = Subcommand(
  command: Command(
    name: "policy check", summary: "Reads files of rules and tells every mistake in them.",
    examples: [
      "sandboxfs policy check notes.profile",
      "sandboxfs policy check --as bundle Notes.app/sandbox.profile",
    ],
    discussion: [
      "Each mistake is one line, FILE:LINE:COLUMN: 'TEXT': expected ..., on standard error. The "
        + "files may include each other by name, the administrator's profiles and the shipped ones."
    ],
    positionals: [Positional("FILE", .file, .atLeastOne)], options: [layerOption, json],
    exitStatuses: [
      ExitStatus("0", "no mistake"), ExitStatus("1", "a mistake, or a file that can't be read"),
      ExitStatus("2", "the command line was not understood"),
    ])
) { arguments in
  var files: [ProfileFile] = []
  var isReadable = true
  for path in arguments.positionals {
    do throws(Failure) {
      files.append(try ProfileFile(path, arguments))
    } catch {
      complain("\(error)")
      isReadable = false
    }
  }
  let mistakes = mistakes(in: files, library: try location(arguments).profileLibrary())
  if arguments.has(json) {
    try Output.write(JSON.array(mistakes.map(object)).document)
  } else {
    for mistake in mistakes { complain("\(mistake)") }
  }
  return isReadable && mistakes.isEmpty ? 0 : 1
}

/// The mistakes of all files; one that is met again where a file includes another is told once.
private func mistakes(in files: [ProfileFile], library: [ProfileSource]) -> [ProfileError] {
  var mistakes: [ProfileError] = []
  var known: Set<[String]> = []
  for file in files {
    let others = files.filter { $0.source.name != file.source.name }.map(\.included)
    do throws(ProfileErrors) {
      _ = try PolicyEngine(layers: others + library + [file.source], bundleName: [])
    } catch {
      for mistake in error.errors {
        let name = mistake.file.split(separator: UInt8(ascii: "/")).last ?? []
        let key = [name.printable, "\(mistake.line):\(mistake.column)", mistake.expected]
        if known.insert(key).inserted { mistakes.append(mistake) }
      }
    }
  }
  return mistakes
}

private func object(_ mistake: ProfileError) -> JSON {
  .object([
    ("file", .string(mistake.file.printable)), ("line", .integer(Int64(mistake.line))),
    ("column", .integer(Int64(mistake.column))), ("text", .string(mistake.text.printable)),
    ("expected", .string(mistake.expected)),
  ])
}
