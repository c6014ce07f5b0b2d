import { ProductError, isProductError } from '../../errors/product-error.ts';
import { isApiError } from '../../kubernetes/client/api-error.ts';
import type { Resource } from '../../kubernetes/api.ts';
import type { KubernetesObject } from '../../kubernetes/object.ts';
import type { Pod } from '../../kubernetes/types/pod.ts';
import { amountOf, objectUsage, type Usage } from '../../kubernetes/types/usage.ts';
import { persistentVolumeClaims, pods, resourceQuotas, secrets } from '../../kubernetes/resources.ts';
import { findHolders } from './address-holders.ts';
import { verifyPodAddresses, cniAddressAnnotations } from '../network/fixed-addresses.ts';
import { addressLabels } from '../network/pod-networking.ts';
import { assertUsableAddress } from '../network/networks.ts';
import type { CallContext } from '../call.ts';
import type { CheckVmRequest } from '../protocol/methods.ts';
import { explained } from '../objects/objects.ts';
import { checkClasses } from '../disk/classes.ts';
import type { PersistentVolumeClaim } from '../disk/disks.ts';
import { Field } from '../../platform/field.ts';
import { annotation, label } from '../objects/labels.ts';
import { isVmCid } from '../objects/names.ts';
import { planVm, vmSecret } from './create-vm.ts';
import { findVm, findVmSecret } from './vms.ts';
import {
  isRoleRefusal,
  quotaRefusal,
  quotaShortage,
  sumOf,
  type QuotaError,
  type ResourceQuota,
} from './quota.ts';
import { vmClaims } from './claims.ts';
import { vmPod } from './pod.ts';
import { type VmPlan, parseVmRequest, type VmSpec, type VmRequest } from './plan-vm.ts';

/**
 * check_vm(agent_id, stemcell_cid, cloud_properties, networks, disk_cids, env, former_vm_cid): rejects if
 * create_vm with the first six arguments would be refused, so that a caller knows it before it deletes the VM
 * that the new one replaces, `former_vm_cid` (null: no VM). The address of that VM and its part of the quotas
 * count as free. Returns what could not be checked, one sentence for each. Changes nothing: it sends dry-run
 * creates to the API server. Only this CPI has the method. It never rejects with NotSupported or
 * NotImplemented, because a caller recognizes by these errors a CPI without the method.
 */
export async function checkVm(call: CallContext, request: CheckVmRequest): Promise<string[]> {
  try {
    return await check(call, parseVmRequest(call, request, 'check_vm'), request.formerVmCid);
  } catch (error) {
    if (!isProductError(error, 'NOT_SUPPORTED') && !isProductError(error, 'NOT_IMPLEMENTED')) throw error;
    throw new ProductError('VM_CREATION_FAILED', `the VM could not be created: ${error.message}`, {
      cause: error,
    });
  }
}

async function check(call: CallContext, parsed: VmSpec, formerCid: string | undefined): Promise<string[]> {
  assertUsableAddress(parsed.networks);
  const plan = await planVm(call, parsed);
  await findHolders(call, addressLabels(parsed.networks, call.namespace), plan, formerCid);
  const { ephemeralDisk } = plan.properties.compute;
  const field = new Field(ephemeralDisk, 'check_vm.cloud_properties.ephemeral_disk', 'INVALID_ARGUMENT');
  await checkClasses(call, { storageClass: ephemeralDisk.storageClass }, field);
  const former = isVmCid(formerCid) ? await existingObjects(call, formerCid) : undefined;
  // the quotas also count what an interrupted create_vm has left of the new VM
  const left = await existingObjects(call, plan.cid);
  const freed = sumOf([...usagesOf(left), ...(former === undefined ? [] : usagesOf(former))]);
  const note = former?.pod === undefined ? undefined : unverifiableAddress(call, plan, former.pod);
  return [
    ...(note === undefined ? [] : [note]),
    ...(await checkObjects(call, objectsOf(call, { ...parsed, plan }), freed)),
  ];
}

/**
 * Returns a sentence if nothing shows that the network gives a pod the address that it requests: no plugin
 * that does is detected or configured, and the VM that is replaced does not have its requested address.
 */
function unverifiableAddress({ config }: CallContext, plan: VmPlan, former: Pod): string | undefined {
  const { annotations } = plan.networking;
  const asked = annotations[annotation.ipAddress];
  const isKnown =
    config.networks.addressStrategy !== undefined ||
    Object.values(cniAddressAnnotations).some((key) => annotations[key] !== undefined);
  const isVisible =
    former.metadata.annotations?.[annotation.ipAddress] !== undefined &&
    verifyPodAddresses(former) === undefined;
  if (asked === undefined || isKnown || isVisible) return undefined;
  return (
    `whether the cluster's network gives a pod the address ${asked} is not known: it needs the static-ip CNI plugin, Calico or ` +
    'Kube-OVN, and without them create_vm fails; use a dynamic network, or set networks.address_strategy where it has one of them'
  );
}

