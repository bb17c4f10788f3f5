// The places of an app in C, by the library.
//
//   cc -I Modules/CAppContainer app-paths.c -L DIRECTORY -lAppContainer -o app-paths
#include <AppContainer.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  printf("home=%s\n", app_container_home_path());
  printf("app=%s\n", app_container_app_path());
  printf("doc=%s\n", app_container_doc_path());
  printf("pref=%s\n", app_container_lib_pref_path());
  printf("cache=%s\n", app_container_lib_cache_path());
  printf("tmp=%s\n", app_container_tmp_path());
  char films[4096], raw[4096 + 8];
  snprintf(films, sizeof films, "%s/Films", app_container_doc_path());
  snprintf(raw, sizeof raw, "%s/Raw", films);
  printf("ensured=%d\n", app_container_ensure_directory(raw));
  printf("excluded=%d", app_container_is_excluded_from_backup(films));
  printf("%d", app_container_set_excluded_from_backup(films, 1));
  printf("%d", app_container_is_excluded_from_backup(films));
  printf("%d", app_container_set_excluded_from_backup(films, 0));
  printf("%d\n", app_container_is_excluded_from_backup(films));
  char *greeting = app_container_resource_path("greeting.txt");
  printf("resource=%s\n", greeting ? greeting : "none");
  free(greeting);
  printf("text=%s\n", app_container_localized_string("Good morning", NULL));
  return 0;
}
