// libarchive: the entries of a zip, one after the other.
#pragma once
#include <archive.h>
#include <archive_entry.h>
