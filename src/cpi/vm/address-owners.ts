import type { VmSpec } from './vm-spec.ts';
import type { Pod } from '../../kubernetes/types/pod.ts';
import type { CallContext } from '../call.ts';
import { ProductError } from '../../errors/product-error.ts';
import { requestedAddresses } from '../network/fixed-addresses.ts';
import { addressLabels } from '../network/pod-networking.ts';
import { pods } from '../../kubernetes/resources.ts';
import { label, annotation } from '../objects/labels.ts';
import type { VmSecret } from './vms.ts';
import { deleteAttachmentsOfTerminatingVm } from '../disk/attach/attachments.ts';
import { waitForDeletion } from '../objects/objects.ts';
import { podReference } from '../objects/names.ts';
import type { KubernetesObject, Stored } from '../../kubernetes/object.ts';

/** The pods of other VMs that have one of the addresses and will free it. */
interface AddressOwners {
  readonly terminating: readonly Stored<Pod>[];
  /** Pods of VMs whose create_vm did not finish and which the new VM may replace. */
  readonly unfinished: readonly Pod[];
}

/**
 * Ensures that no other VM has one of the addresses of the new VM. Waits until a terminating VM is deleted,
 * and deletes the attachment pods of such a VM. Removes a VM of the same deployment whose create_vm was
 * killed. Rejects with VM_CREATION_FAILED, before any change, if another active VM has one.
 */
export async function freeAddresses(call: CallContext, vm: VmSpec): Promise<void> {
  const { terminating, unfinished } = await findAddressOwners(call, vm);
  for (const owner of unfinished) await removeAddressOwner(call, owner, vm);
  await Promise.all(terminating.map((owner) => waitForAddressOwner(call, owner)));
}

/**
 * Returns the other VMs that have one of the addresses. Rejects with VM_CREATION_FAILED if one of them is
 * active and keeps its address. Ignores the new VM and the one with the cid `replacedVmCid`, which the new VM
 * replaces. Changes nothing.
 */
export async function findAddressOwners(
  call: CallContext,
  vm: VmSpec,
  replacedVmCid?: string,
): Promise<AddressOwners> {
  const owners = (await listAddressOwners(call, vm)).filter(
    ({ metadata }) => metadata.name !== replacedVmCid,
  );
  const unfinished = owners.filter(isActive);
  if (unfinished.length > 0) {
    const { readVmState, whyNotReplaced } = await import('./unfinished-vm.ts');
    for (const owner of unfinished) {
      const state = await readVmState(call, owner.metadata.name);
      if (whyNotReplaced(call, state, vm) !== undefined)
        throw addressOwnerError(call, vm.cid, owner, state.secret);
    }
  }
  return { terminating: owners.filter((owner) => !isActive(owner)), unfinished };
}

/**
 * Checks again that no other VM has one of the addresses. Call it after the new VM's pod was created: of two
 * VMs with one address that are created at the same time, at least the one whose pod was created later finds
 * the other one here. Rejects with VM_CREATION_FAILED_RETRY. Model: create-vm.pml
 */
export async function assertAddressesUnique(call: CallContext, vm: VmSpec): Promise<void> {
  const other = (await listAddressOwners(call, vm)).find(isActive);
  if (other === undefined) return;
  const { name } = other.metadata;
  throw new ProductError(
    'VM_CREATION_FAILED_RETRY',
    `VM '${name}' was made at the same time and has the address ${requestedAddresses(other) ?? ''}, too; run the call again`,
  );
}

const isActive = ({ metadata }: Pod): boolean => metadata.deletionTimestamp === undefined;

/** Returns the pods of other VMs that have one of the addresses, by the labels of the addresses. */
async function listAddressOwners(call: CallContext, { cid, networks }: VmSpec): Promise<Stored<Pod>[]> {
  const lists = await Promise.all(
    addressLabels(networks, call.namespace).map((address) =>
      call.api.list<Pod>(pods, {
        namespace: call.namespace,
        labelSelector: `${label.kind}=vm,${address}`,
      }),
    ),
  );
  const byName = new Map(lists.flatMap(({ items }) => items).map((pod) => [pod.metadata.name, pod] as const));
  byName.delete(cid);
  return [...byName.values()];
}

async function removeAddressOwner(call: CallContext, owner: Pod, vm: VmSpec): Promise<void> {
  const { removeUnfinished, whyNotReplaced } = await import('./unfinished-vm.ts');
  const { name } = owner.metadata;
  let secret: VmSecret | undefined;
  const reason = await removeUnfinished(call, name, (state) => {
    ({ secret } = state);
    return whyNotReplaced(call, state, vm);
  });
  if (reason !== undefined) throw addressOwnerError(call, vm.cid, owner, secret);
  call.log(
    `VM '${name}', which had the address ${requestedAddresses(owner) ?? ''} of VM '${vm.cid}', was removed: its create_vm had not finished`,
  );
}

async function waitForAddressOwner(call: CallContext, owner: Stored<Pod>): Promise<void> {
  const { name, uid } = owner.metadata;
  await deleteAttachmentsOfTerminatingVm(call, owner);
  await waitForDeletion(call, {
    reference: podReference(call, name),
    uid,
    nodeName: owner.spec.nodeName,
    deadlineSeconds: call.config.deadlines.createVm,
    what: `VM '${name}', which still has the address ${requestedAddresses(owner) ?? ''},`,
  });
}

/**
 * Returns the error of a create_vm for an address that an active VM has, with the command that deletes that
 * VM. The deployment of a director's VM is known from `env.bosh.groups`, with which its Secret was created.
 */
function addressOwnerError(
  { namespace }: Pick<CallContext, 'namespace'>,
  vmCid: string,
  owner: Pod,
  secret: KubernetesObject | undefined,
): ProductError {
  const { name, annotations = {} } = owner.metadata;
  const deployment = secret?.metadata.labels?.[label.deployment];
  const next =
    deployment === undefined
      ? `with delete-env of its manifest; if its state file is lost, 'bosh-kubernetes state restore MANIFEST' writes it; if a ` +
        `killed create-env left it, run that again, or: kubectl delete secret ${name} -n ${namespace} (docs/recovery.md)`
      : `if that deployment does not need it: bosh -d ${describedDeployment(annotations) ?? deployment} delete-vm ${name}`;
  return new ProductError(
    'VM_CREATION_FAILED',
    `VM '${vmCid}' could not be created in namespace ${namespace}: VM '${name}' has the address ${requestedAddresses(owner) ?? ''}; ` +
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
