import { createHash } from 'node:crypto';
import type { Architecture } from './build-settings.ts';

/** The settings of the DaemonSet that kubectl applies. */
export interface PrePullRequest {
  /** The image that nodes pull, with a digest or a tag. */
  readonly image: string;
  /** Undefined: nodes of any architecture. */
  readonly architecture: Architecture | undefined;
  readonly namespace: string | undefined;
  /** Names of Secrets in that namespace. */
  readonly imagePullSecrets: readonly string[];
}

/**
 * Returns a manifest with which every Linux node pulls an image and keeps it: a node's garbage collection
 * spares images that a container uses. Each node runs one sleeping process with the least rights (Pod
 * Security restricted). There is no image beside the stemcell's, because a cluster without internet access
 * could not pull it.
 */
export function prePullManifest(request: PrePullRequest): object {
  const { image, architecture, namespace, imagePullSecrets } = request;
  const labels = {
    'app.kubernetes.io/name': 'bosh-stemcell-pre-pull',
    'app.kubernetes.io/instance': nameOf(image),
  };
  return {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name: nameOf(image), ...(namespace !== undefined && { namespace }), labels },
    spec: {
      selector: { matchLabels: labels },
      // All nodes at once: a rolling update would wait for each pull.
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '100%' } },
      template: {
        metadata: { labels },
        spec: {
          nodeSelector: {
            'kubernetes.io/os': 'linux',
            ...(architecture !== undefined && { 'kubernetes.io/arch': architecture }),
          },
          // VMs may tolerate any taint.
          tolerations: [{ operator: 'Exists' }],
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          terminationGracePeriodSeconds: 0,
          ...(imagePullSecrets.length > 0 && {
            imagePullSecrets: imagePullSecrets.map((name) => ({ name })),
          }),
          containers: [
            {
              name: 'pulled',
              image,
              imagePullPolicy: 'IfNotPresent',
              command: ['sleep', 'infinity'],
              resources: { requests: { cpu: '1m', memory: '4Mi' }, limits: { memory: '32Mi' } },
              securityContext: {
                allowPrivilegeEscalation: false,
                capabilities: { drop: ['ALL'] },
                readOnlyRootFilesystem: true,
                runAsNonRoot: true,
                runAsUser: 65534,
                seccompProfile: { type: 'RuntimeDefault' },
              },
            },
          ],
        },
      },
    },
  };
}

/**
 * Returns the same name for the same image, and another one for another image: several stemcells can be
 * pre-pulled side by side.
 */
function nameOf(image: string): string {
  const last = (image.split('@')[0] ?? image).split('/').at(-1) ?? '';
  const label = last
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/gu, '-')
    .slice(0, 40);
  // A hash of the whole name: the names of two registries, or two long tags, may have the same beginning.
  return `pre-pull-${label}-${createHash('sha256').update(image).digest('hex').slice(0, 12)}`;
}
