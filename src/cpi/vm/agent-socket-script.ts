/** Exit codes of the command; anything else means that it did not run to its end. */
export const agentSocketExit = { there: 0, missing: 16 } as const;

/**
 * Run in a VM's container: looks up to $1 seconds for a TCP socket in the kernel's tables. Its state is $2 (0A: listening,
 * 01: established), its local ($3 = 2) or remote ($3 = 3) port is $4, in hexadecimal, and where $5 is not empty its address
 * is one of those there. A connection to a broker has to be seen twice: the agent subscribes after it is there.
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
