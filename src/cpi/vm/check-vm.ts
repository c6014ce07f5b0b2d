import { ProductError, isProductError } from '../../errors/product-error.ts';
import { isApiError } from '../../kubernetes/client/api-error.ts';
import { ifAllowed, type Resource } from '../../kubernetes/api.ts';
import type { KubernetesObject } from '../../kubernetes/object.ts';
import type { Pod } from '../../kubernetes/types/pod.ts';
import { amountOf, objectUsage, type Usage } from '../../kubernetes/types/usage.ts';
import { persistentVolumeClaims, pods, resourceQuotas, secrets } from '../../kubernetes/resources.ts';
import { findAddressOwners } from './address-owners.ts';
import { verifyPodAddresses, cniAddressAnnotations } from '../network/fixed-addresses.ts';
import type { PodNetworking } from '../network/pod-networking.ts';
import { assertUsableAddress } from '../network/networks.ts';
import type { CallContext } from '../call.ts';
import type { CheckVmRequest } from '../protocol/methods.ts';
import { explained } from '../objects/objects.ts';
import { checkClasses } from '../disk/classes.ts';
import type { PersistentVolumeClaim } from '../disk/disks.ts';
import { Field } from '../../platform/field.ts';
import { annotation, label, metadataPatch, type ObjectKind } from '../objects/labels.ts';
import type { JsonObject } from '../../platform/json.ts';
import { isVmCid } from '../objects/names.ts';
import { planVm } from './plan-vm.ts';
import { type VmPlan, parseVmSpec, type VmSpec } from './vm-spec.ts';
import { vmSecret } from './secret.ts';
import { findVm, findVmSecret, withOwner } from './vms.ts';
import {
  isRoleRefusal,
  quotaRefusal,
  quotaShortage,
  sumOf,
  type QuotaError,
  type ResourceQuota,
} from './quota.ts';
import { vmClaims } from './claims.ts';
import { podTemplate } from './pod.ts';

/**
 * check_vm(agent_id, stemcell_cid, cloud_properties, networks, disk_cids, env, former_vm_cid, metadata):
 * rejects if create_vm with the first six arguments would be refused, so that a caller knows it before
 * it deletes the VM that the new one replaces, `former_vm_cid` (null: no VM). The address of that VM and
 * its part of the quotas count as free. Also rejects if there is a VM or a disk of the instance that
 * `metadata` names: the caller sends it only if it knows no such VM and disk, so its state file may be
 * lost. Returns what could not be checked, one sentence for each. Changes nothing: it sends dry-run
 * creates to the API server. Only this CPI has the method. It never rejects with NotSupported or
 * NotImplemented, because a caller recognizes by these errors a CPI without the method.
 */
export async function checkVm(call: CallContext, request: CheckVmRequest): Promise<string[]> {
  try {
    const spec = parseVmSpec(call, request, 'check_vm');
    await assertNewInstance(call, spec, request.metadata ?? {});
    return await check(call, spec, request.formerVmCid);
  } catch (error) {
    if (!isProductError(error, 'NOT_SUPPORTED') && !isProductError(error, 'NOT_IMPLEMENTED')) throw error;
    throw new ProductError('VM_CREATION_FAILED', `the VM could not be created: ${error.message}`, {
      cause: error,
    });
  }
}

/** Rejects if there is a VM of the instance, or a disk, which can be left without its VM or the VM's pod. */
async function assertNewInstance(
  { api, namespace, diskNamespace }: CallContext,
  { cid, diskCids }: VmSpec,
  metadata: JsonObject,
): Promise<void> {
  const { deployment } = metadata;
  if (typeof deployment !== 'string') return;
  const { labels } = metadataPatch(metadata).metadata;
  const ofInstance = Object.entries(labels).flatMap(([name, value]) =>
    value === null ? [] : `${name}=${value}`,
  );
  const selector = (kind: ObjectKind, ...more: readonly string[]): string =>
    [`${label.kind}=${kind}`, ...ofInstance, ...more].join();
  const [vms, disks] = await Promise.all([
    api.list(pods, { namespace, labelSelector: selector('vm') }),
    api.list(persistentVolumeClaims, {
      namespace: diskNamespace,
      labelSelector: selector('disk', `!${label.provisional}`),
    }),
  ]);
  const known = new Set([cid, ...diskCids]);
  const find = ({ items }: typeof vms): string | undefined =>
    items.find((object) => !known.has(object.metadata.name) && !isBeingDeleted(object))?.metadata.name;
  const [vm, disk] = [find(vms), find(disks)];
  if (vm === undefined && disk === undefined) return;
  const existing =
    vm === undefined
      ? `disk '${disk}' in namespace ${diskNamespace}`
      : `VM '${vm}' in namespace ${namespace}`;
  throw new ProductError(
    'VM_CREATION_FAILED',
    `deployment '${deployment}' has ${existing}, which the caller's state file does not name. If this is another deployment, give ` +
      'it another name in the manifest: a second VM would get an empty disk. Otherwise name the right file with --state; if it is ' +
      "lost, 'bosh-kubernetes state restore MANIFEST' writes it again",
  );
}

