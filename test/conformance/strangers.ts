import type { Target } from './target.ts';

/** A kubeconfig of a server that nobody listens at. */
export const nowhere = {
  'current-context': 'nowhere',
  clusters: [{ name: 'nowhere', cluster: { server: 'https://127.0.0.1:1' } }],
  users: [{ name: 'nobody', user: { token: 'no-token' } }],
  contexts: [{ name: 'nowhere', context: { cluster: 'nowhere', user: 'nobody' } }],
};

/** For calls to such servers: the refusal is what is awaited. */
export const soon = { connect: 1 };

/** A kubeconfig of the target with a token that it did not give. */
export function stranger({ access }: Target): unknown {
  const { server, ca = '' } = access;
  const cluster = { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') };
  return { ...nowhere, clusters: [{ name: 'nowhere', cluster }] };
}
