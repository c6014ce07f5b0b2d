import { ProductError } from '../../errors/product-error.ts';
import { oneLine } from '../../errors/text.ts';
import type { JsonObject } from '../../platform/json.ts';

/** What VMs and disks in a cluster have in common. */
interface FoundObject {
  readonly cid: string;
  /** The director id of the state file with which it was created. Undefined if its label is missing. */
  readonly directorId: string | undefined;
  /** The metadata that its deployer set. Undefined if it set none. */
  readonly metadata: JsonObject | undefined;
  /** An RFC 3339 time. */
  readonly createdAt: string;
}

/** A VM in a cluster, as its objects describe it. It may have no pod. */
export interface FoundVm extends FoundObject {
  readonly agentId: string | undefined;
  /** False if its create_vm was killed. */
  readonly isFinished: boolean;
}

/** A persistent disk in a cluster, as its claim describes it. */
export interface FoundDisk extends FoundObject {
  /** MiB. */
  readonly size: number;
  /** The cid of the VM that it is attached to. */
  readonly vmCid: string | undefined;
  /** True if it was never attached, so that it has no data. */
  readonly isUnclaimed: boolean;
}

export interface FoundObjects {
  /** Without those that have no pod, if `mayListSecrets` is false. */
  readonly vms: readonly FoundVm[];
  readonly disks: readonly FoundDisk[];
  readonly mayListSecrets: boolean;
}

/** What the metadata of a deployment's VM and disk contain. */
export type InstanceIdentity = Readonly<Record<'director' | 'deployment' | 'instance_group', string>>;

/** The operator's choice among several candidates. */
export interface ResourceChoice {
  readonly vmCid?: string | undefined;
  readonly diskCid?: string | undefined;
}

export interface ChosenResources {
  readonly vm: FoundVm | undefined;
  readonly disk: FoundDisk | undefined;
  /** VMs with the names of the deployment that were not chosen. Another state file may have created them. */
  readonly otherVms: readonly FoundVm[];
  /** Disks of the deployment that were not chosen. */
  readonly otherDisks: readonly FoundDisk[];
}

/**
 * Returns the VM and the disk of a deployment without a state file. Throws STATE_NOT_RESTORED if there are
 * several candidates and no choice, also if they are the VM of one state file and the disk of another one; if
 * create_vm of a candidate was killed; or if there is no VM and no disk, or no disk although `needsDisk` is
 * true: a state file without the disk would make the next create-env create an empty one.
 */
export function chooseResources(
  found: FoundObjects,
  identity: InstanceIdentity,
  { vmCid, diskCid }: ResourceChoice,
  needsDisk: boolean,
): ChosenResources {
  const isDescribed = ({ metadata }: FoundObject): boolean => isOf(metadata, identity);
  const described = [...found.vms, ...found.disks].filter(isDescribed);
  const directorIds = new Set(described.flatMap(({ directorId }) => directorId ?? []));
  if (directorIds.size > 1 && vmCid === undefined && diskCid === undefined)
    throw severalStateFiles(found, directorIds, isDescribed);
  const isOurs = (object: FoundObject): boolean =>
    isDescribed(object) ||
    (object.metadata === undefined && object.directorId !== undefined && directorIds.has(object.directorId));
  const namedDisk = vmCid === undefined ? found.disks.find(({ cid }) => cid === diskCid) : undefined;
  const vms = found.vms.filter((each) => isOurs(each) && mayHave(each, namedDisk));
  const unfinished = vms.find(({ isFinished }) => !isFinished);
  if (unfinished !== undefined && (vmCid === undefined || vmCid === unfinished.cid))
    throw notRestored(
      `the create_vm of VM '${oneLine(unfinished.cid)}' was killed, and its pending call is lost, too. Run ` +
        `kubectl delete secret ${oneLine(unfinished.cid)} -n NAMESPACE, which deletes that VM and no disk, and then this command again`,
    );
  const vm = chooseOne('VM', vms, vmCid);
  const disks = found.disks.filter(
    (disk) => belongsToVm(disk, vm, found.vms) ?? (isOurs(disk) && isOfOneStateFile(disk, vm)),
  );
  const withData = disks.filter(({ isUnclaimed }) => !isUnclaimed);
  const disk = chooseOne('disk', withData, diskCid);
  const chosen = {
    vm,
    disk,
    otherVms: vms.filter((each) => each !== vm),
    otherDisks: disks.filter((each) => each !== disk),
  };
  if (disk === undefined && (needsDisk || vm === undefined)) throw nothingFound(chosen, identity);
  return chosen;
}

