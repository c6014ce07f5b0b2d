import type { Random } from '../random.ts';
import type { Template } from './valid-objects.ts';

interface Asking {
  readonly method: string;
  /** The segments of the path after the resource. */
  readonly segments: readonly string[];
  readonly body: unknown;
}

/**
 * Returns a request that only some resources have: their subresources, and reviews, which are created but not
 * stored.
 */
export function specialRequest(
  random: Random,
  { resource, make }: Template,
  name: string,
): Asking | undefined {
  if (resource.plural === 'pods' && random.once(4)) return podSubresource(random, name);
  if (resource.plural === 'serviceaccounts' && random.once(4)) return tokenRequest(name);
  if (resource.plural.endsWith('reviews')) return { method: 'POST', segments: [], body: make(random) };
  return undefined;
}

function podSubresource(random: Random, name: string): Asking {
  const metadata = { name };
  if (random.once(2)) {
    const eviction = { metadata, deleteOptions: { gracePeriodSeconds: random.below(9) } };
    const body = { apiVersion: 'policy/v1', kind: 'Eviction', ...eviction };
    return { method: 'POST', segments: [name, 'eviction'], body };
  }
  const body = { apiVersion: 'v1', kind: 'Binding', metadata, target: { kind: 'Node', name: 'n1' } };
  return { method: 'POST', segments: [name, 'binding'], body };
}

function tokenRequest(name: string): Asking {
  const spec = {
    audiences: ['a'],
    expirationSeconds: 600,
    boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'n1' },
  };
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec };
  return { method: 'POST', segments: [name, 'token'], body };
}
