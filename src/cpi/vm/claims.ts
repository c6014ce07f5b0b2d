import type { Stored } from '../../kubernetes/object.ts';
import { ignoreNotFound } from '../../kubernetes/api.ts';
import { ProductError } from '../../errors/product-error.ts';
import { persistentVolumeClaims } from '../../kubernetes/resources.ts';
import { conflictError, createOrGet, requestDeletion, waitForDeletion } from '../objects/objects.ts';
import type { CallContext, ObjectContext } from '../call.ts';
import type { PersistentVolumeClaim } from '../disk/disks.ts';
import { baseLabels, isManaged, label } from '../objects/labels.ts';
import { labelValue } from '../objects/names.ts';
import { ownerUidOf, withOwner, type VmSecret } from './vms.ts';
import type { VmSpec } from './vm-spec.ts';

const tries = 10;

/** The size of the state volume: room for the agent, its settings, jobs and packages. */
const stateMiB = 1024;

export const stateClaimName = (cid: string): string => `${cid}-state`;
export const dataClaimName = (cid: string): string => `${cid}-data`;

/** Returns the labels of every claim of a VM that is not a disk. */
export const volumeLabels = (
  call: ObjectContext,
  { cid, agentId, groupLabels }: VmSpec,
): Record<string, string> => ({
  ...baseLabels(call, 'volume'),
  [label.agentId]: labelValue(agentId),
  [label.vmId]: cid,
  ...groupLabels,
});

/**
 * Returns the claims for the state and /var/vcap/data of a VM whose pod is recreated, without their owner,
 * the Secret of the VM (`withOwner`).
 */
export function vmClaims(call: ObjectContext, spec: VmSpec): PersistentVolumeClaim[] {
  const { sizeMiB, storageClass } = spec.properties.compute.ephemeralDisk;
  const claim = (name: string, size: number): PersistentVolumeClaim => ({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      name,
      namespace: call.namespace,
      labels: volumeLabels(call, spec),
    },
    spec: {
      accessModes: ['ReadWriteOnce'],
      ...(storageClass !== undefined && { storageClassName: storageClass }),
      resources: { requests: { storage: `${size}Mi` } },
    },
  });
  return [claim(stateClaimName(spec.cid), stateMiB), claim(dataClaimName(spec.cid), sizeMiB)];
}

/**
 * Creates those claims, owned by the Secret; idempotent. Deletes a claim of a previous VM of the same name,
 * waits for that and creates it again. Rejects with VM_CREATION_FAILED if an object that the CPI does not
 * manage has the name, with VM_CREATION_FAILED_RETRY if other writers keep creating it.
 */
export async function ensureVmClaims(
  call: CallContext,
  spec: VmSpec,
  secret: Stored<VmSecret>,
): Promise<void> {
  for (const claim of vmClaims(call, spec)) await ensureClaim(call, withOwner(claim, secret));
}

async function ensureClaim(call: CallContext, claim: PersistentVolumeClaim): Promise<void> {
  for (let attempts = tries; attempts > 0; attempts -= 1) {
    if (await createClaim(call, claim)) return;
    await deleteStaleClaim(call, claim);
  }
  throw conflictError('VM_CREATION_FAILED_RETRY', `claim '${claim.metadata.name}'`);
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
    items.filter(isOfSecret).map((claim) => waitUntilDeleted(call, claim, call.config.deadlines.deleteVm)),
  );
}

/** Creates the claim. Returns false if a stale claim has its name. */
async function createClaim(call: CallContext, claim: PersistentVolumeClaim): Promise<boolean> {
  const ensured = await createOrGet(call.api, persistentVolumeClaims, claim);
  if (ensured === undefined || ensured.isNew) return ensured !== undefined;
  assertManaged(ensured.object);
  return !isStale(ensured.object, claim);
}

/** Deletes a stale claim of that name, if there is one, and waits until it is deleted. */
async function deleteStaleClaim(call: CallContext, claim: PersistentVolumeClaim): Promise<void> {
  const existing = await find(call, claim);
  if (existing === undefined || !isStale(existing, claim)) return;
  assertManaged(existing);
  const { name, namespace, uid } = existing.metadata;
  await requestDeletion(call, { resource: persistentVolumeClaims, namespace, name }, uid);
  await waitUntilDeleted(call, existing, call.config.deadlines.createVm);
}

/**
 * Rejects a claim that the CPI does not manage: no CPI method changes such an object, and this one deletes
 * the claim that has the name.
 */
function assertManaged(existing: PersistentVolumeClaim): void {
  if (isManaged(existing, 'volume')) return;
  const { name, namespace } = existing.metadata;
  throw new ProductError(
    'VM_CREATION_FAILED',
    `claim '${name}' exists in namespace ${namespace} and is not managed by this CPI; remove or rename it`,
  );
}

const isStale = (existing: PersistentVolumeClaim, desired: PersistentVolumeClaim): boolean =>
  existing.metadata.deletionTimestamp !== undefined || ownerUidOf(existing) !== ownerUidOf(desired);

async function find(
  call: CallContext,
  claim: PersistentVolumeClaim,
): Promise<Stored<PersistentVolumeClaim> | undefined> {
  const { name, namespace } = claim.metadata;
  return ignoreNotFound(call.api.get({ resource: persistentVolumeClaims, namespace, name }));
}

async function waitUntilDeleted(
  call: CallContext,
  { metadata }: Stored<PersistentVolumeClaim>,
  deadlineSeconds: number,
): Promise<void> {
  const { name, namespace, uid } = metadata;
  await waitForDeletion(call, {
    reference: { resource: persistentVolumeClaims, namespace, name },
    uid,
    deadlineSeconds,
    what: `claim '${name}'`,
  });
}