const isBeingDeleted = ({ metadata: { deletionTimestamp, annotations } }: KubernetesObject): boolean =>
  deletionTimestamp !== undefined || annotations?.[annotation.deleting] === 'true';

async function check(call: CallContext, spec: VmSpec, previousCid: string | undefined): Promise<string[]> {
  assertUsableAddress(spec.networks);
  const plan = await planVm(call, spec);
  await findAddressOwners(call, spec, previousCid);
  const { ephemeralDisk } = spec.properties.compute;
  const field = new Field(ephemeralDisk, 'check_vm.cloud_properties.ephemeral_disk', 'INVALID_ARGUMENT');
  await checkClasses(call, { storageClass: ephemeralDisk.storageClass }, field);
  const previous = isVmCid(previousCid) ? await existingObjects(call, previousCid) : undefined;
  // the quotas also count the objects of the new VM that an interrupted create_vm created
  const unfinished = await existingObjects(call, spec.cid);
  const freed = sumOf([...usagesOf(unfinished), ...(previous === undefined ? [] : usagesOf(previous))]);
  const note =
    previous?.pod === undefined ? undefined : unverifiableAddress(call, plan.facts.networking, previous.pod);
  return [
    ...(note === undefined ? [] : [note]),
    ...(await checkObjects(call, plannedObjects(call, plan), freed)),
  ];
}

/**
 * Returns a sentence if nothing shows that the network gives a pod the address that it requests: no plugin
 * that does is detected or configured, and the VM that is replaced does not have its requested address.
 */
function unverifiableAddress(
  { config }: CallContext,
  { annotations }: PodNetworking,
  previous: Pod,
): string | undefined {
  const requested = annotations[annotation.ipAddress];
  const isKnown =
    config.networks.addressStrategy !== undefined ||
    Object.values(cniAddressAnnotations).some((key) => annotations[key] !== undefined);
  const isVisible =
    previous.metadata.annotations?.[annotation.ipAddress] !== undefined &&
    verifyPodAddresses(previous) === undefined;
  if (requested === undefined || isKnown || isVisible) return undefined;
  return (
    `whether the cluster's network gives a pod the address ${requested} is not known: it needs the static-ip CNI plugin, Calico or ` +
    'Kube-OVN, and without them create_vm fails; use a dynamic network, or set networks.address_strategy if the cluster has one of them'
  );
}

/** An object that create_vm, or the cluster for its pod, makes. */
interface PlannedObject {
  readonly resource: Resource;
  readonly object: KubernetesObject;
  /** True: a controller of the cluster creates it, so the role of the CPI does not matter. */
  readonly isOfCluster: boolean;
}

function plannedObjects(call: CallContext, plan: VmPlan): PlannedObject[] {
  const { cid } = plan.spec;
  const secret = vmSecret(call, plan);
  // an ownerReference needs a uid, and the Secret does not exist yet
  const owner = { metadata: { name: cid, uid: call.newUuid() } };
  const pod = withOwner(podTemplate(call, plan), owner);
  const claims = plan.facts.attach === 'recreate' ? vmClaims(call, plan.spec) : [];
  const ephemeral = (pod.spec.volumes ?? []).flatMap((volume): PersistentVolumeClaim[] => {
    if (volume.ephemeral === undefined) return [];
    const { metadata, spec } = volume.ephemeral.volumeClaimTemplate;
    return [{ metadata: { ...metadata, name: `${cid}-${volume.name}`, namespace: call.namespace }, spec }];
  });
  const of = (
    resource: Resource,
    objects: readonly KubernetesObject[],
    isOfCluster = false,
  ): PlannedObject[] => objects.map((object) => ({ resource, object, isOfCluster }));
  return [
    ...of(secrets, [secret]),
    ...of(
      persistentVolumeClaims,
      claims.map((claim) => withOwner(claim, owner)),
    ),
    ...of(persistentVolumeClaims, ephemeral, true),
    ...of(pods, [pod]),
  ];
}

