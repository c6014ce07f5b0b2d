import { ProductError, isProductError } from '../../errors/product-error.ts';
import { isApiError } from '../../kubernetes/api-error.ts';
import type { Resource } from '../../kubernetes/api.ts';
import type { KubernetesObject } from '../../kubernetes/object.ts';
import type { Pod } from '../../kubernetes/pod.ts';
import { amountOf, objectUsage } from '../../kubernetes/quota-usage.ts';
import type { Usage } from '../../kubernetes/quota-usage.ts';
import { persistentVolumeClaims, pods, resourceQuotas, secrets } from '../../kubernetes/resources.ts';
import { findHolders } from '../address/address-holders.ts';
import { verifyPodAddresses } from '../address/address-problem.ts';
import { cniAddressAnnotations } from '../address/address-strategy.ts';
import { addressLabels } from '../address/pod-networking.ts';
import { assertUsableAddress } from '../address/refuse-address.ts';
import type { CallContext } from '../cloud.ts';
import { explained } from '../create-unless-there.ts';
import { checkClasses } from '../disk/check-classes.ts';
import type { PersistentVolumeClaim } from '../disk/claim.ts';
import { child, optionalStringAt } from '../input.ts';
import type { Location } from '../input.ts';
import { annotation, label } from '../labels.ts';
import { isVmCid } from '../names.ts';
import { planVm } from './create-vm.ts';
import { vmSecret } from './ensure-vm.ts';
import { findVm, findVmSecret } from './find-vm.ts';
import { isRoleRefusal, quotaRefusal, quotaShortage, sumOf } from './quota-room.ts';
import type { QuotaError, ResourceQuota } from './quota-room.ts';
import { vmClaims } from './vm-claims.ts';
import { vmPod } from './vm-pod.ts';
import type { VmPlan } from './vm-plan.ts';
import { parseVmRequest } from './vm-request.ts';
import type { VmSpec, VmRequest } from './vm-request.ts';

/**
 * check_vm(agent_id, stemcell_cid, cloud_properties, networks, disk_cids, env, former_vm_cid): rejects
 * where create_vm with the first six would be refused, so that a caller knows it before it deletes the VM
 * that the new one replaces, `former_vm_cid` (null: none). What that VM has, its address and its part of
 * the quotas, counts as free. Resolves with what could not be checked, a sentence each. Changes nothing:
 * the API server is asked by creates that it does not carry out. A method of this CPI alone; never answers
 * NotSupported or NotImplemented, by which a caller knows a CPI that has no such method.
 */
export async function checkVm(cloud: CallContext, args: readonly unknown[]): Promise<string[]> {
  const place: Location = { code: 'INVALID_ARGUMENT', path: 'check_vm' };
  try {
    const replacedVmCid = optionalStringAt(args[6], child(place, 'former_vm_cid'));
    return await check(cloud, parseVmRequest(cloud, args, 'check_vm'), replacedVmCid);
  } catch (error) {
    if (!isProductError(error, 'NOT_SUPPORTED') && !isProductError(error, 'NOT_IMPLEMENTED')) throw error;
    throw new ProductError('VM_CREATION_FAILED', `the VM could not be created: ${error.message}`, {
      cause: error,
    });
  }
}

async function check(cloud: CallContext, parsed: VmSpec, formerCid: string | undefined): Promise<string[]> {
  assertUsableAddress(parsed.networks);
  const plan = await planVm(cloud, parsed);
  await findHolders(cloud, addressLabels(parsed.networks, cloud.namespace), plan, formerCid);
  const { ephemeralDisk } = plan.properties.compute;
  const place: Location = { code: 'INVALID_ARGUMENT', path: 'check_vm.cloud_properties.ephemeral_disk' };
  await checkClasses(cloud, { storageClass: ephemeralDisk.storageClass }, place);
  const former = isVmCid(formerCid) ? await existingObjects(cloud, formerCid) : undefined;
  // what an interrupted create_vm has left of the new VM is counted by the quotas, too
  const left = await existingObjects(cloud, plan.cid);
  const freed = sumOf([...usagesOf(left), ...(former === undefined ? [] : usagesOf(former))]);
  const note = former?.pod === undefined ? undefined : unverifiableAddress(cloud, plan, former.pod);
  return [
    ...(note === undefined ? [] : [note]),
    ...(await checkObjects(cloud, objectsOf(cloud, { ...parsed, plan }), freed)),
  ];
}

/**
 * Whether nothing shows that the network gives a pod the address that it asks for: no plugin was seen or
 * configured that does, and the VM that is replaced has none of its own choice.
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
  /** The cluster's own controller makes it, whatever the CPI's role may. */
  readonly isOfCluster: boolean;
}

function objectsOf(cloud: CallContext, request: VmRequest): PlannedObject[] {
  const { plan } = request;
  // an owner has a uid, and none is there yet
  const uid = cloud.newUuid();
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

/** What the API server says to each, and whether the quotas have room for all together. */
async function checkObjects(
  cloud: CallContext,
  objects: readonly PlannedObject[],
  freed: Usage,
): Promise<string[]> {
  const asked = await Promise.all(objects.map((made) => dryRunCreate(cloud, made)));
  const refusals = asked.flatMap(({ refusal }) => refusal ?? []);
  const listed = await readQuotas(cloud);
  const quotas = [
    // which objects one with scopes counts, the server says when it refuses
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
  // nothing goes that would make room
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
 * Rejects as a create does; a quota that is full is an answer, and so is an object of that name, which
 * create_vm adopts or removes.
 */
async function dryRunCreate(
  { api }: CallContext,
  { resource, object, isOfCluster }: PlannedObject,
): Promise<RequestedObject> {
  try {
    return { usage: objectUsage(resource.plural, await api.create(resource, object, { dryRun: true })) };
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

/** With the server's amounts, which know the defaults of LimitRanges. */
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

/** All of a VM that goes with it and a new one has again. */
async function existingObjects(cloud: CallContext, cid: string): Promise<PresentObjects> {
  const [pod, secret, claims] = await Promise.all([
    findVm(cloud, cid),
    findVmSecret(cloud, cid),
    cloud.api.list<PersistentVolumeClaim>(persistentVolumeClaims, {
      namespace: cloud.namespace,
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
