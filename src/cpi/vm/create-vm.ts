import { networksWithAddresses } from '../network/fixed-addresses.ts';
import type { CallContext } from '../call.ts';
import type { CreateVmRequest } from '../protocol/methods.ts';
import type { JsonObject } from '../../platform/json.ts';
import { waitForVips } from '../service/vip.ts';
import { assertAddressesUnique, freeAddresses } from './address-owners.ts';
import { reportAddedLimits } from './added-limits.ts';
import { markCreated, creationOf } from './creation.ts';
import { budgetGroupOf, reconcileBudget } from './disruption-budget.ts';
import { removeUnfinished, whyKept } from './unfinished-vm.ts';
import { planVm } from './plan-vm.ts';
import { type VmPlan, parseVmSpec, type VmSpec } from './vm-spec.ts';
import { podTemplate } from './pod.ts';
import { vmSecret } from './secret.ts';
import { waitUntilRunning } from './wait-until-running.ts';
import { settingsKey } from '../objects/layout.ts';
import { notAllRemoved, type ErrorCode } from '../../errors/error-table.ts';
import { isProductError, ProductError } from '../../errors/product-error.ts';
import { isApiError, isMissingResource } from '../../kubernetes/client/api-error.ts';
import { explainApiError } from '../errors/explain-api-error.ts';
import type { KubernetesObject, Stored } from '../../kubernetes/object.ts';
import { type Pod, isTerminal } from '../../kubernetes/types/pod.ts';
import { pods, secrets } from '../../kubernetes/resources.ts';
import { createOrGet, type CreateOrGetResult } from '../objects/objects.ts';
import { AttachmentPod } from '../disk/attach/attachment-pod.ts';
import { isManaged } from '../objects/labels.ts';
import { ManagedService } from '../service/managed-service.ts';
import { serviceNames } from '../service/release-services.ts';
import type { ServiceOwner } from '../service/service-object.ts';
import { findVmSecret, ownerUidOf, withOwner, type VmSecret } from './vms.ts';
import {
  ensurePod,
  openGate,
  recordedDiskCids,
  isGated,
  isSameDigest,
  recordedPod,
  withGate,
} from './recorded-pod.ts';
import { removeVm } from './delete-vm.ts';
import { ensureVmClaims } from './claims.ts';

const passThrough: ReadonlySet<ErrorCode> = new Set([
  'INVALID_ARGUMENT',
  'INVALID_CONFIG',
  'NOT_SUPPORTED',
  'NOT_IMPLEMENTED',
  'VM_CREATION_FAILED',
]);

/** Errors that may be transient; in a full quota, for example, room may be made. */
const retryable: ReadonlySet<ErrorCode> = new Set([
  'VM_CREATION_FAILED_RETRY',
  'DEADLINE',
  'KUBERNETES_UNREACHABLE',
  'KUBERNETES_API',
  'KUBERNETES_BUSY',
  'KUBERNETES_CONFLICT',
  'QUOTA_EXCEEDED',
  'NO_DISK_SPACE',
]);

/**
 * create_vm(agent_id, stemcell_cid, cloud_properties, networks, disk_cids, env): returns `[vm_cid, networks]`
 * when the VM's container runs with the requested addresses and its Services exist. Idempotent per agent id:
 * a repeated call reuses the VM of an interrupted call if it matches the request, else replaces it. Checks
 * everything before it creates anything. On failure it removes what it created, then rejects with
 * VM_CREATION_FAILED or, if a later attempt may succeed, VM_CREATION_FAILED_RETRY. First removes a VM of the
 * same deployment that has one of the addresses and whose create_vm did not finish (unfinished-vm.ts).
 * Model: create-vm.pml
 */
export async function createVm(
  call: CallContext,
  request: CreateVmRequest,
): Promise<[string, Record<string, JsonObject>]> {
  const spec = parseVmSpec(call, request);
  const plan = await preparePrerequisites(call, spec);
  try {
    const { secret, pod, isNew } = await ensureVm(call, plan);
    if (isNew) await assertAddressesUnique(call, spec);
    await reportAddedLimits(call, plan, pod);
    const running = await waitUntilRunning(call, pod);
    await waitForVips(call, spec.networks.vips);
    const group = budgetGroupOf(running);
    if (group !== undefined) await reconcileBudget(call, group, spec.cid);
    await markCreated(call, secret);
    return [spec.cid, networksWithAddresses(spec.networks, running)];
  } catch (error) {
    throw creationError(failedVm(call, spec), error, await removeFailedVm(call, spec.cid));
  }
}

