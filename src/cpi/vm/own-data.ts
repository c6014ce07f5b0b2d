/**
 * Shell function of the entry: makes the folders of the data volume root's, with the modes of a BOSH VM (bosh-agent:
 * platform/linux_platform.go, SetupDataDir, SetupSharedMemory; agent/applier), before any agent runs. A volume comes open to
 * all: a job's user would move `jobs` aside and put programs in its place that the agent runs as root. Nothing else runs yet, so
 * what is looked at by its name stays what it is. The group is vcap's where the container has it: an image without BOSH's users has
 * no job user either, nor has a user namespace that maps root alone.
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
