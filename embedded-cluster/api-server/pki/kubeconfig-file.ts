import { join } from 'node:path';
import { boshNamespace } from '../bootstrap.ts';
import { replaceFile } from '../../../src/platform/durable-file.ts';
import type { Credentials } from './issue-certificates.ts';

const clusterName = 'bosh-kubernetes';
const userName = 'kubernetes-admin';
const base64 = (text: string): string => Buffer.from(text).toString('base64');

/**
 * Writes `<directory>/kubeconfig` (0600): this server, its authority, the administrator's certificate and
 * key, and the namespace `bosh`. The file is JSON, which is also YAML, so that readers need no YAML parser.
 * Returns the file's path.
 */
export function writeKubeconfig(directory: string, url: string, credentials: Credentials): string {
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': clusterName,
    clusters: [
      {
        name: clusterName,
        cluster: { server: url, 'certificate-authority-data': base64(credentials.authority) },
      },
    ],
    users: [
      {
        name: userName,
        user: {
          'client-certificate-data': base64(credentials.adminCertificate),
          'client-key-data': base64(credentials.adminKey),
        },
      },
    ],
    contexts: [
      {
        name: clusterName,
        context: { cluster: clusterName, user: userName, namespace: boshNamespace },
      },
    ],
  };
  const file = join(directory, 'kubeconfig');
  replaceFile(file, Buffer.from(`${JSON.stringify(kubeconfig, undefined, 2)}\n`));
  return file;
}
