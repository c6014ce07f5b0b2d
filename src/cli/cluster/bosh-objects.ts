import { objectAnnotations, objectLabels, vmScriptsVersion } from '../../bosh/object-labels.ts';
import type { KubernetesApi } from '../../kubernetes/api.ts';
import type { KubernetesObject, NamespacedObject } from '../../kubernetes/object.ts';
import type { Pod } from '../../kubernetes/types/pod.ts';
import { persistentVolumeClaims, pods } from '../../kubernetes/resources.ts';

const { diskId, kind, unclaimed, vmId } = objectLabels;
const { metadata, scriptsVersion } = objectAnnotations;

export interface VmSummary {
  readonly cid: string;
  /** `group/index` from the VM's metadata, or `-`. */
  readonly instance: string;
  readonly phase: string;
  readonly address: string;
  readonly disks: readonly string[];
  /**
   * True if an earlier version of the CPI created the VM. It has the scripts of that version until it is
   * recreated.
   */
  readonly outdated: boolean;
}

export interface DiskSummary {
  readonly cid: string;
  readonly size: string;
  readonly phase: string;
  /** The VM that the disk is attached to. */
  readonly vm: string | undefined;
  /**
   * True if the disk was created but neither attached nor given metadata. Its creator may never have received
   * the cid.
   */
  readonly unclaimed: boolean;
}

interface Claim extends NamespacedObject {
  spec?: { resources?: { requests?: { storage?: string } } };
  status?: { phase?: string };
}

/** Returns the VMs and disks of the CPI in a namespace, sorted by cid. Disks may have another namespace. */
export async function listBoshObjects(
  api: KubernetesApi,
  namespace: string,
  diskNamespace: string = namespace,
): Promise<{ vms: VmSummary[]; disks: DiskSummary[] }> {
  const [vmList, attachmentList, claimList] = await Promise.all([
    api.list<Pod>(pods, { namespace, labelSelector: `${kind}=vm` }),
    api.list<Pod>(pods, { namespace: diskNamespace, labelSelector: `${kind}=attachment` }),
    api.list<Claim>(persistentVolumeClaims, { namespace: diskNamespace, labelSelector: `${kind}=disk` }),
  ]);
  const vmOf = new Map([
    ...attachmentList.items.map((pod) => [labelOf(pod, diskId), labelOf(pod, vmId)] as const),
    ...vmList.items.flatMap(disksInPod),
  ]);
  return {
    vms: vmList.items.map((pod) =>
      summarizeVm(
        pod,
        [...vmOf].filter(([, vm]) => vm === pod.metadata.name).map(([disk]) => disk ?? ''),
      ),
    ),
    disks: claimList.items.map((claim) => ({
      cid: claim.metadata.name,
      size: claim.spec?.resources?.requests?.storage ?? '-',
      phase: claim.metadata.deletionTimestamp === undefined ? (claim.status?.phase ?? '-') : 'Terminating',
      vm: vmOf.get(claim.metadata.name),
      unclaimed: labelOf(claim, unclaimed) !== undefined,
    })),
  };
}

/**
 * Returns the disks in a VM's pod. With the strategy `recreate` a disk is a volume of the pod, named like its
 * claim.
 */
const disksInPod = (pod: Pod): (readonly [string, string | undefined])[] =>
  (pod.spec.volumes ?? [])
    .filter(({ name, persistentVolumeClaim }) => persistentVolumeClaim?.claimName === name)
    .map(({ name }) => [name, pod.metadata.name] as const);

function summarizeVm(pod: Pod, disks: readonly string[]): VmSummary {
  const deleted = pod.metadata.deletionTimestamp !== undefined;
  return {
    cid: pod.metadata.name,
    instance: instanceName(pod.metadata.annotations?.[metadata]),
    phase: deleted ? 'Terminating' : (pod.status?.phase ?? 'Pending'),
    address: pod.status?.podIP ?? '-',
    disks,
    outdated: !deleted && !(Number(pod.metadata.annotations?.[scriptsVersion] ?? 1) >= vmScriptsVersion),
  };
}

/** Length at which an instance name is truncated in a table. */
const maxNameLength = 200;

function instanceName(text: string | undefined): string {
  if (text === undefined) return '-';
  const value = tryParseJson(text);
  const name = typeof value === 'object' && value !== null && 'name' in value ? value.name : undefined;
  if (typeof name !== 'string') return '-';
  return name.length > maxNameLength ? `${name.slice(0, maxNameLength)}…` : name;
}

/** Returns undefined for invalid JSON: every user who may edit pods can set any annotation. */
function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return undefined;
  }
}

const labelOf = (object: KubernetesObject, name: string): string | undefined =>
  object.metadata.labels?.[name];
