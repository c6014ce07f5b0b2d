/** Exit codes of the command; any other code means that it did not run to its end. */
export const agentSocketExit = { there: 0, missing: 16 } as const;

/**
 * A script for a VM's container: polls the kernel's tables for up to $1 seconds for a TCP socket. $2 is its
 * state (0A: listening, 01: established), $4 its local ($3 = 2) or remote ($3 = 3) port in hexadecimal. If $5
 * is not empty, its address must be one of those in $5. A connection to a broker must be seen twice, because
 * the agent subscribes after it has connected.
 */
export const agentSocketScript = `set -u
command -v awk > /dev/null || { echo "the stemcell has no awk" >&2; exit 1; }
[ -r /proc/net/tcp ] || { echo "/proc/net/tcp cannot be read" >&2; exit 1; }
look() {
  cat /proc/net/tcp /proc/net/tcp6 2>/dev/null |
    awk -v state="$1" -v column="$2" -v port="$3" -v addresses="$4" '
      $4 == state {
        split($column, part, ":")
        if (part[2] == port && (addresses == "" || index(" " addresses " ", " " part[1] " "))) found = 1
      }
      END { exit !found }'
}
left=$(($1 * 4))
shift
seen=0
while :; do
  if look "$@"; then seen=$((seen + 1)); else seen=0; fi
  if [ "$seen" -gt 0 ]; then
    [ "$1" = 01 ] && [ "$seen" -lt 2 ] || exit 0
  fi
  left=$((left - 1))
  [ "$left" -gt 0 ] || exit 16
  sleep 0.25
done
`;
