# Lets sandboxfs, and the bwrap that it starts, make user namespaces. Nothing else is changed: what
# confines an app is its namespaces and its view.
abi <abi/4.0>,
include <tunables/global>

profile sandboxfs @LIBEXEC@/sandboxfs flags=(unconfined) {
  userns,

  include if exists <local/sandboxfs>
}
