import { ignoreNotFound } from '../../kubernetes/if-there.ts';
import { ProductError } from '../../errors/product-error.ts';
import { persistentVolumeClaims } from '../../kubernetes/resources.ts';
import { conflictError } from '../changed-by-others.ts';
import type { CallContext } from '../cloud.ts';
import { createOrGet } from '../create-unless-there.ts';
import type { PersistentVolumeClaim } from '../disk/claim.ts';
import { baseLabels, isManaged, label } from '../labels.ts';
import { requestDeletion, waitForDeletion } from '../remove-object.ts';
import { labelValue } from '../names.ts';
import { ownerUidOf } from './find-vm.ts';
import type { VmPlan } from './vm-plan.ts';

const tries = 10;

/** Room for the agent, its settings, jobs and packages. */
const stateMiB = 1024;

export const stateClaimName = (cid: string): string => `${cid}-state`;
export const dataClaimName = (cid: string): string => `${cid}-data`;

/** Of every claim of a VM that is not a disk. */
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
 * What a VM whose pod is made anew keeps its state and /var/vcap/data on, owned by the Secret with that uid.
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
 * Makes those claims; idempotent. One that a former VM of the same name left is waited for and made anew;
 * VM_CREATION_FAILED if the name is taken by another owner,
 * VM_CREATION_FAILED_RETRY if others make it again and again.
 */
export async function ensureVmClaims(cloud: CallContext, plan: VmPlan, secretUid: string): Promise<void> {
  for (const claim of vmClaims(plan, secretUid)) {
    await ensureClaim(cloud, claim);
  }
}

async function ensureClaim(cloud: CallContext, claim: PersistentVolumeClaim): Promise<void> {
  for (let left = tries; left > 0; left -= 1) {
    if (await isThere(cloud, claim)) return;
    await waitForStaleClaim(cloud, claim);
  }
  throw conflictError('VM_CREATION_FAILED_RETRY', `claim '${claim.metadata.name ?? ''}'`);
}

/**
 * Waits until the claims of a VM are gone, or those of that Secret alone; the cluster collects them after it.
 */
export async function waitForClaimDeletion(
  cloud: CallContext,
  cid: string,
  secretUid?: string,
): Promise<void> {
  const { namespace } = cloud;
  const { items } = await cloud.api.list<PersistentVolumeClaim>(persistentVolumeClaims, {
    namespace,
    labelSelector: `${label.kind}=volume,${label.vmId}=${cid}`,
  });
  const isOfSecret = (claim: PersistentVolumeClaim): boolean =>
    secretUid === undefined || ownerUidOf(claim) === secretUid;
  await Promise.all(
    items.filter(isOfSecret).map((claim) => deletionOf(cloud, claim, cloud.config.deadlines.deleteVm)),
  );
}

async function isThere(cloud: CallContext, claim: PersistentVolumeClaim): Promise<boolean> {
  const ensured = await createOrGet(cloud.api, persistentVolumeClaims, claim);
  if (ensured === undefined || ensured.isNew) return ensured !== undefined;
  assertManaged(ensured.object);
  return !isStale(ensured.object, claim);
}

async function waitForStaleClaim(cloud: CallContext, claim: PersistentVolumeClaim): Promise<void> {
  const found = await find(cloud, claim);
  if (found === undefined || !isStale(found, claim)) return;
  assertManaged(found);
  const { name = '', namespace, uid = '' } = found.metadata;
  await requestDeletion(cloud, { resource: persistentVolumeClaims, namespace, name }, uid);
  await deletionOf(cloud, found, cloud.config.deadlines.createVm);
}

/** Verbs touch nothing else, and this one deletes what is in its way. */
function assertManaged(found: PersistentVolumeClaim): void {
  if (isManaged(found, 'volume')) return;
  const { name = '', namespace = '' } = found.metadata;
  throw new ProductError(
    'VM_CREATION_FAILED',
    `claim '${name}' exists in namespace ${namespace} and is not of this CPI; remove or rename it`,
  );
}

const isStale = (found: PersistentVolumeClaim, wanted: PersistentVolumeClaim): boolean =>
  found.metadata.deletionTimestamp !== undefined || ownerUidOf(found) !== ownerUidOf(wanted);

async function find(
  cloud: CallContext,
  claim: PersistentVolumeClaim,
): Promise<PersistentVolumeClaim | undefined> {
  const { name = '', namespace } = claim.metadata;
  return ignoreNotFound(cloud.api.get({ resource: persistentVolumeClaims, namespace, name }));
}

async function deletionOf(
  cloud: CallContext,
  { metadata }: PersistentVolumeClaim,
  deadlineSeconds: number,
): Promise<void> {
  const { name = '', namespace, uid = '' } = metadata;
  await waitForDeletion(cloud, {
    reference: { resource: persistentVolumeClaims, namespace, name },
    uid,
    deadlineSeconds,
    what: `claim '${name}'`,
  });
}