/** Plans the VM and waits until its addresses are free. Creates nothing. */
async function preparePrerequisites(call: CallContext, spec: VmSpec): Promise<VmPlan> {
  try {
    const plan = await planVm(call, spec);
    await freeAddresses(call, spec);
    return plan;
  } catch (error) {
    throw preparationError(failedVm(call, spec), error);
  }
}

/**
 * Creates the VM's Secret, then the Services and the pod that it owns. Adopts the objects of an earlier call
 * with the same agent id if they are what this call would create, else removes them first. If it is killed
 * between Secret and pod, it leaves a Secret that the next call adopts. Model: create-vm.pml
 */
export async function ensureVm(call: CallContext, plan: VmPlan): Promise<EnsuredVm> {
  const first = await adoptOrCreate(call, plan);
  if ('isNew' in first) return first;
  await removeConflicting(call, plan.spec, first);
  const second = await adoptOrCreate(call, plan);
  if ('isNew' in second) return second;
  throw concurrentCreation();
}

export interface EnsuredVm {
  readonly secret: VmSecret;
  readonly pod: Stored<Pod>;
  /** False: an earlier call created the pod. */
  readonly isNew: boolean;
}

/**
 * Objects that have the VM's name and differ from what the request would create. An object that is absent
 * here did not exist when it was read.
 */
interface ConflictingObjects {
  readonly secret?: VmSecret | undefined;
  readonly pod?: Pod | undefined;
}

const concurrentCreation = (): ProductError =>
  new ProductError(
    'VM_CREATION_FAILED_RETRY',
    'other calls create objects of its name at the same time; run the call again',
  );

async function adoptOrCreate(call: CallContext, plan: VmPlan): Promise<EnsuredVm | ConflictingObjects> {
  const { spec } = plan;
  const desired = vmSecret(call, plan);
  const secret = (await createOrFind(call, desired, 'secrets'))?.object;
  if (secret === undefined || !isNotTerminating(secret) || creationOf(secret) === 'abandoned')
    return { secret };
  if (secret.data[settingsKey] !== desired.data[settingsKey]) return { secret };
  if (serviceNames(secret).join() !== serviceNames(desired).join()) return { secret };
  for (const service of spec.services)
    await new ManagedService(call, service, serviceOwner(call, spec, secret)).ensure();
  const pod = await podToCreate(call, plan, secret);
  if (pod === undefined) return { secret };
  const existing = await createOrFind(call, pod, 'pods');
  if (existing === undefined) return {};
  if (!isNotTerminating(existing.object) || isTerminal(existing.object) || !isSamePod(existing.object, pod))
    return { secret, pod: existing.object };
  return { secret, pod: await ensureUngated(call, existing.object), isNew: existing.isNew };
}

/**
 * Removes exactly the VM that was read, because another call may have created a new one since. If the pod
 * belongs to another Secret than the one that was read, it is a leftover only as long as that Secret exists.
 */
async function removeConflicting(
  call: CallContext,
  { cid, agentId }: VmSpec,
  { secret, pod }: ConflictingObjects,
): Promise<void> {
  const [attachmentPods, now] = await Promise.all([
    AttachmentPod.listOfVm(call, cid),
    findVmSecret(call, cid),
  ]);
  const recorded = now === undefined ? undefined : recordedPod(now);
  if (attachmentPods.length > 0 || (recorded !== undefined && recordedDiskCids(recorded).length > 0)) {
    throw new ProductError(
      'VM_CREATION_FAILED',
      `another VM of agent '${agentId}' has disks attached; delete that VM first`,
    );
  }
  const secretUid = secret?.metadata.uid;
  const owner = ownerUidOf(pod) ?? secretUid;
  if (owner !== secretUid && now?.metadata.uid !== secretUid) throw concurrentCreation();
  if (owner !== undefined) await removeVm(call, cid, owner);
}

/**
 * Returns the pod that the VM must have: the recorded one, with its disks, if the strategy is `recreate`.
 * Undefined if an existing Secret differs from this request.
 */
