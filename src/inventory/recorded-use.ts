import { label } from '../cpi/objects/labels.ts';
import { labelValue, vmCid } from '../cpi/objects/names.ts';
import { ProductError } from '../errors/product-error.ts';
import type { KubernetesObject } from '../kubernetes/object.ts';
import { boshNameOf } from './bosh-name.ts';
import { type DirectorList, commandOf } from './director-list.ts';
import { isKind, labelOf } from './managed-objects.ts';
import type { ObjectLists } from './object-lists.ts';

/** What a state file records. */
export interface RecordedState {
  readonly path: string;
  readonly directorId: string;
  readonly vmCid: string | undefined;
  /** The agent id of a VM whose creation is not recorded yet. */
  readonly pendingAgentId: string | undefined;
  readonly diskCids: readonly string[];
  /** The number of disks whose cid is not recorded yet. */
  readonly pendingDisks: number;
  /** When the file was read, in milliseconds since the epoch. */
  readonly readAt: number;
}

/** Parses `<context>:<name>` or `<name>`, split at the last colon (docs/cpi/configuration.md). */
export function readCid(cid: string): { readonly context: string | undefined; readonly name: string } {
  const colon = cid.lastIndexOf(':');
  return { context: colon < 0 ? undefined : cid.slice(0, colon), name: cid.slice(colon + 1) };
}

/** Returns the names of the objects with these cids. */
const namesOf = (cids: readonly (string | undefined)[]): string[] =>
  cids.flatMap((cid) => (cid === undefined ? [] : readCid(cid).name));

/** The objects that the owner of some objects uses, as far as it was shown. */
export interface OwnerUse {
  /** The state file or the lists, for messages. */
  readonly source: string;
  /** The time of the oldest record, in milliseconds since the epoch. */
  readonly recordedAt: number;
  /** The names of all VMs and disks that the owner uses, and of the snapshots that it lists. */
  readonly used: ReadonlySet<string>;
  /** The names of disks of instances. A director lists all snapshots of these, and of no others. */
  readonly activeDisks: ReadonlySet<string>;
  /** The values of the label `deployment` of the deployments whose snapshots were listed. */
  readonly snapshotDeployments: ReadonlySet<string>;
  /** Why no disk may be deleted, although the lists do not name it. */
  readonly disksUnknown: string | undefined;
}

/** By the value of the label `director-id`. */
export type RecordedUse = ReadonlyMap<string, OwnerUse>;

/** Returns the use of all owners. Throws LIST_INVALID if a state file and lists are of the same owner. */
export function joinUse(states: RecordedUse, director: RecordedUse): RecordedUse {
  for (const [owner, { source }] of director)
    if (states.has(owner)) throw invalid(`${source} and ${states.get(owner)?.source} are of the same owner`);
  return new Map([...states, ...director]);
}

/** Returns the use of each state file's owner. Several files of one director id are joined. */
export function useOfStates(states: readonly RecordedState[]): RecordedUse {
  const owners = new Map<string, OwnerUse>();
  for (const state of states) {
    // An object without a director's id has no owner that could be shown.
    if (state.directorId === '') continue;
    const owner = labelValue(state.directorId);
    const { vmCid: cid, pendingAgentId, diskCids, pendingDisks, path } = state;
    const vms = [cid, pendingAgentId === undefined ? undefined : vmCid(pendingAgentId)];
    const before = owners.get(owner);
    owners.set(owner, {
      source: before === undefined ? `'${path}'` : `${before.source} and '${path}'`,
      recordedAt: Math.min(state.readAt, before?.recordedAt ?? Infinity),
      used: new Set([...(before?.used ?? []), ...namesOf([...vms, ...diskCids])]),
      activeDisks: new Set(),
      snapshotDeployments: new Set(),
      disksUnknown:
        pendingDisks === 0
          ? before?.disksUnknown
          : `'${path}' waits for the cid of a new disk: run create-env or up first`,
    });
  }
  return owners;
}

/**
 * Returns the use of the director whose lists were given; none if no list was given. The owner is the
 * director of the objects that the lists name. Throws LIST_INVALID if lists of a director are missing,
 * belong to different directors, or do not name a VM of the director that is in the cluster: then they are
 * old, limited to a deployment, or filtered.
 */
