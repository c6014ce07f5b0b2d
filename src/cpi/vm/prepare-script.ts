/** Directories of /var/vcap that outlive a restart of the container, each a folder of the state volume. */
export const stateDirectories = ['bosh', 'monit', 'jobs', 'packages', 'instance'] as const;

/**
 * The init container of a VM: fills the state volume from the image where that has not been done to its end, and
 * makes `disks` in the hub, without which no attachment can start, and `store` in the volumes that the pod has itself.
 * Its arguments are the state directories.
 */
export const prepareScript = `set -eu
umask 022
missing=
for name in "$@"; do
  [ -e "/state/.$name.filled" ] && continue
  [ ! -e "/state/$name" ] || rm -rf "/state/$name"
  missing="$missing $name"
done
[ -z "$missing" ] || (cd /state/. && mkdir -p $missing)
for name in $missing; do
  if [ -d "/var/vcap/$name" ]; then cp -a "/var/vcap/$name/." "/state/$name/"; fi
  : > "/state/.$name.filled"
done
mkdir -p /warden-cpi-dev/disks
for volume in /volumes/*; do
  if [ -d "$volume" ]; then mkdir -p "$volume/store"; fi
done
`;
