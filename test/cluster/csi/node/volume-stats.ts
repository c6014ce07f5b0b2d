import { statfs } from 'node:fs/promises';
import { mountAt } from '../device/mounts.ts';
import { CsiError } from '../grpc/csi-error.ts';
import type { NodePathRequest } from '../grpc/messages.ts';
import { requirePath, requireText } from './node.ts';

/** Returns how full the volume is, for the kubelet's metrics. */
export async function volumeStats({ volumeId, volumePath }: NodePathRequest): Promise<object> {
  requireText(volumeId, 'the volume id');
  const path = requirePath(volumePath, 'the volume path');
  if ((await mountAt(path)) === undefined) throw new CsiError('NOT_FOUND', `nothing is mounted at ${path}`);
  const { bsize, blocks, bavail, bfree, files, ffree } = await statfs(path);
  return {
    usage: [
      { unit: 'BYTES', total: blocks * bsize, available: bavail * bsize, used: (blocks - bfree) * bsize },
      { unit: 'INODES', total: files, available: ffree, used: files - ffree },
    ],
  };
}
