import { ignoreNotFound } from '../../kubernetes/api.ts';
import { ProductError } from '../../errors/product-error.ts';
import { persistentVolumeClaims } from '../../kubernetes/resources.ts';
import { conflictError, createOrGet, requestDeletion, waitForDeletion } from '../objects/objects.ts';
import type { CallContext } from '../call.ts';
import type { PersistentVolumeClaim } from '../disk/disks.ts';
import { baseLabels, isManaged, label } from '../objects/labels.ts';
import { labelValue } from '../objects/names.ts';
import { ownerUidOf } from './vms.ts';
import type { VmPlan } from './plan-vm.ts';

const tries = 10;

/** The size of the state volume: room for the agent, its settings, jobs and packages. */
const stateMiB = 1024;

export const stateClaimName = (cid: string): string => `${cid}-state`;
export const dataClaimName = (cid: string): string => `${cid}-data`;

/** The labels of every claim of a VM that is not a disk. */
export const volumeLabels = ({
  cid,
  agentId,
  directorUuid,
  groupLabels,
}: VmPlan): Record<string, string> => ({
  ...baseLabels('volume', directorUuid),
  [label.agentId]: labelValue(agentId),
  [label.vmId]: cid,
  ...groupLabels,
});

/**
 * Returns the claims for the state and /var/vcap/data of a VM whose pod is recreated, owned by the Secret
 * with that uid.
 */
export function vmClaims(plan: VmPlan, secretUid: string): PersistentVolumeClaim[] {
  const { sizeMiB, storageClass } = plan.properties.compute.ephemeralDisk;
  const claim = (name: string, size: number): PersistentVolumeClaim => ({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      name,
      namespace: plan.namespace,
      labels: volumeLabels(plan),
      ownerReferences: [{ apiVersion: 'v1', kind: 'Secret', name: plan.cid, uid: secretUid }],
    },
    spec: {
      accessModes: ['ReadWriteOnce'],
      ...(storageClass !== undefined && { storageClassName: storageClass }),
      resources: { requests: { storage: `${size}Mi` } },
    },
  });
  return [claim(stateClaimName(plan.cid), stateMiB), claim(dataClaimName(plan.cid), sizeMiB)];
}

/**
 * Creates those claims; idempotent. Deletes one that a previous VM of the same name left, waits for that and
 * creates it again. Rejects with VM_CREATION_FAILED if an object that the CPI does not manage has the name,
 * with VM_CREATION_FAILED_RETRY if other writers keep creating it.
 */
export async function ensureVmClaims(call: CallContext, plan: VmPlan, secretUid: string): Promise<void> {
  for (const claim of vmClaims(plan, secretUid)) {
    await ensureClaim(call, claim);
  }
}

async function ensureClaim(call: CallContext, claim: PersistentVolumeClaim): Promise<void> {
  for (let left = tries; left > 0; left -= 1) {
    if (await isThere(call, claim)) return;
    await waitForStaleClaim(call, claim);
  }
  throw conflictError('VM_CREATION_FAILED_RETRY', `claim '${claim.metadata.name ?? ''}'`);
}

/**
 * Waits until the claims of a VM are deleted, or only those of that Secret; the garbage collector deletes
 * them after the Secret.
 */
export async function waitForClaimDeletion(
  call: CallContext,
  cid: string,
  secretUid?: string,
): Promise<void> {
  const { namespace } = call;
  const { items } = await call.api.list<PersistentVolumeClaim>(persistentVolumeClaims, {
    namespace,
    labelSelector: `${label.kind}=volume,${label.vmId}=${cid}`,
  });
  const isOfSecret = (claim: PersistentVolumeClaim): boolean =>
    secretUid === undefined || ownerUidOf(claim) === secretUid;
  await Promise.all(
    items.filter(isOfSecret).map((claim) => deletionOf(call, claim, call.config.deadlines.deleteVm)),
  );
}

async function isThere(call: CallContext, claim: PersistentVolumeClaim): Promise<boolean> {
  const ensured = await createOrGet(call.api, persistentVolumeClaims, claim);
  if (ensured === undefined || ensured.isNew) return ensured !== undefined;
  assertManaged(ensured.object);
  return !isStale(ensured.object, claim);
}

async function waitForStaleClaim(call: CallContext, claim: PersistentVolumeClaim): Promise<void> {
  const found = await find(call, claim);
  if (found === undefined || !isStale(found, claim)) return;
  assertManaged(found);
  const { name = '', namespace, uid = '' } = found.metadata;
  await requestDeletion(call, { resource: persistentVolumeClaims, namespace, name }, uid);
  await deletionOf(call, found, call.config.deadlines.createVm);
}

/**
 * Rejects a claim that the CPI does not manage: no CPI method changes such an object, and this one deletes
 * the claim that has the name.
 */
function assertManaged(found: PersistentVolumeClaim): void {
  if (isManaged(found, 'volume')) return;
  const { name = '', namespace = '' } = found.metadata;
  throw new ProductError(
    'VM_CREATION_FAILED',
    `claim '${name}' exists in namespace ${namespace} and is not managed by this CPI; remove or rename it`,
  );
}

const isStale = (found: PersistentVolumeClaim, wanted: PersistentVolumeClaim): boolean =>
  found.metadata.deletionTimestamp !== undefined || ownerUidOf(found) !== ownerUidOf(wanted);

async function find(
  call: CallContext,
  claim: PersistentVolumeClaim,
): Promise<PersistentVolumeClaim | undefined> {
  const { name = '', namespace } = claim.metadata;
  return ignoreNotFound(call.api.get({ resource: persistentVolumeClaims, namespace, name }));
}

async function deletionOf(
  call: CallContext,
  { metadata }: PersistentVolumeClaim,
  deadlineSeconds: number,
): Promise<void> {
  const { name = '', namespace, uid = '' } = metadata;
  await waitForDeletion(call, {
    reference: { resource: persistentVolumeClaims, namespace, name },
    uid,
    deadlineSeconds,
    what: `claim '${name}'`,
  });
}
