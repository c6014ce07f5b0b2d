import type {
  NodeSelectorTerm,
  PodSpec,
  Toleration,
  TopologySpreadConstraint,
} from '../../kubernetes/pod.ts';
import type { Architecture } from '../stemcell/stemcell-cid.ts';
import { label } from '../labels.ts';
import { labelValue } from '../names.ts';
import type { Placement } from './properties/placement.ts';
import { zoneLabel } from './zone-label.ts';

/** A VM stays on its node when the node is unreachable: BOSH resurrects VMs, Kubernetes must not. */
export const unlimitedTolerations: readonly Toleration[] = ['not-ready', 'unreachable'].map((reason) => ({
  key: `node.kubernetes.io/${reason}`,
  operator: 'Exists',
  effect: 'NoExecute',
}));

export interface ClusterFacts {
  /** env.bosh.group. */
  readonly group: string | undefined;
  /** The architecture of the stemcell, if its cid has one. */
  readonly architecture?: Architecture | undefined;
  /** Node selector terms, as alternatives, from which the VM's disks can be reached; empty: any node. */
  readonly volumeTerms?: readonly NodeSelectorTerm[];
}

type PodPlacement = Pick<
  PodSpec,
  | 'nodeSelector'
  | 'tolerations'
  | 'affinity'
  | 'topologySpreadConstraints'
  | 'priorityClassName'
  | 'runtimeClassName'
>;

/**
 * Returns where a VM's pod may run. Never sets spec.nodeName, because the scheduler would not see the pod.
 */
export function podPlacement(
  placement: Placement,
  { group, architecture, volumeTerms = [] }: ClusterFacts,
): PodPlacement {
  const { zone, nodeSelector, tolerations, priorityClass, runtimeClass } = placement;
  const affinity = {
    ...(volumeTerms.length > 0 && {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [...volumeTerms] },
      },
    }),
    ...(group !== undefined && { podAntiAffinity: antiAffinity(group) }),
  };
  return {
    nodeSelector: {
      ...(architecture !== undefined && { 'kubernetes.io/arch': architecture }),
      // an operator may know that nodes of another architecture run the stemcell too
      ...nodeSelector,
      'kubernetes.io/os': 'linux',
      ...(zone !== undefined && { [zoneLabel]: zone }),
    },
    tolerations: [...unlimitedTolerations, ...tolerations],
    ...(Object.keys(affinity).length > 0 && { affinity }),
    ...(group !== undefined && { topologySpreadConstraints: topologySpread(group, zone) }),
    ...(priorityClass !== undefined && { priorityClassName: priorityClass }),
    ...(runtimeClass !== undefined && { runtimeClassName: runtimeClass }),
  };
}

const groupSelector = (group: string): { matchLabels: Record<string, string> } => ({
  matchLabels: { [label.group]: labelValue(group) },
});

/** A preference only, so that a group larger than the cluster still runs. */
function antiAffinity(group: string): NonNullable<NonNullable<PodSpec['affinity']>['podAntiAffinity']> {
  const podAffinityTerm = { topologyKey: 'kubernetes.io/hostname', labelSelector: groupSelector(group) };
  return { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, podAffinityTerm }] };
}

/**
 * Spreads the group evenly over the nodes and, if BOSH gives no zone, over the zones; also a preference only.
 */
function topologySpread(group: string, zone: string | undefined): TopologySpreadConstraint[] {
  const keys = ['kubernetes.io/hostname', ...(zone === undefined ? [zoneLabel] : [])];
  return keys.map((topologyKey) => ({
    maxSkew: 1,
    topologyKey,
    whenUnsatisfiable: 'ScheduleAnyway',
    labelSelector: groupSelector(group),
  }));
}
