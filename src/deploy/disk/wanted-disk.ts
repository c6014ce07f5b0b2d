import type { Manifest } from '../../bosh/manifest/manifest.ts';
import type { WantedDisk } from './plan-disk.ts';

/** The persistent disk of the manifest's instance. */
export function wantedDisk({ instanceGroup }: Manifest): WantedDisk | undefined {
  const pool = instanceGroup.diskPool;
  if (pool === undefined) return undefined;
  return { size: pool.diskSize, cloudProperties: pool.cloudProperties };
}
