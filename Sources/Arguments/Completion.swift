// Completion scripts for the shells, written from the declarations.

extension Program {
  /// A shell that completion can be written for.
  public enum Shell: String, CaseIterable, Sendable { case bash, zsh, fish }

  /// The script that completes this program's command lines in `shell`.
  ///
  /// Identifiers of apps are asked of `NAME list --quiet`.
  public func completion(for shell: Shell) -> String {
    switch shell {
    case .bash: bash
    case .zsh: zsh
    case .fish: fish
    }
  }
}

/// A text as one word of a shell.
private func quoted(_ text: String) -> String {
  "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#)
    + "'"
}

extension Command {
  fileprivate func words(_ shared: [Option]) -> String {
    (options + shared).flatMap(\.forms).joined(separator: " ") + " --help"
  }
}

// MARK: - bash

extension Program {
  private var bash: String {
    let commandWords = firstWords.map(\.name).joined(separator: " ")
    let programWords = (sharedOptions.flatMap(\.forms) + ["--version", "--help"])
      .joined(separator: " ")
    let groupCases = groups.map { group in
      let words = commands(of: group).map(\.word).joined(separator: " ")
      return "    \(group.name)) options=--help operands=\(quoted(words)) ;;"
    }
    let cases = commands.map { command in
      """
          \(quoted(command.name)))
            options=\(quoted(command.words(sharedOptions)))
      \(bashValues(command.options + sharedOptions))
            operands=\(quoted(bashWord(command.positionals.first?.subject ?? .free))) ;;
      """
    }
    return """
      # bash completion for \(name). Written by '\(name) completion bash'.
      _\(name)() {
        local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
        local command= word options operands values=
        for word in "${COMP_WORDS[@]:1:COMP_CWORD - 1}"; do
          case $command:$word in
            *:--) return ;;
            \(firstWords.map { ":" + $0.name }.joined(separator: " | "))) command=$word ;;
      \(bashGroups)
          esac
        done
        case $command in
          '')
            options=\(quoted(programWords))
      \(bashValues(sharedOptions))
            operands=\(quoted(commandWords)) ;;
      \((groupCases + cases).joined(separator: "\n"))
        esac
        [ -n "$values" ] || { case $current in -*) values=$options ;; *) values=$operands ;; esac; }
        case $values in
          @app) values=$(\(name) list --quiet 2> /dev/null) ;;
          @directory) compopt -o dirnames; COMPREPLY=(); return ;;
          @file) compopt -o default; COMPREPLY=(); return ;;
          @free) COMPREPLY=(); return ;;
        esac
        mapfile -t COMPREPLY < <(compgen -W "$values" -- "$current")
      }
      complete -F _\(name) \(name)

      """
  }

  /// The cases of bash that take a group's second word.
  private var bashGroups: String {
    groups.map { group in
      let words = commands(of: group).map { "\(group.name):\($0.word)" }
      return "      \(words.joined(separator: " | "))) command=\"$command $word\" ;;"
    }.joined(separator: "\n")
  }

  /// The case of bash that looks at the word before: it may want a value.
  private func bashValues(_ options: [Option]) -> String {
    let cases = options.filter { $0.value != nil }.map { option in
      "\(option.forms.joined(separator: " | "))) values=\(quoted(bashWord(option.subject))) ;;"
    }
    guard !cases.isEmpty else { return "      :" }
    return "      case $previous in \(cases.joined(separator: " ")) esac"
  }

  private func bashWord(_ subject: Subject) -> String {
    switch subject {
    case .app: "@app"
    case .directory: "@directory"
    case .file: "@file"
    case .oneOf(let words): words.joined(separator: " ")
    case .free: "@free"
    }
  }
}

// MARK: - zsh

extension Program {
  private var zsh: String {
    let described = firstWords.map { "    " + quoted("\($0.name):\($0.summary)") }
    let cases =
      commands.filter { !$0.name.contains(" ") }.map { "    " + zshCase($0.name, $0) }
      + groups.map(zshGroup)
    return """
      #compdef \(name)
      # zsh completion for \(name). Written by '\(name) completion zsh'.
      _\(name)_apps() {
        local -a apps
        apps=(${(f)"$(\(name) list --quiet 2> /dev/null)"})
        compadd -a apps
      }
      _\(name)() {
        local curcontext=$curcontext state line
        local -a commands
        commands=(
      \(described.joined(separator: "\n"))
        )
        _arguments -C \(sharedOptions.flatMap(zshOption).joined(separator: " ")) \
      '--version[say the version]' '(- *)'{-h,--help}'[say this]' '1: :->command' '*:: :->rest'
        case $state in
          command) _describe command commands; return ;;
        esac
        case $line[1] in
      \(cases.joined(separator: "\n"))
        esac
      }
      _\(name) "$@"

      """
  }

