# What the scripts share: finding the toolchain, installing packages, saying what is done.
# Sourced, not run.

repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# What it takes to build sandboxfs.
build_packages=(libarchive-dev libfuse3-dev libmount-dev libseccomp-dev libsqlite3-dev libssl-dev
  pkg-config)

# What sandboxfs itself calls.
runtime_packages=(fuse3 bubblewrap)

# GNUstep applications that the tests and the demonstration install: none of them is ours.
application_packages=(textedit.app gomoku.app edenmath.app agenda.app terminal.app)

# What scripts/programs runs besides what the tests have: each keeps files somewhere.
program_packages=(chromium default-jdk-headless featherpad less locales mousepad openssh-client
  python3-pip vim)

# A screen without a monitor, and what looks at its windows. (Each application brings GNUstep's
# drawing back end.)
screen_packages=(xvfb xdotool x11-utils imagemagick)

say() { printf '%s\n' "$*"; }

step() { printf '\n== %s\n' "$*"; }

fail() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

need_root() { [ "$(id -u)" = 0 ] || fail "run this as root"; }

missing_packages() {
  local package
  for package in "$@"; do
    dpkg-query --show --showformat='${db:Status-Abbrev}' "$package" 2> /dev/null |
      grep -q '^.i' || printf '%s\n' "$package"
  done
}

# Installs those of the packages that are not there; asks the network nothing if all are.
install_packages() {
  command -v dpkg-query > /dev/null ||
    fail "this installs Debian packages and there is no dpkg here; needed: $*"
  local missing
  mapfile -t missing < <(missing_packages "$@")
  [ "${#missing[@]}" -gt 0 ] || return 0
  need_root
  say "installing: ${missing[*]}"
  apt-get -o DPkg::Lock::Timeout=600 -q -q update < /dev/null
  DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0 -q -q \
    install --yes --no-install-recommends "${missing[@]}" < /dev/null > /dev/null
}

# Puts swift on the PATH.
find_swift() {
  command -v swift > /dev/null || PATH=/opt/swift/usr/bin:$PATH
  command -v swift > /dev/null ||
    fail "no Swift toolchain: put swift on the PATH or in /opt/swift/usr/bin (swift.org/install)"
}

# Where what was built lies; the same arguments as swift build's.
binary_directory() { (cd "$repository" && swift build "$@" --show-bin-path); }

# How a release is linked, so that a command starts soon: what a program looks for, maps and
# corrects before it begins takes longer than most of what it then does. The runtime of C is linked
# in as that of C++ is; no library is looked for beside the program; nothing is offered to plugins,
# which there are none of; and where lld and glibc 2.36 are there, the 26,000 places that depend on
# where the program lies are noted in 5 KiB instead of 600.
release_options() {
  local libc
  printf '%s\n' --disable-local-rpath -Xlinker "-L$repository/.build/static" \
    -Xlinker --no-export-dynamic -Xswiftc -Xclang-linker -Xswiftc -static-libgcc
  libc=$(getconf GNU_LIBC_VERSION 2> /dev/null) || return 0
  command -v ld.lld > /dev/null || return 0
  printf '%s\n' 2.36 "${libc#glibc }" | sort --check=quiet --version-sort || return 0
  printf '%s\n' -Xswiftc -use-ld=lld -Xlinker -z -Xlinker pack-relative-relocs
}

# Builds a release. The C++ library, which the runtime of Swift needs, is linked in as well: to load
# it takes a quarter of the time in which a command starts.
build_release() {
  local archive options
  archive=$(clang -print-file-name=libstdc++.a)
  [ -f "$archive" ] || fail "libstdc++.a is missing: it comes with Debian's libstdc++-12-dev"
  mkdir -p "$repository/.build/static"
  ln -sfn "$archive" "$repository/.build/static/libstdc++.a"
  mapfile -t options < <(release_options)
  (cd "$repository" && swift build -c release --static-swift-stdlib "${options[@]}")
}

# Where a release lies.
release_directory() { binary_directory -c release --static-swift-stdlib; }

# Every view in this namespace whose daemon is gone: its mount point, as /proc/self/mountinfo writes
# it.
dead_views() {
  local point
  awk '/ - fuse[.]sandboxfs / { print $5 }' /proc/self/mountinfo |
    while read -r point; do
      timeout 5 stat --file-system -- "$(printf '%b' "${point//\\/\\0}")" > /dev/null 2>&1 ||
        printf '%s\n' "$point"
    done
}

# Every daemon that was built here and runs: its pid.
running_daemons() {
  local exe
  for exe in /proc/[0-9]*/exe; do
    case $(readlink "$exe" 2> /dev/null) in
      "$repository"/*/sandboxfs-view*) basename "$(dirname "$exe")" ;;
    esac
  done
}
