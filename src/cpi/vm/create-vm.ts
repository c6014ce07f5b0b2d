import { freeAddresses, refuseOtherHolder } from './address-holders.ts';
import { networksWithAddresses } from '../network/fixed-addresses.ts';
import { addressLabels, resolvePodNetworking } from '../network/pod-networking.ts';
import type { CallContext } from '../call.ts';
import type { CreateVmRequest } from '../protocol/methods.ts';
import { decideStrategy } from './decide-strategy.ts';
import type { JsonObject } from '../../platform/json.ts';
import { waitForVips } from '../service/vip.ts';
import { sayAddedLimits } from './added-limits.ts';
import { markCreated, creationOf } from './creation.ts';
import { budgetGroupOf, requireBudget, reconcileBudget } from './disruption-budget.ts';
import { removeUnfinished, whyKept } from './unfinished-vm.ts';
import { volumeTerms } from './volume-affinity.ts';
import { type VmPlan, parseVmRequest, type VmSpec, type VmRequest } from './plan-vm.ts';
import { vmLabels, settingsKey, vmPod } from './pod.ts';
import { waitUntilRunning } from './wait-until-running.ts';
import { notAllRemoved, type ErrorCode } from '../../errors/error-table.ts';
import { isProductError, ProductError } from '../../errors/product-error.ts';
import { isApiError, isMissingResource } from '../../kubernetes/client/api-error.ts';
import { explainApiError } from '../errors/explain-api-error.ts';
import type { KubernetesObject } from '../../kubernetes/object.ts';
import { type Pod, isTerminal } from '../../kubernetes/types/pod.ts';
import { pods, secrets } from '../../kubernetes/resources.ts';
import { createOrGet, type CreateOrGetResult } from '../objects/objects.ts';
import { AttachmentPod } from '../disk/attach/attachment-pod.ts';
import { annotation, isManaged } from '../objects/labels.ts';
import { ManagedService } from '../service/managed-service.ts';
import { serviceNames } from '../service/release-services.ts';
import type { ServiceOwner } from '../service/service-object.ts';
import { findVmSecret, ownerUidOf, type VmSecret } from './vms.ts';
import {
  recordedDiskCids,
  encodePod,
  isGated,
  isSameDigest,
  podKey,
  recordedPod,
  withGate,
} from './recorded-pod.ts';
import { removeVm } from './delete-vm.ts';
import { ensureVmClaims } from './claims.ts';

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
  const parsed = parseVmRequest(call, request);
  const { networks } = parsed;
  const plan = await preparePrerequisites(call, parsed);
  try {
    const { secret, pod, isNew } = await ensureVm(call, { ...parsed, plan });
    if (isNew) await refuseOtherHolder(call, addressLabels(networks, call.namespace), plan);
    await sayAddedLimits(call, plan, pod);
    const running = await waitUntilRunning(call, pod);
    await waitForVips(call, networks.vips);
    const group = budgetGroupOf(running);
    if (group !== undefined) await reconcileBudget(call, group, plan.cid);
    await markCreated(call, secret);
    return [plan.cid, networksWithAddresses(networks, running)];
  } catch (error) {
    throw creationError(plan, error, await removeFailedVm(call, plan.cid));
  }
}

/** Completes the plan with facts of the cluster and waits until its addresses are free. Creates nothing. */
async function preparePrerequisites(call: CallContext, parsed: VmSpec): Promise<VmPlan> {
  try {
    const plan = await planVm(call, parsed);
    await freeAddresses(call, addressLabels(parsed.networks, call.namespace), plan);
    return plan;
  } catch (error) {
    throw preparationError(parsed.plan, error);
  }
}

/** Completes the plan with facts of the cluster. Changes nothing. */
export async function planVm(call: CallContext, parsed: VmSpec): Promise<VmPlan> {
  const { networks, diskCids } = parsed;
  const plan = { ...parsed.plan, networking: await resolvePodNetworking(call, networks) };
  const [attach, terms] = await Promise.all([
    decideStrategy(call, plan),
    volumeTerms(call, diskCids, plan.properties.placement.zone),
    requireBudget(call, vmLabels(plan)),
  ]);
  return { ...plan, attach, volumeTerms: terms };
}

/**
 * Removes the objects of a failed create_vm. Returns why it could not; undefined if nothing is left. Keeps a
 * VM that has disks, and one that another call has finished or described in the meantime.
 */
