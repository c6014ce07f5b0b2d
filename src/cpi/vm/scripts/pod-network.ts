/**
 * Shell function of the entry: `keep_network` restores the state that the pod's network namespace had before
 * any job ran. When the kubelet restarts only the container, it keeps the namespace with every rule,
 * interface, address, route and sysctl that jobs have made; a VM that is rebooted has none of these.
 *
 * - The first entry of a pod's sandbox records the state before anything else runs; later entries restore it.
 *   The init container (prepare-and-stop.ts), which a kubelet runs once in each sandbox, removes the record
 *   of the sandbox before. The record belongs to root, on the state volume.
 * - What the pod's network plug-ins and other init containers made is in the record, so it stays. What other
 *   programs add while the VM runs is removed as if jobs had made it.
 * - Without CAP_NET_ADMIN over the namespace no job can have changed it, so the function does nothing. It
 *   also does nothing in the network namespace of the machine, which is not the VM's: one sysctl exists only
 *   in that namespace.
 * - Packet filters: the tool that reads a set of tables also restores it. Garden brings its own iptables, so
 *   there may be tables of both kinds. Tables that are not in the record are emptied or deleted without being
 *   read. If this fails the container ends, because a stale rule sends one app's requests to another one.
 * - Interfaces that are not in the record are deleted; a few, such as tunl0, belong to the kernel, and are
 *   only emptied.
 * - A sysctl such as ip_forward sets others, so differences are written several times.
 * - Queueing disciplines that are not in the record are deleted. Sets of ipset, IPVS, IPsec and tracked
 *   connections stay.
 * - Addresses and routes that the kernel makes itself, or by router advertisements, are left to it.
 */
