import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { startTlsServer } from '../../src/kubernetes/testing/tls-server.ts';

export interface BenchServer {
  /** A CPI configuration for the server, with a client certificate. */
  readonly config: object;
  readonly close: () => Promise<void>;
}

/**
 * Starts a server that returns a StorageClass and accepts claims at once, over TLS with client certificates,
 * because the client is measured. It runs in its own process, so that starting the measured programs does not
 * delay its responses.
 */
export async function startBenchServer(): Promise<BenchServer> {
  const child = fork(fileURLToPath(import.meta.url), { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const ended = once(child, 'exit');
  const [config] = (await Promise.race([
    once(child, 'message'),
    ended.then(() => Promise.reject(new Error('the server of the benchmark ended'))),
  ])) as [object];
  return {
    config,
    close: async () => {
      child.disconnect();
      await ended;
    },
  };
}

async function serve(): Promise<void> {
  const { access, close } = await startTlsServer((request, response) => void respond(request, response));
  const base64 = (pem: string | undefined): string => Buffer.from(pem ?? '').toString('base64');
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'bench',
    contexts: [{ name: 'bench', context: { cluster: 'bench', user: 'bench', namespace: 'bosh' } }],
    clusters: [
      { name: 'bench', cluster: { server: access.server, 'certificate-authority-data': base64(access.ca) } },
    ],
    users: [
      {
        name: 'bench',
        user: {
          'client-certificate-data': base64(access.certificate),
          'client-key-data': base64(access.key),
        },
      },
    ],
  };
  process.send?.({ kubernetes: { kubeconfig, namespace: 'bosh' } });
  process.once('disconnect', () => void close());
}

const metadata = { name: 'bench', namespace: 'bosh', uid: '0b1c', resourceVersion: '1' };
const storageClass = {
  apiVersion: 'storage.k8s.io/v1',
  kind: 'StorageClass',
  metadata,
  provisioner: 'bench',
};
const claim = {
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata,
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '64Mi' } } },
  status: { phase: 'Pending' },
};

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  // reads the body to its end without parsing it: client-go sends protobuf
  await buffer(request);
  const isWrite = request.method === 'POST';
  response.writeHead(isWrite ? 201 : 200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(isWrite ? claim : storageClass));
}

if (import.meta.main) await serve();
