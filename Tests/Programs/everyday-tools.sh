#!/bin/sh
# What everyday tools make of a directory: the same on a view as on any disk.
#
# Usage: everyday-tools.sh DIRECTORY. Prints nothing that depends on where or when it ran, so that
# two outputs can be compared.
set -eu
cd "$1"
umask 022

say() { printf '== %s\n' "$*"; }

# Names, kinds, modes, links, sizes and times (of files) below a directory.
listing() {
  (cd "$1" && find . \( -type d -printf '%P %y %m\n' \) -o -printf '%P %y %m %n %s %TY%Tm%Td%TH%TM%TS %l\n' |
    LC_ALL=C sort)
}

say git
export GIT_AUTHOR_DATE='2024-01-01T00:00:00Z' GIT_COMMITTER_DATE='2024-01-01T00:00:00Z'
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=A
export GIT_COMMITTER_EMAIL=a@example.org
git init -q -b main repository
cd repository
for number in 1 2 3 4 5 6 7 8; do
  mkdir -p "directory $number"
  seq "$number" 2000 >"directory $number/numbers"
  ln -s numbers "directory $number/link"
  git add -A
  git commit -q -m "Add $number"
done
git mv 'directory 1' 'directory 9'
git commit -q -m Move
git gc -q
git fsck --full --strict 2>&1
git log --format='%H %s'
git status --porcelain
git grep -c 1999 -- 'directory 2'
git clone -q . ../clone
git -C ../clone rev-parse HEAD
cd ..

say sqlite3
sqlite3 base.db 'PRAGMA journal_mode=WAL; CREATE TABLE t(writer INTEGER, n INTEGER);'
write_rows() {
  series='WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 20)'
  {
    echo 'PRAGMA busy_timeout=20000;'
    for _ in $(seq 1 50); do echo "$series INSERT INTO t SELECT $1, n FROM s;"; done
  } | sqlite3 base.db >/dev/null
}
write_rows 1 &
writer=$!
write_rows 2
wait "$writer"
sqlite3 base.db 'PRAGMA integrity_check; SELECT writer, count(*), sum(n) FROM t GROUP BY writer;
  PRAGMA wal_checkpoint(TRUNCATE); VACUUM; PRAGMA integrity_check;'

say python3 -m venv
python3 -m venv --without-pip environment
environment/bin/python -c 'import sys; print(sys.prefix != sys.base_prefix, sys.version_info.major)'
for place in environment/lib/python3*/site-packages; do
  printf 'def f():\n  return 42\n' >"$place/answer.py"
done
environment/bin/python -c 'import answer; print(answer.f())'
ls environment/lib/python3*/site-packages/__pycache__ | sed 's/cpython-[0-9]*/cpython/'

say a tree
mkdir -p tree/deep/er 'tree/with blank' tree/empty
seq 1 5000 >tree/deep/er/numbers
ln tree/deep/er/numbers tree/hard
ln tree/hard 'tree/with blank/hard'
ln -s deep/er/numbers tree/soft
ln -s /nowhere/at/all tree/dangling
printf 'x' >"tree/$(printf 'latin1-\351')"
printf 'x' >"tree/$(printf 'new\nline')"
truncate -s 1M tree/sparse
mkfifo tree/pipe
touch tree/empty-file
chmod 751 tree/deep
chmod 640 tree/hard
chmod 400 tree/empty-file
setfattr -n user.note -v "a value" tree/hard
setfattr -n user.empty tree/deep
touch -d '2001-02-03 04:05:06.123456789' tree/hard tree/sparse tree/empty-file
touch -h -d '2002-02-03 04:05:06.987654321' tree/soft tree/dangling
touch -d '2003-02-03 04:05:06.111111111' tree/pipe tree/latin1* tree/new*
find tree -type d -exec touch -d '2004-05-06 07:08:09.5' {} +
listing tree

say rsync -aHAX
rsync -aHAX tree/ copy/
listing tree >tree.list
listing copy >copy.list
cmp tree.list copy.list
getfattr -d copy/hard copy/deep | sort
rsync -aHAXn --itemize-changes tree/ copy/
diff -r --no-dereference tree copy 2>&1 | grep -v fifo || :

say tar
tar --xattrs --acls -cf tree.tar tree
mkdir out
tar --xattrs --acls -xpf tree.tar -C out
listing out/tree >out.list
cmp tree.list out.list
getfattr -d out/tree/hard | sort
tar --compare -f tree.tar 2>&1

say cp and rm
cp -a tree cp
listing cp >cp.list
cmp tree.list cp.list
du --apparent-size -s cp | cut -f1
rm -rf cp out copy environment clone repository
ls