async function podToCreate(
  call: CallContext,
  plan: VmPlan,
  secret: Stored<VmSecret>,
): Promise<Pod | undefined> {
  const pod = withOwner(podTemplate(call, plan), secret);
  const recorded = recordedPod(secret);
  if (plan.facts.attach === 'hot') return recorded === undefined ? pod : undefined;
  if (recorded === undefined || !isSameDigest(recorded, pod)) return undefined;
  await ensureVmClaims(call, plan.spec, secret);
  return withGate(recorded);
}

const isSamePod = (existing: Pod, desired: Pod): boolean =>
  ownerUidOf(existing) === ownerUidOf(desired) && isSameDigest(existing, desired);

/**
 * Opens the gate of the pod, if it has one. If the record has changed since it was read, creates the pod of
 * the record instead.
 */
async function ensureUngated(call: CallContext, pod: Stored<Pod>): Promise<Stored<Pod>> {
  if (!isGated(pod)) return pod;
  const deadlineSeconds = call.config.deadlines.createVm;
  return (await openGate(call, pod)) ?? ensurePod(call, pod.metadata.name, { deadlineSeconds });
}

function serviceOwner(call: CallContext, spec: VmSpec, secret: Stored<VmSecret>): ServiceOwner {
  const { cid, group, groupLabels } = spec;
  const { namespace, directorUuid } = call;
  return { cid, namespace, group, groupLabels, directorUuid, uid: secret.metadata.uid };
}

async function createOrFind<T extends VmSecret | Pod>(
  call: CallContext,
  object: T,
  kind: 'secrets' | 'pods',
): Promise<CreateOrGetResult<T> | undefined> {
  const name = object.metadata.name;
  const ensured = await createOrGet(call.api, kind === 'pods' ? pods : secrets, object);
  if (ensured === undefined || ensured.isNew || isManaged(ensured.object, 'vm')) return ensured;
  throw new ProductError(
    'VM_CREATION_FAILED',
    `${kind} '${name}' exists in namespace ${call.namespace} and is not managed by this CPI; remove or rename it`,
  );
}

const isNotTerminating = ({ metadata }: KubernetesObject): boolean =>
  metadata.deletionTimestamp === undefined;

/**
 * Removes the objects of a failed create_vm. Returns why it could not; undefined if it has. Keeps a
 * VM that has disks, and one that another call has finished or described in the meantime.
 */
async function removeFailedVm(call: CallContext, cid: string): Promise<unknown> {
  try {
    const reason = await removeUnfinished(call, cid, whyKept);
    return reason === undefined ? undefined : new Error(`${reason}, so it was kept`);
  } catch (error) {
    return error;
  }
}

interface FailedVm {
  readonly cid: string;
  readonly namespace: string;
}

const failedVm = ({ namespace }: CallContext, { cid }: VmSpec): FailedVm => ({ cid, namespace });

/**
 * Returns the error of a create_vm that failed with `error`; `cleanupError` is why what it created could not
 * be removed. Errors that are bugs of the CPI are returned as they are.
 */
export function creationError({ cid, namespace }: FailedVm, error: unknown, cleanupError: unknown): unknown {
  const known = isApiError(error) ? explainApiError(error) : error;
  if (!isProductError(known)) return error;
  const rest = cleanupError instanceof Error ? `; ${notAllRemoved}: ${cleanupError.message}` : '';
  const message = `VM '${cid}' in namespace ${namespace} could not be created: ${known.message}${rest}`;
  const code =
    retryable.has(known.code) || wasDeleted(error) ? 'VM_CREATION_FAILED_RETRY' : 'VM_CREATION_FAILED';
  return new ProductError(code, message, { cause: error });
}

/**
 * Returns the error of a create_vm that failed before it created anything. Errors about a request that this
 * cluster cannot meet keep their code.
 */
function preparationError(vm: FailedVm, error: unknown): unknown {
  return isProductError(error) && passThrough.has(error.code) ? error : creationError(vm, error, undefined);
}

/**
 * True if an object that existed a moment ago was deleted. A namespace or a kind that is missing does not
 * count, because another attempt does not create it.
 */
const wasDeleted = (error: unknown): boolean =>
  isApiError(error, 404) && !isMissingResource(error) && error.status.details?.kind !== 'namespaces';