  private func zshCase(_ word: String, _ command: Command) -> String {
    let words =
      (command.options + sharedOptions).flatMap(zshOption)
      + command.positionals.map(zshPositional)
      + ["'(- *)'{-h,--help}'[say this]'"]
    return "\(word)) _arguments -S \(words.joined(separator: " ")) ;;"
  }

  /// The case of a group's first word: once more the same for the second.
  private func zshGroup(_ group: CommandGroup) -> String {
    let members = commands(of: group)
    let described = members.map { quoted("\($0.word):\($0.command.summary)") }
    let cases = members.map { "        " + zshCase($0.word, $0.command) }
    return """
          \(group.name))
            commands=(\(described.joined(separator: " ")))
            _arguments -C '(- *)'{-h,--help}'[say this]' '1: :->command' '*:: :->rest'
            case $state in
              command) _describe command commands; return ;;
            esac
            case $line[1] in
      \(cases.joined(separator: "\n"))
            esac ;;
      """
  }

  private func zshOption(_ option: Option) -> [String] {
    let value = option.value.map { ":\($0):\(zshAction(option.subject))" } ?? ""
    let text = option.summary.filter { $0 != "[" && $0 != "]" }
    let name = option.name.isEmpty ? nil : "--\(option.name)\(option.value == nil ? "" : "=")"
    let letter = option.letter.map { "-\($0)\(option.value == nil ? "" : "+")" }
    return [letter, name].compactMap(\.self).map { quoted("\($0)[\(text)]\(value)") }
  }

  private func zshPositional(_ positional: Positional) -> String {
    let many = positional.count == .any || positional.count == .atLeastOne
    return quoted("\(many ? "*" : ""):\(positional.name):\(zshAction(positional.subject))")
  }

  private func zshAction(_ subject: Subject) -> String {
    switch subject {
    case .app: "_\(name)_apps"
    case .directory: "_directories"
    case .file: "_files"
    case .oneOf(let words): "(\(words.joined(separator: " ")))"
    case .free: " "
    }
  }
}

// MARK: - fish

extension Program {
  private var fish: String {
    var lines = [
      "# fish completion for \(name). Written by '\(name) completion fish'.",
      "complete -c \(name) -f",
    ]
    for word in firstWords {
      lines.append(
        "complete -c \(name) -n __fish_use_subcommand -a \(word.name) -d \(quoted(word.summary))")
    }
    lines += groups.flatMap(fishGroup)
    lines += sharedOptions.map { "complete -c \(name) \(fishOption($0))" }
    for command in commands {
      let words = command.name.split(separator: " ").map { "__fish_seen_subcommand_from \($0)" }
      let seen = "complete -c \(name) -n \(quoted(words.joined(separator: "; and ")))"
      lines += command.options.map { "\(seen) \(fishOption($0))" }
      if let first = command.positionals.first, let action = fishAction(first.subject) {
        lines.append("\(seen) \(action)")
      }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// The second words of a group, as long as none of them is there.
  private func fishGroup(_ group: CommandGroup) -> [String] {
    let members = commands(of: group)
    let condition =
      "__fish_seen_subcommand_from \(group.name); and not __fish_seen_subcommand_from "
      + members.map(\.word).joined(separator: " ")
    return members.map {
      "complete -c \(name) -n \(quoted(condition)) -a \($0.word) -d \(quoted($0.command.summary))"
    }
  }

  private func fishOption(_ option: Option) -> String {
    let letter = option.letter.map { "-s \($0) " } ?? ""
    let name = option.name.isEmpty ? "" : "-l \(option.name) "
    let value =
      option.value == nil ? "" : "-r " + (fishAction(option.subject).map { $0 + " " } ?? "")
    return letter + name + value + "-d " + quoted(option.summary)
  }

  private func fishAction(_ subject: Subject) -> String? {
    switch subject {
    case .app: "-a '(\(name) list --quiet 2> /dev/null)'"
    case .directory: "-a '(__fish_complete_directories)'"
    case .file: "-F"
    case .oneOf(let words): "-a \(quoted(words.joined(separator: " ")))"
    case .free: nil
    }
  }
}