/** An object that create_vm, or the cluster for its pod, makes. */
interface PlannedObject {
  readonly resource: Resource;
  readonly object: KubernetesObject;
  /** True: a controller of the cluster creates it, so the role of the CPI does not matter. */
  readonly isOfCluster: boolean;
}

function objectsOf(call: CallContext, request: VmRequest): PlannedObject[] {
  const { plan } = request;
  // an ownerReference needs a uid, and the Secret does not exist yet
  const uid = call.newUuid();
  const pod = vmPod(plan, uid);
  const claims = plan.attach === 'recreate' ? vmClaims(plan, uid) : [];
  const ephemeral = (pod.spec.volumes ?? []).flatMap((volume): PersistentVolumeClaim[] => {
    if (volume.ephemeral === undefined) return [];
    const { metadata, spec } = volume.ephemeral.volumeClaimTemplate;
    return [
      { metadata: { ...metadata, name: `${plan.cid}-${volume.name}`, namespace: plan.namespace }, spec },
    ];
  });
  const of = (
    resource: Resource,
    objects: readonly KubernetesObject[],
    isOfCluster = false,
  ): PlannedObject[] => objects.map((object) => ({ resource, object, isOfCluster }));
  return [
    ...of(secrets, [vmSecret(request)]),
    ...of(persistentVolumeClaims, claims),
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
  const asked = await Promise.all(objects.map((made) => dryRunCreate(call, made)));
  const refusals = asked.flatMap(({ refusal }) => refusal ?? []);
  const listed = await readQuotas(call);
  const quotas = [
    // only the server knows which objects a quota with scopes counts; it reports this when it refuses
    ...(listed ?? [])
      .filter(({ spec }) => spec?.scopes === undefined && spec?.scopeSelector === undefined)
      .map(({ metadata, spec, status }) => ({
        name: metadata.name ?? '',
        hard: spec?.hard ?? {},
        used: status?.used ?? {},
      })),
    ...refusals.map(({ quota }) => quota),
  ];
  const short = quotaShortage(quotas, sumOf(asked.map(({ usage }) => usage)), freed);
  if (short !== undefined)
    throw new ProductError('QUOTA_EXCEEDED', `${short}; raise it or remove what is not needed`);
  // no VM is replaced, so nothing frees quota: report the refusal
  for (const { error } of refusals) if (freed.size === 0) throw error;
  const notes = asked.flatMap(({ note }) => note ?? []);
  if (listed !== undefined || refusals.length === 0) return notes;
  const names = [...new Set(refusals.map(({ quota }) => quota.name))].join(', ');
  return [
    ...notes,
    `ResourceQuota ${names} is full until the VM that is replaced has gone; the role of the CPI may not list resourcequotas, so ` +
      'further quotas of the namespace were not checked',
  ];
}

interface RequestedObject {
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
): Promise<RequestedObject> {
  try {
    return { usage: objectUsage(resource.plural, await api.dryRunCreate(resource, object)) };
  } catch (error) {
    const usage = objectUsage(resource.plural, object);
    if (isApiError(error, 409, 'AlreadyExists')) return { usage };
    const refusal = quotaRefusal(error);
    if (refusal !== undefined) return { usage: withRequested(usage, refusal), refusal };
    const { name = '', namespace = '' } = object.metadata;
    if (!isOfCluster || !isRoleRefusal(error)) throw await explained(api, namespace, error);
    const note = `the role of the CPI may not create ${resource.plural} in namespace ${namespace}, so '${name}', which the cluster makes for the pod, was not checked`;
    return { usage, note };
  }
}

/** Adds the amounts that the server reports, because they include the defaults of LimitRanges. */
const withRequested = (usage: Usage, { requested }: QuotaError): Usage =>
  new Map([...usage, ...Object.keys(requested).map((name) => [name, amountOf(requested, name)] as const)]);

async function readQuotas({ api, namespace }: CallContext): Promise<readonly ResourceQuota[] | undefined> {
  try {
    return (await api.list<ResourceQuota>(resourceQuotas, { namespace })).items;
  } catch (error) {
    if (isApiError(error, 403)) return undefined;
    throw error;
  }
}

interface PresentObjects {
  readonly pod: Pod | undefined;
  readonly secret: KubernetesObject | undefined;
  readonly claims: readonly PersistentVolumeClaim[];
}

/** Reads all objects that are deleted with a VM and that a new VM has again. */
async function existingObjects(call: CallContext, cid: string): Promise<PresentObjects> {
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

const usagesOf = ({ pod, secret, claims }: PresentObjects): Usage[] => [
  ...(pod === undefined ? [] : [objectUsage(pods.plural, pod)]),
  ...(secret === undefined ? [] : [objectUsage(secrets.plural, secret)]),
  ...claims.map((claim) => objectUsage(persistentVolumeClaims.plural, claim)),
];
