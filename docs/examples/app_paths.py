"""The places of an app in Python, by the library."""

import ctypes
import sys

library = ctypes.CDLL(sys.argv[1])
for name in ["home", "app", "doc", "lib_pref", "lib_cache", "tmp"]:
    function = getattr(library, f"app_container_{name}_path")
    function.restype = ctypes.c_char_p
    print(f"{name}={function().decode()}")
library.app_container_localized_string.restype = ctypes.c_char_p
print(f"text={library.app_container_localized_string(b'Good morning', None).decode()}")
