import type { PersistentVolume } from '../../../kubernetes/volume.ts';
import type { Pod } from '../../../kubernetes/pod.ts';
import { baseLabels, label } from '../../labels.ts';

export const consumerName = (claimName: string): string => `bind-${claimName}`;

export interface ConsumerPlan {
  readonly claimName: string;
  readonly namespace: string;
  /** The volume that is copied: nodes that can reach it should reach the replacement. */
  readonly source: PersistentVolume | undefined;
  readonly directorUuid: string | undefined;
}

/**
 * Returns the first consumer of a claim that waits for one (KEP-1845 follow-ups: the scheduler chooses a
 * node, the driver then makes the volume there). It need not run, so its image need not exist: it is deleted
 * as soon as the claim is bound.
 */
export function consumerPod({ claimName, namespace, source, directorUuid }: ConsumerPlan): Pod {
  const required = source?.spec.nodeAffinity?.required;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: consumerName(claimName),
      namespace,
      labels: { ...baseLabels('copy', directorUuid), [label.diskId]: claimName },
    },
    spec: {
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: 0,
      // The disk's VM may be on any node that reaches the volume, also a cordoned one or one that is tainted
      // for it alone. Tolerating a dead node cannot be avoided: admission (DefaultTolerationSeconds) gives
      // every pod the tolerations of its NoExecute taints anyway. It costs nothing if a provisioner serves
      // the whole cluster; one of that node alone could not copy its volume either.
      tolerations: [{ operator: 'Exists' }],
      ...(required !== undefined && {
        affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } },
      }),
      containers: [
        {
          name: 'bind',
          image: 'registry.k8s.io/pause:3.10',
          resources: { requests: { cpu: '1m', memory: '1Mi' } },
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
          volumeMounts: [{ name: 'disk', mountPath: '/disk' }],
        },
      ],
      volumes: [{ name: 'disk', persistentVolumeClaim: { claimName } }],
    },
  };
}