export function useOfDirector(lists: readonly DirectorList[], cluster: ObjectLists): RecordedUse {
  if (lists.length === 0) return new Map();
  assertComplete(lists);
  const vmCids = new Set(namesOf(lists.flatMap((list) => list.vmCids)));
  const diskCids = new Set(namesOf(lists.flatMap((list) => list.diskCids)));
  const owner = ownerOf(cluster, new Set([...vmCids, ...diskCids]));
  assertNamesVms(cluster, owner, vmCids);
  const ofContent = (content: DirectorList['content']): readonly DirectorList[] =>
    lists.filter((list) => list.content === content);
  const use: OwnerUse = {
    source: lists.map(({ path }) => `'${path}'`).join(', '),
    recordedAt: Math.min(...lists.map(({ writtenAt }) => writtenAt)),
    used: new Set([...vmCids, ...diskCids, ...namesOf(lists.flatMap(({ snapshotCids }) => snapshotCids))]),
    activeDisks: new Set(namesOf(ofContent('instances').flatMap((list) => list.diskCids))),
    snapshotDeployments: new Set(
      ofContent('snapshots').flatMap(({ deployment }) =>
        deployment === undefined ? [] : labelValue(deployment),
      ),
    ),
    disksUnknown: undefined,
  };
  return new Map([[owner, use]]);
}

function assertComplete(lists: readonly DirectorList[]): void {
  const [first] = lists;
  const other = lists.find(({ environment }) => environment !== first?.environment);
  if (first !== undefined && other !== undefined)
    throw invalid(
      `'${first.path}' and '${other.path}' are of different directors or users; give the lists of one director`,
    );
  for (const { content, deployment, path } of lists)
    if (content === 'instances' && deployment !== undefined)
      throw invalid(
        `'${path}' has the instances of deployment '${deployment}' only; write it again without -d, with BOSH_DEPLOYMENT unset`,
      );
  for (const content of ['instances', 'disks'] as const)
    if (!lists.some((list) => list.content === content))
      throw invalid(
        `the director's list of ${content} is missing; add --director-json with: ${commandOf[content]}`,
      );
}

/** Returns the label of the one director that has made all of these objects. */
function ownerOf({ vmPods, vmSecrets, claims }: ObjectLists, cids: ReadonlySet<string>): string {
  const named = [...(vmPods ?? []), ...(vmSecrets ?? []), ...(claims ?? [])].filter(({ metadata }) =>
    cids.has(metadata.name),
  );
  const owners = [...new Set(named.flatMap((object) => labelOf(object, label.directorId) ?? []))];
  const [owner] = owners;
  if (owner !== undefined && owners.length === 1) return owner;
  throw invalid(
    owner === undefined
      ? 'no VM and no disk of the lists is in these namespaces, so that nothing shows whose lists they are; ' +
          'name the cluster and the namespaces of the director with --kubeconfig, --namespace and --disk-namespace'
      : 'the lists name objects of different directors; give the lists of one director',
  );
}

/**
 * A VM gets its metadata after its director has recorded it. So complete lists name every VM of the director
 * that has metadata, unless a deploy is running. `bosh instances` does not name the orphaned VMs.
 */
function assertNamesVms({ vmPods }: ObjectLists, owner: string, cids: ReadonlySet<string>): void {
  if (vmPods === undefined)
    throw invalid('the kubeconfig does not allow listing pods, so that the lists cannot be checked');
  const missing = vmPods
    .filter(isKind('vm'))
    .filter((pod) => labelOf(pod, label.directorId) === owner && isDescribed(pod))
    .find(({ metadata }) => !cids.has(metadata.name));
  if (missing === undefined) return;
  const { deployment = '-', instance = '-' } = boshNameOf(missing);
  throw invalid(
    `no list of the director names VM '${missing.metadata.name}' (${deployment}/${instance}), which its director made; ` +
      'they are old or filtered, or a deploy is running: write all lists again after it. ' +
      `If the director keeps the VM as orphaned, add --director-json with: ${commandOf.orphaned_vms}`,
  );
}

const isDescribed = (pod: KubernetesObject): boolean => {
  const { deployment, instance } = boshNameOf(pod);
  return deployment !== undefined || instance !== undefined;
};

const invalid = (problem: string): ProductError =>
  new ProductError('LIST_INVALID', `${problem[0]?.toUpperCase()}${problem.slice(1)}; nothing was deleted`);
