// The bytes that the fuzzer started from and those that once broke something, without a fuzzer.

import Foundation
import FuzzTargets
import Testing

private let corpus = URL(filePath: #filePath).deletingLastPathComponent()
  .deletingLastPathComponent().appending(path: "Fuzz/Corpus")

private struct Input: Sendable, CustomTestStringConvertible {
  let target: String
  let file: String

  var testDescription: String { "\(target)/\(file)" }

  static let all: [Input] = FuzzTarget.all.flatMap { target in
    let directory = corpus.appending(path: target.name).path
    let files = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
    return files.sorted().map { Input(target: target.name, file: $0) }
  }
}

@Suite struct CorpusTests {
  @Test(arguments: Input.all)
  private func `what is in the corpus keeps every promise`(_ input: Input) throws {
    let target = try #require(FuzzTarget.named(input.target))
    let bytes = [UInt8](try Data(contentsOf: corpus.appending(path: input.testDescription)))
    #expect(target.check(bytes) == nil)
  }

  @Test(arguments: FuzzTarget.all.map(\.name))
  func `every target has a corpus`(_ name: String) {
    #expect(Input.all.contains { $0.target == name })
  }
}
