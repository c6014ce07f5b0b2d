import type { Manifest } from '../../bosh/manifest/manifest.ts';
import type { WantedDisk } from './plan-disk.ts';

/** Returns the persistent disk of the manifest's instance group. */
export function wantedDisk({ instanceGroup }: Manifest): WantedDisk | undefined {
  const pool = instanceGroup.diskPool;
  if (pool === undefined) return undefined;
  return { size: pool.diskSize, cloudProperties: pool.cloudProperties };
}
