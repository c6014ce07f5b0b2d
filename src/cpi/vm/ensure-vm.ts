import { ProductError } from '../../errors/product-error.ts';
import { isApiError } from '../../kubernetes/api-error.ts';
import type { KubernetesObject } from '../../kubernetes/object.ts';
import type { Pod } from '../../kubernetes/pod.ts';
import { pods, secrets } from '../../kubernetes/resources.ts';
import type { Cloud } from '../cloud.ts';
import { listAttachments } from '../disk/attach/attachments.ts';
import { annotation, isOurs } from '../labels.ts';
import { podReference, secretReference } from './find-vm.ts';
import { removeVm } from './remove-vm.ts';
import type { VmRequest } from './vm-request.ts';
import { settingsKey, vmLabels, vmPod } from './vm-pod.ts';

interface Secret extends KubernetesObject {
  type: string;
  data: Record<string, string>;
}

/**
 * Makes the VM's Secret, then the pod that it owns; what a former call of the same agent id made is adopted where it is
 * what this one would make, else removed first. Killed between the two it leaves a Secret that the next call adopts.
 */
export async function ensureVm(cloud: Cloud, request: VmRequest): Promise<Pod> {
  const found = await adoptOrCreate(cloud, request);
  if (found !== undefined) return found;
  if (await hasAttachments(cloud, request.plan.cid)) {
    throw new ProductError(
      'VM_CREATION_FAILED',
      `another VM of agent '${request.plan.agentId}' has disks attached; delete that VM first`,
    );
  }
  await removeVm(cloud, request.plan.cid);
  const made = await adoptOrCreate(cloud, request);
  if (made !== undefined) return made;
  throw new ProductError(
    'VM_CREATION_FAILED_RETRY',
    'objects of its name are made by others at the same time',
  );
}

export async function hasAttachments(cloud: Cloud, cid: string): Promise<boolean> {
  return (await listAttachments(cloud, cid)).length > 0;
}

/** Undefined where something of that name is there and is not what this request makes. */
async function adoptOrCreate(cloud: Cloud, request: VmRequest): Promise<Pod | undefined> {
  const wanted = vmSecret(request);
  const secret = await createOrGet(cloud, wanted, 'secrets');
  if (!isUsable(secret) || secret.data[settingsKey] !== wanted.data[settingsKey]) return undefined;
  const pod = vmPod(request.plan, secret.metadata.uid ?? '');
  const found = await createOrGet(cloud, pod, 'pods');
  return isUsable(found) && isSamePod(found, pod) ? found : undefined;
}

function vmSecret({ plan, settings }: VmRequest): Secret {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'Opaque',
    metadata: { name: plan.cid, namespace: plan.namespace, labels: vmLabels(plan) },
    data: { [settingsKey]: Buffer.from(settings, 'utf8').toString('base64') },
  };
}

async function createOrGet<T extends Secret | Pod>(
  cloud: Cloud,
  object: T,
  kind: 'secrets' | 'pods',
): Promise<T> {
  const name = object.metadata.name ?? '';
  try {
    return await cloud.api.create<T>(kind === 'pods' ? pods : secrets, object);
  } catch (error) {
    if (!isApiError(error, 409, 'AlreadyExists')) throw error;
  }
  const existing = await cloud.api.get<T>(
    kind === 'pods' ? podReference(cloud, name) : secretReference(cloud, name),
  );
  if (isOurs(existing, 'vm')) return existing;
  throw new ProductError(
    'VM_CREATION_FAILED',
    `${kind} '${name}' exists in namespace ${cloud.namespace} and is not of this CPI`,
  );
}

const isUsable = ({ metadata }: KubernetesObject): boolean => metadata.deletionTimestamp === undefined;

function isSamePod(found: Pod, wanted: Pod): boolean {
  return (
    found.metadata.ownerReferences?.[0]?.uid === wanted.metadata.ownerReferences?.[0]?.uid &&
    found.metadata.annotations?.[annotation.specDigest] ===
      wanted.metadata.annotations?.[annotation.specDigest]
  );
}
