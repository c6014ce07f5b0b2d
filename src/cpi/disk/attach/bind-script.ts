import { volumeFunctions } from './volume-functions.ts';

/**
 * The init container of an attachment: puts the volume into the VM's hub. Run again after a sandbox restart it finds
 * the volume there and mounts no second time. It refuses to bind where the hub is no tmpfs: a disk bound below the
 * plain directory would be removed with it by the kubelet (reference kubernetes.md 6.0).
 */
export const bindScript = `${volumeFunctions}
kind=$(awk '$5 == "/hub" { for (i = 7; i < NF; i++) if ($i == "-") found = $(i + 1) } END { print found }' /proc/self/mountinfo)
[ "$kind" = tmpfs ] || fail "the hub of the VM is not a tmpfs but '$kind': the disk is not mounted there"
[ -n "$(own_uid)" ] || fail "the pod's own uid does not show in the mount of /scratch"
is_bound && exit 0
at_entry=$(mounted_at "$entry")
[ -z "$at_entry" ] || fail "another volume ($at_entry) is mounted as disk $cid"
mkdir -p /volume/store "$entry" || fail "disk $cid cannot be written"
mount --bind /volume "$entry" || fail "disk $cid cannot be mounted into the hub"
is_bound || fail "disk $cid is not in the hub after mounting it"
`;
