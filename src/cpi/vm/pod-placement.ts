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

/** A VM stays where it is when its node is out of reach: BOSH resurrects it, Kubernetes does not. */
export const unlimitedTolerations: readonly Toleration[] = ['not-ready', 'unreachable'].map((reason) => ({
  key: `node.kubernetes.io/${reason}`,
  operator: 'Exists',
  effect: 'NoExecute',
}));

export interface ClusterFacts {
  /** env.bosh.group. */
  readonly group: string | undefined;
  /** Of the stemcell, where its cid tells it. */
  readonly architecture?: Architecture | undefined;
  /** Where the VM's disks can be reached, as alternatives; empty: anywhere. */
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

/** Where a VM's pod may run: never spec.nodeName, which the scheduler would not see. Pure. */
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

/** Soft: a group larger than the cluster still runs. */
function antiAffinity(group: string): NonNullable<NonNullable<PodSpec['affinity']>['podAntiAffinity']> {
  const podAffinityTerm = { topologyKey: 'kubernetes.io/hostname', labelSelector: groupSelector(group) };
  return { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, podAffinityTerm }] };
}

/** Evenly over the nodes and, where BOSH gives no zone, over the zones; soft as well. */
function topologySpread(group: string, zone: string | undefined): TopologySpreadConstraint[] {
  const keys = ['kubernetes.io/hostname', ...(zone === undefined ? [zoneLabel] : [])];
  return keys.map((topologyKey) => ({
    maxSkew: 1,
    topologyKey,
    whenUnsatisfiable: 'ScheduleAnyway',
    labelSelector: groupSelector(group),
  }));
}
