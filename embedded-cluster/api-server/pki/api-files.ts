import { join } from 'node:path';
import { boshNamespace } from '../bootstrap.ts';
import { replaceFile } from '../../../src/platform/durable-file.ts';
import type { Credentials } from './certificates.ts';
import { readFileSync } from 'node:fs';

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

const fileOf = (directory: string): string => join(directory, 'port');

/** Returns the port of this cluster's server at its last start; 0 (any free port) at the first. */
export function readPort(directory: string): number {
  try {
    const text = readFileSync(fileOf(directory), 'utf8').trim();
    return /^\d{1,5}$/.test(text) ? Number(text) : 0;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw error;
  }
}

/** Stores the port for the next start, so that kubeconfigs stay valid. Idempotent. */
export function writePort(directory: string, port: number): void {
  if (readPort(directory) !== port) replaceFile(fileOf(directory), Buffer.from(`${port}\n`));
}
