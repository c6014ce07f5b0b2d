import { generateKeyPairSync } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  createTestAuthority,
  type KeyPair,
  type TestAuthority,
} from '../../src/kubernetes/testing/certificates.ts';
import { writeWhole } from './machine/write-whole.ts';
import type { ClusterPaths } from './cluster-paths.ts';
import { apiServer, network, nodePlans } from './network.ts';

/** Users of the control plane that have a kubeconfig. RBAC's bootstrap roles contain these names. */
const users = [
  { file: 'kube-controller-manager', user: 'system:kube-controller-manager', groups: [] },
  { file: 'kube-scheduler', user: 'system:kube-scheduler', groups: [] },
  { file: 'kube-proxy', user: 'system:kube-proxy', groups: [] },
  ...nodePlans.map(({ name }) => ({ file: name, user: `system:node:${name}`, groups: ['system:nodes'] })),
];

/**
 * Writes keys, certificates and kubeconfigs of a new cluster into its directories, unless it has them.
 * `sa.key` is written last and shows that all exist. After an interrupted run all are created again.
 */
export async function writeCredentials(layout: ClusterPaths): Promise<void> {
  if (existsSync(join(layout.pki, 'sa.key'))) return;
  const write = (name: string, text: string): Promise<void> => writeWhole(join(layout.pki, name), text);
  const writePair = async (name: string, pair: KeyPair): Promise<void> => {
    await write(`${name}.crt`, pair.certificate);
    await write(`${name}.key`, pair.key);
  };
  const authority = await createTestAuthority({ name: 'bosh-kubernetes-test-cluster', days });
  const frontProxy = await createTestAuthority({ name: 'bosh-kubernetes-test-front-proxy', days });
  await write('ca.crt', authority.ca);
  await write('front-proxy-ca.crt', frontProxy.ca);
  await writePair('front-proxy-client', await frontProxy.client('front-proxy-client'));
  await writePair('apiserver', await authority.server(apiServerNames, 'kube-apiserver'));
  await writePair('apiserver-kubelet-client', await authority.client('kube-apiserver', ['system:masters']));
  for (const { name, address } of nodePlans) {
    const pair = await authority.server({ dns: name, ip: address }, `system:node:${name}`);
    await writePair(`${name}-server`, pair);
  }
  for (const { file, user, groups } of users) {
    await write(`${file}.kubeconfig`, await kubeconfig(authority, user, groups));
  }
  await writeWhole(layout.kubeconfig, await kubeconfig(authority, 'kubernetes-admin', ['system:masters']));
  const { publicKey, privateKey } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  await write('sa.pub', publicKey);
  await write('sa.key', privateKey);
}

/** The validity of the certificates. */
const days = 3650;

const apiServerNames = {
  dns: ['kubernetes', 'kubernetes.default', 'kubernetes.default.svc', 'kubernetes.default.svc.cluster.local'],
  ip: [network.controlPlane, network.apiService, '127.0.0.1'],
};

async function kubeconfig(
  authority: TestAuthority,
  user: string,
  groups: readonly string[],
): Promise<string> {
  const pair = await authority.client(user, groups);
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  return `${JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'test',
        cluster: { server: apiServer, 'certificate-authority-data': base64(authority.ca) },
      },
    ],
    users: [
      {
        name: user,
        user: {
          'client-certificate-data': base64(pair.certificate),
          'client-key-data': base64(pair.key),
        },
      },
    ],
    contexts: [{ name: 'test', context: { cluster: 'test', user } }],
    'current-context': 'test',
  })}\n`;
}
