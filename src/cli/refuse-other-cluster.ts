import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { readFile } from 'node:fs/promises';
import { checkCluster } from '../deploy/state/check-cluster.ts';
import { readClusterNote } from '../deploy/state/cluster-note.ts';
import { loadAccess } from '../kubernetes/load-access.ts';
import { identityOfAccess } from './cluster-identity.ts';
import { kubeconfigPath } from './connect.ts';

/**
 * Throws OTHER_CLUSTER when removing the state file would forget a VM and disks that are not on the embedded cluster that
 * goes with it. The cluster need not run: the authority in its kubeconfig is its own.
 */
export async function refuseOtherCluster(statePath: string, clusterDirectory: string): Promise<void> {
  const note = await readClusterNote(statePath);
  const kubeconfig = resolve(kubeconfigPath(clusterDirectory));
  if (note === undefined) return;
  const here = existsSync(kubeconfig)
    ? identityOfAccess(await loadAccess(await readFile(kubeconfig, 'utf8')), kubeconfig)
    : { server: 'no cluster at all', kubeconfig };
  // perhaps with another address, since the note was written
  if (here.ca_sha256 !== undefined && here.ca_sha256 === note.ca_sha256) return;
  await checkCluster(statePath, here);
}