function isOf(metadata: JsonObject | undefined, identity: InstanceIdentity): boolean {
  return Object.entries(identity).every(([key, value]) => metadata?.[key] === value);
}

/** Returns undefined if the disk is attached to no existing VM. */
function belongsToVm(
  { vmCid }: FoundDisk,
  vm: FoundVm | undefined,
  existing: readonly FoundVm[],
): boolean | undefined {
  if (vmCid === undefined || !existing.some(({ cid }) => cid === vmCid)) return undefined;
  return vmCid === vm?.cid;
}

/**
 * Two deployments may have the same names in one namespace. A disk that is not attached belongs to the VM
 * only if the same state file created both.
 */
const isOfOneStateFile = (disk: FoundDisk, vm: FoundVm | undefined): boolean =>
  vm?.directorId === undefined || disk.directorId === vm.directorId;

/** Returns whether the VM may be that of the disk which the operator has chosen. */
const mayHave = (vm: FoundVm, disk: FoundDisk | undefined): boolean =>
  disk?.directorId === undefined || disk.vmCid === vm.cid || isOfOneStateFile(disk, vm);

/** Returns the error for objects with the names of the deployment that several state files have created. */
function severalStateFiles(
  { vms, disks }: FoundObjects,
  directorIds: ReadonlySet<string>,
  isDescribed: (object: FoundObject) => boolean,
): ProductError {
  const groups = [...directorIds].map((id) => {
    const cids = (kind: string, objects: readonly FoundObject[]): string[] =>
      objects
        .filter((each) => each.directorId === id && isDescribed(each))
        .map(({ cid, createdAt }) => `${kind} '${oneLine(cid)}' of ${createdAt}`);
    return [...cids('VM', vms), ...cids('disk', disks)].join(' and ');
  });
  return notRestored(
    `there are VMs or disks of ${groups.length} state files with the names of this deployment: ${groups.join('; ')}. ` +
      'Another deployment may have the same names. Choose the VM of this one with --vm CID or, if that VM is lost, its disk with --disk CID',
  );
}

function chooseOne<T extends FoundObject>(
  kind: 'VM' | 'disk',
  candidates: readonly T[],
  cid: string | undefined,
): T | undefined {
  const flag = `--${kind.toLowerCase()} CID`;
  const names = candidates.map((each) => `'${oneLine(each.cid)}' of ${each.createdAt}`).join(', ');
  if (cid !== undefined) {
    const chosen = candidates.find((each) => each.cid === cid);
    if (chosen !== undefined) return chosen;
    throw notRestored(`${kind} '${oneLine(cid)}' is no candidate. Candidates: ${names || 'none'}`);
  }
  if (candidates.length < 2) return candidates[0];
  const advice =
    kind === 'VM'
      ? 'Choose the VM whose agent has the address of the manifest'
      : 'Choose the disk that the VM has mounted at /var/vcap/store: while a disk is being replaced, the agent mounts the new ' +
        'one there only after the data was copied';
  throw notRestored(
    `there are ${candidates.length} candidates for the ${kind}: ${names}. ${advice}, with ${flag}`,
  );
}

function nothingFound({ vm, otherDisks }: ChosenResources, identity: InstanceIdentity): ProductError {
  const { deployment, instance_group: group } = identity;
  const owner = `deployment '${oneLine(deployment)}', instance group '${oneLine(group)}'`;
  const unused = otherDisks
    .map(({ cid }) => `; disk '${oneLine(cid)}' was never attached and has no data`)
    .join('');
  const what =
    vm === undefined ? `no VM and no disk of ${owner}` : `VM '${oneLine(vm.cid)}', and no disk of ${owner}`;
  return notRestored(
    `the cluster has ${what}${unused}. Check cluster, --namespace and --disk-namespace. ` +
      (vm === undefined
        ? 'If they are right, create-env creates VM and disk'
        : 'If they are right, the VM was killed before it got its disk: run kubectl delete secret ' +
          `${oneLine(vm.cid)} -n NAMESPACE, and then create-env`),
  );
}

export function notRestored(problem: string): ProductError {
  return new ProductError('STATE_NOT_RESTORED', `No state file was written: ${problem}`);
}
