import type { Manifest } from '../../bosh/manifest/manifest.ts';
import type { WantedDisk } from './plan-disk.ts';

/** The persistent disk of the manifest's instance and the keys that say so. */
export function wantedDisk({ instanceGroup, diskPools }: Manifest): WantedDisk | undefined {
  const pool = instanceGroup.diskPool;
  if (pool === undefined) return undefined;
  const isNamed = diskPools.some(({ name }) => name === pool.name);
  return {
    size: pool.diskSize,
    cloudProperties: pool.cloudProperties,
    sizeKey: isNamed
      ? `disk_pools[${pool.name}].disk_size`
      : `instance_groups[${instanceGroup.name}].persistent_disk`,
    cloudPropertiesKey: `disk_pools[${pool.name}].cloud_properties`,
  };
}
