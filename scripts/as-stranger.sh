#!/usr/bin/env bash
# as-stranger.sh [LOCK]: what a stranger without root does, as uid 65534: clone, npm start, curl, npm stop, npm test, and a part of it
# again, with an empty HOME. Run as root, from a checkout. Tests have a network of their own; what comes before installs from the
# registry, in the network of others, and holds LOCK meanwhile.
set -euo pipefail
source=$(git rev-parse --show-toplevel)
top=$(mktemp -d)
path=$(echo "$PATH" | tr : '\n' | grep -v node_modules | grep -v node-gyp-bin | paste -sd:)
stranger=(setpriv --reuid 65534 --regid 65534 --clear-groups env -i "PATH=$path" "HOME=$top/home" LANG=C.UTF-8 CI=true)
as() { "${stranger[@]}" "$@"; }
# shellcheck disable=SC2016
as_apart() { unshare --net sh -c 'ip link set lo up && exec "$@"' apart "${stranger[@]}" "$@"; }
# npm_test WORD...: what fails beside CI's other lane is run again, and named there.
npm_test() {
  local -a failed=()
  rm -f "$top/failed"
  if as_apart FAILED_TEST_FILES="$top/failed" npm test -- "$@"; then return; fi
  [ ! -e "$top/failed" ] || mapfile -t failed < "$top/failed"
  [ ${#failed[@]} -gt 0 ] || return 1
  echo "=== once more: ${failed[*]}"
  as_apart node scripts/test.mjs "${failed[@]}" || return
  echo "=== UNSTEADY: ${failed[*]}"
}
cleanup() {
  (cd "$top/clone" && { as npm stop || true; as_apart npm run destroy -- --force; }) || true
  rm -rf "$top"
}
trap cleanup EXIT

mkdir "$top/home"
git clone --quiet --no-hardlinks "$source" "$top/clone"
chown -R 65534:65534 "$top"
cd "$top/clone"
exec 9> "${1:-$top/lock}"
flock 9
out=$(as npm start)
echo "$out"
url=$(echo "$out" | tail -n 1)
curl --fail --silent --show-error "$url"
as npm stop
flock --unlock 9
npm_test
# nothing of it stands in the clone, and it begins again there
left=$(as git status --porcelain)
[ -z "$left" ] || { echo "npm test left in the clone: $left"; exit 1; }
npm_test src/bosh/digest src/cluster/daemon/moved.test.ts
