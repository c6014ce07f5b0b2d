/**
 * Shell function of the entry: makes root the owner of the folders of the data volume, with the modes of a
 * BOSH VM (bosh-agent: platform/linux_platform.go, SetupDataDir, SetupSharedMemory; agent/applier), before
 * any agent runs. A new volume is world-writable: a job user could replace `jobs` by programs that the agent
 * runs as root. No other process runs yet, so checking a path and then using it is safe here. The group is
 * vcap's if the container has it: an image without BOSH's users has no job user either, nor does a user
 * namespace that maps only root.
 */
export const secureDataFolders = `own_data() {
  data=/var/vcap/data
  group=$(awk -F: '$1 == "vcap" { print $3; exit }' /etc/group)
  awk -v id="\${group:-none}" '$1 <= id && id < $1 + $3 { found = 1 } END { exit !found }' /proc/self/gid_map || group=0
  while read -r mode group_id folder; do
    [ ! -L "$data/$folder" ] || rm "$data/$folder" || return 1
    mkdir -p "$data/$folder" && chown "0:$group_id" "$data/$folder" && chmod "$mode" "$data/$folder" || return 1
  done <<FOLDERS
755 0 .
755 0 tmp
750 $group jobs
755 $group packages
750 $group sys
750 $group sys/log
750 $group sys/run
FOLDERS
}
`;
