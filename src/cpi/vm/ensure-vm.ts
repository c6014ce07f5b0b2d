import { ProductError } from '../../errors/product-error.ts';
import type { KubernetesObject } from '../../kubernetes/object.ts';
import type { Pod } from '../../kubernetes/pod.ts';
import { pods, secrets } from '../../kubernetes/resources.ts';
import type { CallContext } from '../cloud.ts';
import { createOrGet } from '../create-unless-there.ts';
import type { CreateOrGetResult } from '../create-unless-there.ts';
import { listAttachments } from '../disk/attach/attachments.ts';
import { isTerminal } from '../disk/attach/has-bound.ts';
import { annotation, isManaged } from '../labels.ts';
import { ensureService } from '../service/ensure-service.ts';
import { servicesOf } from '../service/release-services.ts';
import type { ServiceOwnerRef } from '../service/service-object.ts';
import { creationOf } from './creation.ts';
import { findVmSecret, ownerUidOf } from './find-vm.ts';
import type { VmSecret } from './pod-record.ts';
import {
  recordedDiskCids,
  encodePod,
  isGated,
  isSameDigest,
  podKey,
  recordedPod,
  withGate,
} from './pod-record.ts';
import { removeVm } from './remove-vm.ts';
import type { VmRequest } from './vm-request.ts';
import { ensureVmClaims } from './vm-claims.ts';
import { settingsKey, vmLabels, vmPod } from './vm-pod.ts';

/**
 * Creates the VM's Secret, then the Services and the pod that it owns. Adopts the objects of an earlier call
 * with the same agent id if they are what this call would create, else removes them first. If it is killed
 * between Secret and pod, it leaves a Secret that the next call adopts. Model: create-vm.pml
 */
export async function ensureVm(cloud: CallContext, request: VmRequest): Promise<MadeVm> {
  const found = await adoptOrCreate(cloud, request);
  if ('isNew' in found) return found;
  await removeFormer(cloud, request, found);
  const made = await adoptOrCreate(cloud, request);
  if ('isNew' in made) return made;
  throw madeByOthers();
}

export interface MadeVm {
  readonly secret: VmSecret;
  readonly pod: Pod;
  /** False: an earlier call created the pod. */
  readonly isNew: boolean;
}

/**
 * Objects that have the VM's name and differ from what the request would create. An object that is absent
 * here did not exist when it was read.
 */
interface FormerVm {
  readonly secret?: VmSecret | undefined;
  readonly pod?: Pod | undefined;
}

const madeByOthers = (): ProductError =>
  new ProductError(
    'VM_CREATION_FAILED_RETRY',
    'other calls create objects of its name at the same time; run the call again',
  );

/**
 * Removes exactly the VM that was read, because another call may have created a new one since. If the pod
 * belongs to another Secret than the one that was read, it is a leftover only as long as that Secret exists.
 */
async function removeFormer(
  cloud: CallContext,
  { plan }: VmRequest,
  { secret, pod }: FormerVm,
): Promise<void> {
  const [attachments, now] = await Promise.all([
    listAttachments(cloud, plan.cid),
    findVmSecret(cloud, plan.cid),
  ]);
  const recorded = now === undefined ? undefined : recordedPod(now);
  if (attachments.length > 0 || (recorded !== undefined && recordedDiskCids(recorded).length > 0)) {
    throw new ProductError(
      'VM_CREATION_FAILED',
      `another VM of agent '${plan.agentId}' has disks attached; delete that VM first`,
    );
  }
  const secretUid = secret?.metadata.uid;
  const owner = ownerUidOf(pod) ?? secretUid;
  if (owner !== secretUid && now?.metadata.uid !== secretUid) throw madeByOthers();
  if (owner !== undefined) await removeVm(cloud, plan.cid, owner);
}

