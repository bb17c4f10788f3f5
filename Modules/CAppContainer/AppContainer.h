// Where an app's things belong, for programs in C, Objective-C and whatever calls C.
//
// Link with -lAppContainer. All paths are absolute, without a slash at their end, and valid until
// the program ends.
#ifndef APP_CONTAINER_H
#define APP_CONTAINER_H

#ifdef __cplusplus
extern "C" {
#endif

/// The home directory, which holds Documents, Library and tmp.
const char *app_container_home_path(void);

/// The bundle that the program comes from; nothing can be written there.
const char *app_container_app_path(void);

/// The person's documents, which are backed up.
const char *app_container_doc_path(void);

/// Settings, which are backed up.
const char *app_container_lib_pref_path(void);

/// What can be made again: not backed up, and removed when room is needed.
const char *app_container_lib_cache_path(void);

/// What nobody needs after the last process of the app has ended.
const char *app_container_tmp_path(void);

/// Makes a directory, and those above it, if it is not there.
///
/// 1 if there is a directory afterwards; 0 and errno if not.
int app_container_ensure_directory(const char *path);

/// Whether a file or directory is marked to be left out of backups: 1 or 0; -1 and errno.
int app_container_is_excluded_from_backup(const char *path);

/// Marks a file or directory to be left out of backups, or takes the mark away. 0; -1 and errno.
int app_container_set_excluded_from_backup(const char *path, int excluded);

/// The path of a resource of the bundle, in the person's language if it is there in several.
///
/// To be given to free(3); NULL if there is none.
char *app_container_resource_path(const char *name);

/// A text of the bundle in the person's language, from TABLE.strings, or Localizable.strings if
/// table is NULL; a copy of the key if there is none. Valid until the program ends.
const char *app_container_localized_string(const char *key, const char *table);

#ifdef __cplusplus
}
#endif

#endif
