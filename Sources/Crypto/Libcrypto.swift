// The door to libcrypto.
internal import CCrypto
internal import LinuxKit

/// Its functions; the first use loads it.
let libcrypto: ccrypto_functions = loadedFunctions(by: ccrypto_load)
