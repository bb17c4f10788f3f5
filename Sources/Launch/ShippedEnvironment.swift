// The table of variables as it is shipped, in the form in which `environment.d` has more of them.

extension EnvironmentTable {
  /// The shipped table, which `sandboxfs run --show-environment` prints.
  public static let shipped = """
    # NAME=VALUE   the variable has this value
    # NAME         the variable is passed on, if whoever starts the program has it
    # NAME?=VALUE  the variable is passed on; who does not have it gets this value
    # -NAME        there is no such variable, whatever a line before says
    # mkdir PATH   this directory below the home is made, mode 0700, before the program starts
    #
    # The last line about a variable holds. ${home} is the container's home directory.

    # Who and where.
    HOME=${home}
    USER=app
    LOGNAME=app
    SHELL=/bin/sh
    PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games

    # Language, time and terminal are the person's.
    LANG?=C.UTF-8
    LANGUAGE
    LC_ALL
    LC_ADDRESS
    LC_COLLATE
    LC_CTYPE
    LC_IDENTIFICATION
    LC_MEASUREMENT
    LC_MESSAGES
    LC_MONETARY
    LC_NAME
    LC_NUMERIC
    LC_PAPER
    LC_TELEPHONE
    LC_TIME
    TZ
    TERM
    COLORTERM
    NO_COLOR

    # Temporary files: POSIX programs and Swift read TMPDIR; GNUstep reads TEMP.
    TMPDIR=${home}/tmp
    TEMP=${home}/tmp
    TMP=${home}/tmp

    # XDG programs.
    XDG_CACHE_HOME=${home}/Library/Caches
    XDG_CONFIG_HOME=${home}/Library/Preferences
    XDG_DATA_HOME=${home}/Library/Application Support
    XDG_STATE_HOME=${home}/Library/Application Support/State
    XDG_RUNTIME_DIR=${home}/tmp/run
    mkdir Library/Application Support/State
    mkdir tmp/run

    # Swift Foundation and GNUstep.
    CFFIXED_USER_HOME=${home}
    GNUSTEP_CONFIG_FILE=/etc/GNUstep/GNUstep.conf

    # Programs that keep settings in a service of the session, which is not there: a file.
    GSETTINGS_BACKEND=keyfile

    # Programs that ignore XDG, and what they do read: settings,
    CONDARC=${home}/Library/Preferences/condarc
    GIT_CONFIG_GLOBAL=${home}/Library/Preferences/gitconfig
    INPUTRC=${home}/Library/Preferences/inputrc
    IPYTHONDIR=${home}/Library/Preferences/ipython
    JUPYTER_CONFIG_DIR=${home}/Library/Preferences/jupyter
    NPM_CONFIG_USERCONFIG=${home}/Library/Preferences/npmrc

    # histories and what else is not worth a backup of its own,
    GDBHISTFILE=${home}/Library/Application Support/State/gdb_history
    HISTFILE=${home}/Library/Application Support/State/shell_history
    LESSHISTFILE=${home}/Library/Application Support/State/less_history
    MYSQL_HISTFILE=${home}/Library/Application Support/State/mysql_history
    NODE_REPL_HISTORY=${home}/Library/Application Support/State/node_history
    PSQL_HISTORY=${home}/Library/Application Support/State/psql_history
    PYTHON_HISTORY=${home}/Library/Application Support/State/python_history
    REDISCLI_HISTFILE=${home}/Library/Application Support/State/redis_history
    SQLITE_HISTORY=${home}/Library/Application Support/State/sqlite_history
    ICEAUTHORITY=${home}/tmp/run/ICEauthority

    # data,
    CARGO_HOME=${home}/Library/Application Support/Cargo
    GEM_HOME=${home}/Library/Application Support/Ruby
    GNUPGHOME=${home}/Library/Application Support/GnuPG
    mkdir Library/Application Support/GnuPG
    GOPATH=${home}/Library/Application Support/Go
    GRADLE_USER_HOME=${home}/Library/Application Support/Gradle
    JULIA_DEPOT_PATH=${home}/Library/Application Support/Julia:
    OPAMROOT=${home}/Library/Application Support/Opam
    PYTHONUSERBASE=${home}/Library/Application Support/Python
    RUSTUP_HOME=${home}/Library/Application Support/Rustup
    R_LIBS_USER=${home}/Library/Application Support/R
    WINEPREFIX=${home}/Library/Application Support/Wine

    # and caches. Java reads its options from one variable.
    GEM_SPEC_CACHE=${home}/Library/Caches/gem
    PYTHON_EGG_CACHE=${home}/Library/Caches/python-eggs
    npm_config_cache=${home}/Library/Caches/npm
    JAVA_TOOL_OPTIONS=-Djava.io.tmpdir=${home}/tmp -Duser.home=${home} \
    -Djava.util.prefs.userRoot=${home}/Library/Preferences
    """
}
