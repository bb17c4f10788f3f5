// The same for programs that call C: `Modules/CAppContainer/AppContainer.h` declares and describes
// it.
internal import Glibc
internal import Synchronization

/// Strings that were given away, each once: they stay until the program ends.
private let kept = Mutex<[String: UInt]>([:])

private func keep(_ text: String) -> UnsafePointer<CChar>? {
  let address = kept.withLock { strings in
    if let known = strings[text] { return known }
    let copy = UInt(bitPattern: strdup(text))
    strings[text] = copy
    return copy
  }
  return UnsafePointer(bitPattern: address)
}

/// `app_container_home_path` of the C header.
@_cdecl("app_container_home_path")
public func cHomePath() -> UnsafePointer<CChar>? { keep(AppContainer.homePath) }

/// `app_container_app_path` of the C header.
@_cdecl("app_container_app_path")
public func cAppPath() -> UnsafePointer<CChar>? { keep(AppContainer.appPath) }

/// `app_container_doc_path` of the C header.
@_cdecl("app_container_doc_path")
public func cDocPath() -> UnsafePointer<CChar>? { keep(AppContainer.docPath) }

/// `app_container_lib_pref_path` of the C header.
@_cdecl("app_container_lib_pref_path")
public func cLibPrefPath() -> UnsafePointer<CChar>? { keep(AppContainer.libPrefPath) }

/// `app_container_lib_cache_path` of the C header.
@_cdecl("app_container_lib_cache_path")
public func cLibCachePath() -> UnsafePointer<CChar>? { keep(AppContainer.libCachePath) }

/// `app_container_tmp_path` of the C header.
@_cdecl("app_container_tmp_path")
public func cTmpPath() -> UnsafePointer<CChar>? { keep(AppContainer.tmpPath) }

/// `app_container_ensure_directory` of the C header.
@_cdecl("app_container_ensure_directory")
public func cEnsureDirectory(_ path: UnsafePointer<CChar>) -> CInt {
  AppContainer.ensureDirectory(String(cString: path)) ? 1 : 0
}

/// `app_container_is_excluded_from_backup` of the C header.
@_cdecl("app_container_is_excluded_from_backup")
public func cIsExcludedFromBackup(_ path: UnsafePointer<CChar>) -> CInt {
  do throws(AppContainerError) {
    return try AppContainer.isExcludedFromBackup(String(cString: path)) ? 1 : 0
  } catch {
    errno = error.errno
    return -1
  }
}

/// `app_container_set_excluded_from_backup` of the C header.
@_cdecl("app_container_set_excluded_from_backup")
public func cSetExcludedFromBackup(_ path: UnsafePointer<CChar>, _ excluded: CInt) -> CInt {
  do throws(AppContainerError) {
    try AppContainer.setExcludedFromBackup(excluded != 0, String(cString: path))
    return 0
  } catch {
    errno = error.errno
    return -1
  }
}

/// `app_container_localized_string` of the C header.
@_cdecl("app_container_localized_string")
public func cLocalizedString(
  _ key: UnsafePointer<CChar>, _ table: UnsafePointer<CChar>?
) -> UnsafePointer<CChar>? {
  let key = String(cString: key)
  guard let table else { return keep(AppContainer.localizedString(key)) }
  return keep(AppContainer.localizedString(key, table: String(cString: table)))
}

/// `app_container_resource_path` of the C header.
@_cdecl("app_container_resource_path")
public func cResourcePath(_ name: UnsafePointer<CChar>) -> UnsafeMutablePointer<CChar>? {
  AppContainer.resourcePath(String(cString: name)).flatMap { strdup($0) }
}
