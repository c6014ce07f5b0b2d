import { createHash } from 'node:crypto';
import type { Architecture } from './architecture.ts';

/** A DaemonSet, as kubectl takes it. */
export interface PrePullRequest {
  /** What nodes pull: with a digest, or a tag. */
  readonly image: string;
  /** Undefined: of any. */
  readonly architecture: Architecture | undefined;
  readonly namespace: string | undefined;
  /** Names of Secrets in that namespace. */
  readonly imagePullSecrets: readonly string[];
}

/**
 * Has every Linux node pull an image, and keep it: a node's garbage collection spares images that a container uses. One
 * sleeping process a node, with the least rights (Pod Security restricted); no image beside the stemcell's, which a
 * cluster without the internet could not pull.
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
      // all nodes at once: a rolling update would wait for each pull
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '100%' } },
      template: {
        metadata: { labels },
        spec: {
          nodeSelector: {
            'kubernetes.io/os': 'linux',
            ...(architecture !== undefined && { 'kubernetes.io/arch': architecture }),
          },
          // VMs may tolerate any taint
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

/** The same for the same image, another for another: several stemcells are pre-pulled side by side. */
function nameOf(image: string): string {
  const last = (image.split('@')[0] ?? image).split('/').at(-1) ?? '';
  const label = last
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/gu, '-')
    .slice(0, 40);
  // of the whole name: two registries, or two long tags, may begin alike
  return `pre-pull-${label}-${createHash('sha256').update(image).digest('hex').slice(0, 12)}`;
}
