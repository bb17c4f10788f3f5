// The table of a bundle's chunks, which whoever can write a store can write.

import Seal

extension FuzzTarget {
  /// What is a table is exactly what is written for what it says, and all in it is found.
  static let chunkTable = FuzzTarget(name: "chunk-table") { bytes in
    guard let table = ChunkTable(checking: bytes.span) else { return nil }
    let items = table.items(in: bytes.span)
    guard (try? ChunkTable.encode(items)) == bytes else { return "it is written otherwise" }
    for (index, item) in items.enumerated() {
      guard table.find(path: item.path, in: bytes.span) == index else {
        return "entry \(index) is not found"
      }
      _ = table.resolve(path: item.path, in: bytes.span)
    }
    return nil
  }
}
