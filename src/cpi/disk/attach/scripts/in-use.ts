/** Exit codes of the script; any other code means that it did not run to its end. */
export const inUseExit = { free: 0, busy: 16 } as const;

/**
 * Runs in the VM's container before its pod is recreated without disk $1. It checks for $2 seconds whether
 * the disk is used there, and writes the processes that use it to stdout. Changes nothing. A disk is used
 * while
 * - it, or a folder of it, is mounted anywhere but at its own path (the agent's /var/vcap/store), or
 * - a process has a file or folder of it open, mapped, or as its directory.
 * Without CAP_SYS_PTRACE root cannot read /proc of other users' processes, so the script checks them as that
 * user. A process that cannot be checked counts as using the disk.
 */
export const inUseScript = `set -u
place=/warden-cpi-dev/disks/$1
left=$(($2 * 4))
for tool in awk find grep; do
  command -v "$tool" > /dev/null || { echo "the stemcell has no $tool" >&2; exit 1; }
done
look='
  place=$1; process=/proc/$2
  readlink "$process/cwd" > /dev/null 2>&1 || exit 2
  found=$(find "$process/cwd" "$process/root" "$process/exe" "$process/fd" -maxdepth 1 \\
    \\( -lname "$place" -o -lname "$place/*" \\) -print 2>/dev/null | head -n 1)
  [ -n "$found" ] || ! grep -qsF " $place/" "$process/maps" || found=maps
  # its name alone: arguments may hold a password
  [ -z "$found" ] || { echo "process $2 ($(head -n 1 "$process/comm" 2>/dev/null)) uses it"; exit 0; }
  exit 1
'
mounts() {
  for file in /proc/[0-9]*/mountinfo; do
    cat "$file" 2>/dev/null
  done | awk -v place="$place" '
    function inside(path) { return path == root || root == "/" || index(path, root "/") == 1 }
    BEGIN {
      while ((getline line < "/proc/self/mountinfo") > 0) {
        split(line, field, " ")
        if (field[5] == place) { device = field[3]; root = field[4] }
      }
    }
    device != "" && $3 == device && inside($4) && $5 != place && !seen[$5]++ { print "it is mounted at " $5 }'
}
processes() {
  for directory in /proc/[0-9]*; do
    pid=\${directory#/proc/}
    [ "$pid" != "$$" ] && [ -e "$directory/exe" ] || continue
    sh -c "$look" look "$place" "$pid"
    [ "$?" -eq 2 ] || continue
    owner=$(awk '/^Uid:/ { user = $2 } /^Gid:/ { print user, $2 }' "$directory/status" 2>/dev/null) || continue
    [ -n "$owner" ] || continue
    setpriv --reuid "\${owner% *}" --regid "\${owner#* }" --clear-groups sh -c "$look" look "$place" "$pid" 2>/dev/null
    [ "$?" -lt 2 ] || [ ! -e "$directory/exe" ] || echo "process $pid cannot be looked at"
  done
}
until users=$(mounts; processes) && [ -z "$users" ]; do
  left=$((left - 1))
  [ "$left" -gt 0 ] || { echo "$users" | head -n 5; exit 16; }
  sleep 0.25
done
`;