async function adoptOrCreate(cloud: CallContext, request: VmRequest): Promise<MadeVm | FormerVm> {
  const wanted = vmSecret(request);
  const secret = (await createOrFind(cloud, wanted, 'secrets'))?.object;
  if (secret === undefined || !isNotTerminating(secret) || creationOf(secret) === 'abandoned')
    return { secret };
  if (secret.data[settingsKey] !== wanted.data[settingsKey]) return { secret };
  if (servicesOf(secret).join() !== servicesOf(wanted).join()) return { secret };
  for (const service of request.services) await ensureService(cloud, service, ownerOf(request, secret));
  const pod = await desiredPod(cloud, request, secret);
  if (pod === undefined) return { secret };
  const found = await createOrFind(cloud, pod, 'pods');
  if (found === undefined) return {};
  if (!isNotTerminating(found.object) || isTerminal(found.object) || !hasSameSpec(found.object, pod))
    return { secret, pod: found.object };
  return { secret, pod: await admitted(cloud, found.object), isNew: found.isNew };
}

/** Opens the gate of the pod. With `recreate` the record may have changed since it was read. */
async function admitted(cloud: CallContext, pod: Pod): Promise<Pod> {
  if (!isGated(pod)) return pod;
  const deadlineSeconds = cloud.config.deadlines.createVm;
  const { ensurePod, openGate } = await import('./settle-pod.ts');
  return (await openGate(cloud, pod)) ?? ensurePod(cloud, pod.metadata.name ?? '', { deadlineSeconds });
}

/**
 * Returns the pod that the VM must have: the recorded one, with its disks, if the strategy is `recreate`.
 * Undefined if an existing Secret differs from this request.
 */
async function desiredPod(
  cloud: CallContext,
  { plan }: VmRequest,
  secret: VmSecret,
): Promise<Pod | undefined> {
  const uid = secret.metadata.uid ?? '';
  const pod = vmPod(plan, uid);
  const recorded = recordedPod(secret);
  if (plan.attach === 'hot') return recorded === undefined ? pod : undefined;
  if (recorded === undefined || !isSameDigest(recorded, pod)) return undefined;
  await ensureVmClaims(cloud, plan, uid);
  return withGate(recorded);
}

function ownerOf({ plan }: VmRequest, secret: VmSecret): ServiceOwnerRef {
  const { cid, namespace, group, groupLabels, directorUuid } = plan;
  return { cid, namespace, group, groupLabels, directorUuid, uid: secret.metadata.uid ?? '' };
}

/** Returns the Secret that owns the VM and contains the agent's settings. */
export function vmSecret({ plan, settings, services }: VmRequest): VmSecret {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'Opaque',
    metadata: {
      name: plan.cid,
      namespace: plan.namespace,
      labels: vmLabels(plan),
      annotations: {
        [annotation.attach]: plan.attach,
        ...(services.length > 0 && {
          [annotation.services]: JSON.stringify(services.map(({ name }) => name)),
        }),
      },
    },
    data: {
      [settingsKey]: Buffer.from(settings, 'utf8').toString('base64'),
      ...(plan.attach === 'recreate' && { [podKey]: encodePod(vmPod(plan, '')) }),
    },
  };
}

async function createOrFind<T extends VmSecret | Pod>(
  cloud: CallContext,
  object: T,
  kind: 'secrets' | 'pods',
): Promise<CreateOrGetResult<T> | undefined> {
  const name = object.metadata.name ?? '';
  const ensured = await createOrGet(cloud.api, kind === 'pods' ? pods : secrets, object);
  if (ensured === undefined || ensured.isNew || isManaged(ensured.object, 'vm')) return ensured;
  throw new ProductError(
    'VM_CREATION_FAILED',
    `${kind} '${name}' exists in namespace ${cloud.namespace} and is not of this CPI; remove or rename it`,
  );
}

const isNotTerminating = ({ metadata }: KubernetesObject): boolean =>
  metadata.deletionTimestamp === undefined;

function hasSameSpec(found: Pod, wanted: Pod): boolean {
  return (
    ownerUidOf(found) === ownerUidOf(wanted) &&
    found.metadata.annotations?.[annotation.specDigest] ===
      wanted.metadata.annotations?.[annotation.specDigest]
  );
}
