import type { PodSpec, Toleration } from '../../kubernetes/pod.ts';
import { label } from '../labels.ts';
import { labelValue } from '../names.ts';
import type { Placement } from './properties/placement.ts';

const zoneLabel = 'topology.kubernetes.io/zone';

/** A VM stays where it is when its node is out of reach: BOSH resurrects it, Kubernetes does not. */
export const stayTolerations: readonly Toleration[] = ['not-ready', 'unreachable'].map((reason) => ({
  key: `node.kubernetes.io/${reason}`,
  operator: 'Exists',
  effect: 'NoExecute',
}));

type PodPlacement = Pick<
  PodSpec,
  'nodeSelector' | 'tolerations' | 'affinity' | 'priorityClassName' | 'runtimeClassName'
>;

/** Where a VM's pod may run: never spec.nodeName, which the scheduler would not see. `group` is env.bosh.group. Pure. */
export function podPlacement(placement: Placement, group: string | undefined): PodPlacement {
  const { zone, nodeSelector, tolerations, priorityClass, runtimeClass } = placement;
  return {
    nodeSelector: {
      ...nodeSelector,
      'kubernetes.io/os': 'linux',
      ...(zone !== undefined && { [zoneLabel]: zone }),
    },
    tolerations: [...stayTolerations, ...tolerations],
    ...(group !== undefined && { affinity: { podAntiAffinity: apartFrom(group) } }),
    ...(priorityClass !== undefined && { priorityClassName: priorityClass }),
    ...(runtimeClass !== undefined && { runtimeClassName: runtimeClass }),
  };
}

/** Soft: a group larger than the cluster still runs. */
function apartFrom(group: string): NonNullable<NonNullable<PodSpec['affinity']>['podAntiAffinity']> {
  return {
    preferredDuringSchedulingIgnoredDuringExecution: [
      {
        weight: 100,
        podAffinityTerm: {
          topologyKey: 'kubernetes.io/hostname',
          labelSelector: { matchLabels: { [label.group]: labelValue(group) } },
        },
      },
    ],
  };
}
