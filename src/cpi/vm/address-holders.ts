import type { VmPlan } from './plan-vm.ts';
import type { Pod } from '../../kubernetes/types/pod.ts';
import type { CallContext } from '../call.ts';
import { ProductError } from '../../errors/product-error.ts';
import { requestedAddresses } from '../network/fixed-addresses.ts';
import { pods } from '../../kubernetes/resources.ts';
import { label, annotation } from '../objects/labels.ts';
import type { VmSecret } from './vms.ts';
import { deleteAttachmentsOfTerminatingVm } from '../disk/attach/attachments.ts';
import { waitForDeletion } from '../objects/objects.ts';
import { podReference } from '../objects/names.ts';
import type { KubernetesObject } from '../../kubernetes/object.ts';

/** The VM that needs the addresses. */
type NewVm = Pick<VmPlan, 'cid' | 'directorUuid' | 'groupLabels'>;

/** The pods of other VMs that have one of the addresses and will free it. */
interface Holders {
  readonly terminating: readonly Pod[];
  /** Pods of VMs whose create_vm did not finish and which the new VM may replace. */
  readonly unfinished: readonly Pod[];
}

/**
 * Ensures that no other VM has one of the addresses, which it finds by their labels (`addressLabels`). Waits
 * until a terminating VM is deleted, and deletes the attachment pods of such a VM. Removes a VM of the same
 * deployment that a killed create_vm has left. Rejects with VM_CREATION_FAILED, before any change, if another
 * active VM has one.
 */
export async function freeAddresses(call: CallContext, labels: readonly string[], vm: NewVm): Promise<void> {
  const { terminating, unfinished } = await findHolders(call, labels, vm);
  for (const holder of unfinished) await removeHolder(call, holder, vm);
  await Promise.all(terminating.map((holder) => waitForAddressOwner(call, holder)));
}

/**
 * Returns the other VMs that have one of the addresses. Rejects with VM_CREATION_FAILED if one of them is
 * active and keeps its address. Ignores the new VM and the one with the cid `replacedVmCid`, which the new VM
 * replaces. Changes nothing.
 */
export async function findHolders(
  call: CallContext,
  labels: readonly string[],
  vm: NewVm,
  replacedVmCid?: string,
): Promise<Holders> {
  const holders = (await listHolders(call, labels, vm.cid)).filter(
    ({ metadata }) => metadata.name !== replacedVmCid,
  );
  const unfinished = holders.filter(isLiving);
  if (unfinished.length > 0) {
    const { lookAtVm, whyNotReplaced } = await import('./unfinished-vm.ts');
    for (const holder of unfinished) {
      const state = await lookAtVm(call, holder.metadata.name ?? '');
      if (whyNotReplaced(state, vm) !== undefined) throw holderError(call, vm.cid, holder, state.secret);
    }
  }
  return { terminating: holders.filter((holder) => !isLiving(holder)), unfinished };
}

/**
 * Checks again that no other VM has one of the addresses. Call it after the new VM's pod was created: of two
 * VMs with one address that are created at the same time, at least the one whose pod was created later finds
 * the other one here. Rejects with VM_CREATION_FAILED_RETRY. Model: create-vm.pml
 */
export async function refuseOtherHolder(
  call: CallContext,
  labels: readonly string[],
  vm: NewVm,
): Promise<void> {
  const living = (await listHolders(call, labels, vm.cid)).find(isLiving);
  if (living === undefined) return;
  const { name = '' } = living.metadata;
  throw new ProductError(
    'VM_CREATION_FAILED_RETRY',
    `VM '${name}' was made at the same time and has the address ${requestedAddresses(living) ?? ''}, too; run the call again`,
  );
}

const isLiving = ({ metadata }: Pod): boolean => metadata.deletionTimestamp === undefined;

async function listHolders(call: CallContext, labels: readonly string[], vmCid: string): Promise<Pod[]> {
  const lists = await Promise.all(
    labels.map((address) =>
      call.api.list<Pod>(pods, {
        namespace: call.namespace,
        labelSelector: `${label.kind}=vm,${address}`,
      }),
    ),
  );
  const byName = new Map(
    lists.flatMap(({ items }) => items).map((pod) => [pod.metadata.name ?? '', pod] as const),
  );
  byName.delete(vmCid);
  return [...byName.values()];
}

async function removeHolder(call: CallContext, holder: Pod, vm: NewVm): Promise<void> {
  const { removeUnfinished, whyNotReplaced } = await import('./unfinished-vm.ts');
  const { name = '' } = holder.metadata;
  let secret: VmSecret | undefined;
  const reason = await removeUnfinished(call, name, (state) => {
    ({ secret } = state);
    return whyNotReplaced(state, vm);
  });
  if (reason !== undefined) throw holderError(call, vm.cid, holder, secret);
  call.log(
    `VM '${name}', which had the address ${requestedAddresses(holder) ?? ''} of VM '${vm.cid}', was removed: its create_vm had not finished`,
  );
}

async function waitForAddressOwner(call: CallContext, holder: Pod): Promise<void> {
  const { name = '', uid = '' } = holder.metadata;
  await deleteAttachmentsOfTerminatingVm(call, holder);
  await waitForDeletion(call, {
    reference: podReference(call, name),
    uid,
    nodeName: holder.spec.nodeName,
    deadlineSeconds: call.config.deadlines.createVm,
    what: `VM '${name}', which still has the address ${requestedAddresses(holder) ?? ''},`,
  });
}

/**
 * Returns the error of a create_vm for an address that an active VM has, with the command that deletes that
 * VM. The deployment of a director's VM is known from `env.bosh.groups`, with which its Secret was created.
 */
export function holderError(
  { namespace }: Pick<CallContext, 'namespace'>,
  vmCid: string,
  holder: Pod,
  secret: KubernetesObject | undefined,
): ProductError {
  const { name = '', annotations = {} } = holder.metadata;
  const deployment = secret?.metadata.labels?.[label.deployment];
  const next =
    deployment === undefined
      ? `with delete-env of its manifest; if a killed create-env left it, run that again, or: kubectl delete secret ${name} ` +
        `-n ${namespace} (docs/operating.md, "Recovery")`
      : `if that deployment does not need it: bosh -d ${describedDeployment(annotations) ?? deployment} delete-vm ${name}`;
  return new ProductError(
    'VM_CREATION_FAILED',
    `VM '${vmCid}' could not be created in namespace ${namespace}: VM '${name}' has the address ${requestedAddresses(holder) ?? ''}; ` +
      `choose another one, or delete that VM first, ${next}`,
  );
}

/**
 * Returns the unchanged name of the deployment; a label contains its canonical form only. A user who may edit
 * pods may set any annotation, so the name is checked.
 */
function describedDeployment(annotations: Readonly<Record<string, string>>): string | undefined {
  const metadata = jsonOf(annotations[annotation.metadata]);
  const name =
    typeof metadata === 'object' && metadata !== null && 'deployment' in metadata
      ? metadata.deployment
      : undefined;
  return typeof name === 'string' && /^[\w.-]+$/u.test(name) ? name : undefined;
}

function jsonOf(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return undefined;
  }
}