export const podNetwork = String.raw`xtables='iptables-legacy ip6tables-legacy iptables-nft ip6tables-nft'
network_links() {
  ip -o link show | awk '{
    name = $2; sub(/[@:].*/, "", name); mtu = address = "-"
    for (i = 3; i < NF; i++) { if ($i == "mtu") mtu = $(i + 1); if ($i ~ /^link\//) address = $(i + 1) }
    print name, mtu, ($3 ~ /[<,]UP[,>]/ ? "up" : "down"), (address ~ /:/ ? address : "-")
  }'
}
network_queues() {
  tc qdisc show | awk '$3 != "0:" && ($6 == "root" || $2 ~ /^(ingress|clsact)$/) { print $5, ($6 == "root" ? "root" : $2) }'
}
network_addresses() {
  ip -o address show | awk '/ dynamic / || $4 ~ /^fe80:/ { next } {
    words = $4
    for (i = 5; i < NF && $i !~ /^\\/; i++) {
      if ($i ~ /^(peer|brd|scope|metric)$/) words = words " " $i " " $(i + 1)
      if ($i ~ /^(noprefixroute|nodad|home)$/) words = words " " $i
    }
    print $2, words
  }'
}
network_routes() {
  for family in 4 6; do
    ip -o "-$family" route show table all | sed -E "/ proto (ra|redirect) | expires /d
s/\\\\/ /g; s/ (linkdown|dead)//g; s/ error -?[0-9]+//; s/[[:space:]]+/ /g; s/ $//; s/^/$family /"
  done
}
network_rules() {
  for family in 4 6; do
    ip "-$family" rule show | sed -E "s/^([0-9]+):[[:space:]]*/$family pref \1 /; s/ \[[a-z]*\]//g; s/ $//"
  done
}
# a few, such as stable_secret, cannot be read
network_sysctls() { find /proc/sys/net -type f -perm -600 -exec grep -sH '' {} + || :; }
# the tables of tool $1 that are there now
tables_of() {
  case $1 in
    *-legacy) cat "/proc/net/$(echo "$1" | cut -d t -f 1)_tables_names" 2> /dev/null ;;
    *) "$1-save" 2> /dev/null | sed -n 's/^\*//p' ;;
  esac
}
record_filters() {
  for tool in $xtables; do
    command -v "$tool-restore" > /dev/null || continue
    "$tool-save" > "$1/$tool" 2> /dev/null || rm "$1/$tool"
  done
  nft list tables > "$1/nft-tables" 2> /dev/null || { rm "$1/nft-tables"; return 0; }
  while read -r _ family name; do
    # the tables of iptables-nft are in its own record, and may have rules that nft prints and cannot read
    case $family in ip) tool=iptables-nft ;; ip6) tool=ip6tables-nft ;; *) tool= ;; esac
    if [ -n "$tool" ] && grep -qsx "\*$name" "$1/$tool"; then continue; fi
    echo "add table $family $name"
    echo "delete table $family $name"
    nft -s list table "$family" "$name" || return 1
  done < "$1/nft-tables" > "$1/nft"
}
empty_table() {
  case $1 in
    filter | security) set -- "$1" INPUT FORWARD OUTPUT ;;
    nat) set -- "$1" PREROUTING INPUT OUTPUT POSTROUTING ;;
    mangle) set -- "$1" PREROUTING INPUT FORWARD OUTPUT POSTROUTING ;;
    raw) set -- "$1" PREROUTING OUTPUT ;;
  esac
  echo "*$1"
  shift
  for chain in "$@"; do echo ":$chain ACCEPT [0:0]"; done
  echo COMMIT
}
restore_filters() {
  if [ -e "$1/nft-tables" ]; then
    nft list tables > "$1/now" || return 1
    { grep -vxFf "$1/nft-tables" "$1/now" | sed 's/^/delete /'; cat "$1/nft"; } | nft -f - || return 1
  fi
  for tool in $xtables; do
    [ -e "$1/$tool" ] || continue
    { for table in $(tables_of "$tool"); do
      grep -qx "\*$table" "$1/$tool" || empty_table "$table"
    done; cat "$1/$tool"; } > "$1/now"
    [ ! -s "$1/now" ] || "$tool-restore" < "$1/now" || return 1
  done
}
# the lines of file $1 that are not in file $2
only_in() { sort "$1" > "$1.sorted"; sort "$2" | comm -23 "$1.sorted" -; }
# Each function that restores a part prints what it cannot restore, and goes on.
changed_sysctls() {
  network_sysctls > "$1/now"
  only_in "$1/sysctls" "$1/now" | while IFS=: read -r path value; do [ ! -e "$path" ] || echo "$path:$value"; done
}
restore_sysctls() {
  for round in 1 2 3; do
    changed_sysctls "$1" > "$1/missing"
    while IFS=: read -r path value; do printf '%s\n' "$value" > "$path"; done < "$1/missing" 2> /dev/null
  done
  changed_sysctls "$1" | sed 's/^/entry: cannot be set again: /'
}
restore_links() {
  network_links > "$1/now"
  while read -r name _; do
    ! grep -q "^$name " "$1/links" || continue
    ip link delete dev "$name" 2> /dev/null || { ip address flush dev "$name" && ip link set dev "$name" down; } 2> /dev/null
  done < "$1/now"
  network_links > "$1/now"
  only_in "$1/links" "$1/now" > "$1/missing"
  while read -r name mtu state address; do
    [ "$mtu" = - ] || ip link set dev "$name" mtu "$mtu"
    [ "$address" = - ] || ip link set dev "$name" address "$address"
    ip link set dev "$name" "$state"
  done < "$1/missing"
}
restore_queues() {
  network_queues > "$1/now"
  only_in "$1/now" "$1/queues" > "$1/missing"
  while read -r name place; do tc qdisc delete dev "$name" "$place"; done < "$1/missing"
}
restore_addresses() {
  network_addresses > "$1/now"
  only_in "$1/now" "$1/addresses" > "$1/missing"
  while read -r name words; do ip address delete $words dev "$name"; done < "$1/missing"
  network_addresses > "$1/now"
  only_in "$1/addresses" "$1/now" > "$1/missing"
  while read -r name words; do
    case $words in *:*) words="$words nodad" ;; esac
    ip address add $words dev "$name"
  done < "$1/missing"
}
# routes through a gateway come last: the route to the gateway has to be there
restore_routes() {
  network_routes > "$1/now"
  only_in "$1/now" "$1/routes" | grep -v ' proto kernel' > "$1/missing"
  while read -r family words; do ip "-$family" route delete $words; done < "$1/missing"
  network_routes > "$1/now"
  only_in "$1/routes" "$1/now" | grep -v ' table local proto kernel' > "$1/missing"
  { grep -v ' via ' "$1/missing"; grep ' via ' "$1/missing"; } > "$1/now"
  while read -r family words; do ip "-$family" route add $words; done < "$1/now"
}
restore_routing_rules() {
  network_rules > "$1/now"
  only_in "$1/now" "$1/rules" > "$1/missing"
  while read -r family words; do ip "-$family" rule delete $words; done < "$1/missing"
  only_in "$1/rules" "$1/now" > "$1/missing"
  while read -r family words; do ip "-$family" rule add $words; done < "$1/missing"
}
record_network() {
  record_filters "$1" && network_sysctls > "$1/sysctls" && network_links > "$1/links" &&
    network_queues > "$1/queues" &&
    network_addresses > "$1/addresses" && network_routes > "$1/routes" && network_rules > "$1/rules"
}
keep_network() {
  record=$bosh/pod-network
  if [ -e /proc/sys/net/core/netdev_max_backlog ] || ! ip link set dev lo up 2> /dev/null; then return 0; fi
  if [ ! -d "$record" ]; then
    rm -rf "$record.new" && mkdir -m 700 "$record.new" && record_network "$record.new" && mv -T "$record.new" "$record"
    return
  fi
  restore_filters "$record" || return 1
  for part in links queues sysctls addresses routes routing_rules; do "restore_$part" "$record"; done
}
`;
