import type { KubernetesObject } from '../../../src/kubernetes/object.ts';
import { persistentVolumeClaims, persistentVolumes } from '../../../src/kubernetes/resources.ts';
import { nodeLayout, toLocalPath } from '../node-paths.ts';
import type { NodeWorld } from './node-world.ts';

/** Creates a volume of the node, with a claim `claim-<name>` bound to it. Returns the volume's directory. */
export async function createVolume({ api, node, directory }: NodeWorld, name: string): Promise<string> {
  const path = await node.provision(name);
  const accessModes = ['ReadWriteOnce'];
  const claim = await api.create(persistentVolumeClaims, {
    metadata: { namespace: 'bosh', name: `claim-${name}` },
    spec: {
      accessModes,
      resources: { requests: { storage: '1Mi' } },
      volumeName: name,
      storageClassName: '',
    },
  } as KubernetesObject);
  await api.replace(
    persistentVolumeClaims,
    { ...claim, status: { phase: 'Bound' } } as KubernetesObject,
    'status',
  );
  const { uid, resourceVersion } = claim.metadata;
  await api.create(persistentVolumes, {
    metadata: { name },
    spec: {
      ...{
        accessModes,
        capacity: { storage: '1Mi' },
        local: { path },
        persistentVolumeReclaimPolicy: 'Retain',
      },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: ['embedded'] }] },
          ],
        },
      },
      claimRef: {
        kind: 'PersistentVolumeClaim',
        namespace: 'bosh',
        name: `claim-${name}`,
        uid,
        resourceVersion,
      },
    },
  } as KubernetesObject);
  return toLocalPath(nodeLayout(directory), path);
}
