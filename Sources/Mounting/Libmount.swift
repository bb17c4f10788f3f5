// The door to libmount.
internal import CMount
internal import LinuxKit

/// Its functions; the first use loads it.
let libmount: cmount_functions = loadedFunctions(by: cmount_load)