/** Sends a dry-run create of each object, then checks that the quotas have room for all of them together. */
async function checkObjects(
  call: CallContext,
  objects: readonly PlannedObject[],
  freed: Usage,
): Promise<string[]> {
  const results = await Promise.all(objects.map((object) => dryRunCreate(call, object)));
  const refusals = results.flatMap(({ refusal }) => refusal ?? []);
  const listed = await readQuotas(call);
  const quotas = [
    // only the server knows which objects a quota with scopes counts; it reports this when it refuses
    ...(listed ?? [])
      .filter(({ spec }) => spec?.scopes === undefined && spec?.scopeSelector === undefined)
      .map(({ metadata, spec, status }) => ({
        name: metadata.name,
        hard: spec?.hard ?? {},
        used: status?.used ?? {},
      })),
    ...refusals.map(({ quota }) => quota),
  ];
  const short = quotaShortage(quotas, sumOf(results.map(({ usage }) => usage)), freed);
  if (short !== undefined)
    throw new ProductError(
      'QUOTA_EXCEEDED',
      `${short}; raise the quota, or delete objects that are not needed`,
    );
  // no VM is replaced, so nothing frees quota: report the refusal
  for (const { error } of refusals) if (freed.size === 0) throw error;
  const notes = results.flatMap(({ note }) => note ?? []);
  if (listed !== undefined || refusals.length === 0) return notes;
  const names = [...new Set(refusals.map(({ quota }) => quota.name))].join(', ');
  return [
    ...notes,
    `ResourceQuota ${names} is full until the VM that is replaced is deleted; the role of the CPI may not list resourcequotas, so ` +
      'further quotas of the namespace were not checked',
  ];
}

interface DryRunResult {
  readonly usage: Usage;
  readonly refusal?: QuotaError;
  readonly note?: string;
}

/**
 * Sends a dry-run create and rejects as a create does. Returns a refusal by a full quota instead of
 * rejecting. An object of that name is no error, because create_vm adopts or removes it.
 */
async function dryRunCreate(
  { api }: CallContext,
  { resource, object, isOfCluster }: PlannedObject,
): Promise<DryRunResult> {
  try {
    return { usage: objectUsage(resource.plural, await api.dryRunCreate(resource, object)) };
  } catch (error) {
    const usage = objectUsage(resource.plural, object);
    if (isApiError(error, 409, 'AlreadyExists')) return { usage };
    const refusal = quotaRefusal(error);
    if (refusal !== undefined) return { usage: withRequested(usage, refusal), refusal };
    const { name, namespace = '' } = object.metadata;
    if (!isOfCluster || !isRoleRefusal(error)) throw await explained(api, namespace, error);
    const note = `the role of the CPI may not create ${resource.plural} in namespace ${namespace}, so '${name}', which the cluster makes for the pod, was not checked`;
    return { usage, note };
  }
}

/** Adds the amounts that the server reports, because they include the defaults of LimitRanges. */
const withRequested = (usage: Usage, { requested }: QuotaError): Usage =>
  new Map([...usage, ...Object.keys(requested).map((name) => [name, amountOf(requested, name)] as const)]);

async function readQuotas({ api, namespace }: CallContext): Promise<readonly ResourceQuota[] | undefined> {
  return (await ifAllowed(api.list<ResourceQuota>(resourceQuotas, { namespace })))?.items;
}

interface ExistingObjects {
  readonly pod: Pod | undefined;
  readonly secret: KubernetesObject | undefined;
  readonly claims: readonly PersistentVolumeClaim[];
}

/** Reads all objects that are deleted with a VM and that a new VM has again. */
async function existingObjects(call: CallContext, cid: string): Promise<ExistingObjects> {
  const [pod, secret, claims] = await Promise.all([
    findVm(call, cid),
    findVmSecret(call, cid),
    call.api.list<PersistentVolumeClaim>(persistentVolumeClaims, {
      namespace: call.namespace,
      labelSelector: `${label.kind}=volume,${label.vmId}=${cid}`,
    }),
  ]);
  return { pod, secret, claims: claims.items };
}

const usagesOf = ({ pod, secret, claims }: ExistingObjects): Usage[] => [
  ...(pod === undefined ? [] : [objectUsage(pods.plural, pod)]),
  ...(secret === undefined ? [] : [objectUsage(secrets.plural, secret)]),
  ...claims.map((claim) => objectUsage(persistentVolumeClaims.plural, claim)),
];