async function removeFailedVm(call: CallContext, cid: string): Promise<unknown> {
  try {
    const reason = await removeUnfinished(call, cid, whyKept);
    return reason === undefined ? undefined : new Error(`${reason}, so it was left alone`);
  } catch (error) {
    return error;
  }
}

export interface FailedVm {
  readonly cid: string;
  readonly namespace: string;
}

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
export function preparationError(vm: FailedVm, error: unknown): unknown {
  return isProductError(error) && passThrough.has(error.code) ? error : creationError(vm, error, undefined);
}

/**
 * True if an object that existed a moment ago was deleted. A namespace or a kind that is missing does not
 * count, because another attempt does not create it.
 */
const wasDeleted = (error: unknown): boolean =>
  isApiError(error, 404) && !isMissingResource(error) && error.status.details?.kind !== 'namespaces';

/**
 * Creates the VM's Secret, then the Services and the pod that it owns. Adopts the objects of an earlier call
 * with the same agent id if they are what this call would create, else removes them first. If it is killed
 * between Secret and pod, it leaves a Secret that the next call adopts. Model: create-vm.pml
 */
export async function ensureVm(call: CallContext, request: VmRequest): Promise<MadeVm> {
  const found = await adoptOrCreate(call, request);
  if ('isNew' in found) return found;
  await removeFormer(call, request, found);
  const made = await adoptOrCreate(call, request);
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
  call: CallContext,
  { plan }: VmRequest,
  { secret, pod }: FormerVm,
): Promise<void> {
  const [attachments, now] = await Promise.all([
    AttachmentPod.listOfVm(call, plan.cid),
    findVmSecret(call, plan.cid),
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
  if (owner !== undefined) await removeVm(call, plan.cid, owner);
}

async function adoptOrCreate(call: CallContext, request: VmRequest): Promise<MadeVm | FormerVm> {
  const wanted = vmSecret(request);
  const secret = (await createOrFind(call, wanted, 'secrets'))?.object;
  if (secret === undefined || !isNotTerminating(secret) || creationOf(secret) === 'abandoned')
    return { secret };
  if (secret.data[settingsKey] !== wanted.data[settingsKey]) return { secret };
  if (serviceNames(secret).join() !== serviceNames(wanted).join()) return { secret };
  for (const service of request.services)
    await new ManagedService(call, service, ownerOf(request, secret)).ensure();
  const pod = await desiredPod(call, request, secret);
  if (pod === undefined) return { secret };
  const found = await createOrFind(call, pod, 'pods');
  if (found === undefined) return {};
  if (!isNotTerminating(found.object) || isTerminal(found.object) || !hasSameSpec(found.object, pod))
    return { secret, pod: found.object };
  return { secret, pod: await admitted(call, found.object), isNew: found.isNew };
}

/** Opens the gate of the pod. With `recreate` the record may have changed since it was read. */
async function admitted(call: CallContext, pod: Pod): Promise<Pod> {
  if (!isGated(pod)) return pod;
  const deadlineSeconds = call.config.deadlines.createVm;
  const { ensurePod, openGate } = await import('./recorded-pod.ts');
  return (await openGate(call, pod)) ?? ensurePod(call, pod.metadata.name ?? '', { deadlineSeconds });
}

/**
 * Returns the pod that the VM must have: the recorded one, with its disks, if the strategy is `recreate`.
 * Undefined if an existing Secret differs from this request.
 */
async function desiredPod(
  call: CallContext,
  { plan }: VmRequest,
  secret: VmSecret,
): Promise<Pod | undefined> {
  const uid = secret.metadata.uid ?? '';
  const pod = vmPod(plan, uid);
  const recorded = recordedPod(secret);
  if (plan.attach === 'hot') return recorded === undefined ? pod : undefined;
  if (recorded === undefined || !isSameDigest(recorded, pod)) return undefined;
  await ensureVmClaims(call, plan, uid);
  return withGate(recorded);
}

function ownerOf({ plan }: VmRequest, secret: VmSecret): ServiceOwner {
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
  call: CallContext,
  object: T,
  kind: 'secrets' | 'pods',
): Promise<CreateOrGetResult<T> | undefined> {
  const name = object.metadata.name ?? '';
  const ensured = await createOrGet(call.api, kind === 'pods' ? pods : secrets, object);
  if (ensured === undefined || ensured.isNew || isManaged(ensured.object, 'vm')) return ensured;
  throw new ProductError(
    'VM_CREATION_FAILED',
    `${kind} '${name}' exists in namespace ${call.namespace} and is not managed by this CPI; remove or rename it`,
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
