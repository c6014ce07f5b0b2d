import { objectLabels } from '../bosh/object-labels.ts';
import { profileSecurity } from '../cpi/config/profile.ts';
import type { Pod } from '../kubernetes/types/pod.ts';
import { standbyCommand } from './probe-script.ts';

/** Labels of the pods of all probes, also of those that a killed run has left. */
export const probeLabels = { [objectLabels.kind]: 'doctor' } as const;

export const probeContainer = 'doctor';

export interface ProbePodRequest {
  readonly namespace: string;
  readonly node: string;
  /** The image of the stemcell. */
  readonly image: string;
  /** Names of Secrets of the namespace. */
  readonly imagePullSecrets: readonly string[];
}

/**
 * Returns the pod that runs the probe on a node. Its container has the image, the data volume and the
 * security context of a VM of profile `privileged`.
 */
export function probePod({ namespace, node, image, imagePullSecrets }: ProbePodRequest): Pod {
  const matchFields = [{ key: 'metadata.name', operator: 'In' as const, values: [node] }];
  return {
    ...{ apiVersion: 'v1', kind: 'Pod' },
    metadata: { name: '', generateName: 'bosh-doctor-', namespace, labels: { ...probeLabels } },
    spec: {
      ...{ restartPolicy: 'Never', terminationGracePeriodSeconds: 5 },
      ...{ automountServiceAccountToken: false, enableServiceLinks: false },
      ...(imagePullSecrets.length > 0 && { imagePullSecrets: imagePullSecrets.map((name) => ({ name })) }),
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields }] },
        },
      },
      containers: [
        {
          ...{ name: probeContainer, image, command: [...standbyCommand] },
          resources: { requests: { cpu: '10m', memory: '32Mi' } },
          securityContext: profileSecurity('privileged'),
          volumeMounts: [{ name: 'data', mountPath: '/var/vcap/data' }],
        },
      ],
      volumes: [{ name: 'data', emptyDir: {} }],
    },
  };
}
