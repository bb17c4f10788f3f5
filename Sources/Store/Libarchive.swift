// The door to libarchive.
internal import CArchive
internal import LinuxKit

/// Its functions; the first use loads it.
let libarchive: carchive_functions = loadedFunctions(by: carchive_load)
