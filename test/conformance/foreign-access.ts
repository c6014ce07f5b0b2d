import type { Target } from './target.ts';

/** A kubeconfig with a server that does not exist. */
export const nowhere = {
  'current-context': 'nowhere',
  clusters: [{ name: 'nowhere', cluster: { server: 'https://127.0.0.1:1' } }],
  users: [{ name: 'nobody', user: { token: 'no-token' } }],
  contexts: [{ name: 'nowhere', context: { cluster: 'nowhere', user: 'nobody' } }],
};

/** For calls to such servers: the test waits for the refusal. */
export const soon = { connect: 1 };

/** Returns a kubeconfig of the target with a token that the target did not issue. */
export function stranger({ access }: Target): unknown {
  const { server, ca = '' } = access;
  const cluster = { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') };
  return { ...nowhere, clusters: [{ name: 'nowhere', cluster }] };
}
