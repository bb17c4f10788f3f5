// SQLite: the table of files of a backup.
#pragma once
#include <sqlite3.h>
