import { pods, secrets, serviceAccounts } from '../../../src/kubernetes/resources.ts';
import { serviceAccountGroups, serviceAccountUsername, type User } from '../access/user.ts';
import { groupResource } from '../errors/status-errors.ts';
import type { Registry } from '../registry/registry.ts';
import { isRecord, type JsonRecord } from '../schema/json.ts';
import type { StoredObject } from '../store/stored-object.ts';
import { signToken, verifyToken } from './json-web-token.ts';

/**
 * The issuer of tokens, and their audience if the request names none (kubeadm's --service-account-issuer).
 */
export const tokenIssuer = 'https://kubernetes.default.svc.cluster.local';

/** Tokens stay valid this long after their pod's grace period (kubernetes: pkg/serviceaccount/claims.go). */
const leewayMs = 60_000;

interface TokenClaimsInput {
  readonly account: StoredObject;
  /** The token becomes invalid when this object is deleted. */
  readonly bound: { readonly kind: 'pod' | 'secret'; readonly object: StoredObject } | undefined;
  readonly audiences: readonly string[];
  readonly seconds: number;
}

/** Returns a signed token for a service account. */
export function issueToken(registry: Registry, claims: TokenClaimsInput): string {
  const { namespace = '', name, uid } = claims.account.metadata;
  const now = Math.floor(registry.clock.now() / 1000);
  return signToken(registry.tokenKey, {
    aud: [...claims.audiences],
    exp: now + claims.seconds,
    iat: now,
    iss: tokenIssuer,
    jti: registry.random.uuid(),
    nbf: now,
    sub: serviceAccountUsername(namespace, name),
    'kubernetes.io': {
      namespace,
      serviceaccount: { name, uid },
      ...(claims.bound === undefined ? {} : { [claims.bound.kind]: referenceTo(claims.bound.object) }),
    },
  });
}

const referenceTo = ({ metadata: { name, uid } }: StoredObject): JsonRecord => ({ name, uid });

/** The error of an invalid token, with the message of Kubernetes' TokenReview. */
export class InvalidTokenError extends Error {}

/** The dependencies of the verification. */
type TokenVerifier = Pick<Registry, 'store' | 'clock' | 'tokenKey'>;

/**
 * Verifies a token. Returns its service account, and the audiences of `accepted` that it has. Throws
 * InvalidTokenError if the token has another key, is not valid at this time, is for other audiences, or if
 * its account or bound object was deleted or recreated.
 */
export function verifyAccountToken(
  registry: TokenVerifier,
  token: string,
  accepted: readonly string[],
): { user: User; audiences: string[] } {
  const claims = verifyToken(registry.tokenKey, token);
  if (claims?.['iss'] !== tokenIssuer) throw new InvalidTokenError('invalid bearer token');
  const now = registry.clock.now();
  if (Number(claims['exp']) * 1000 <= now)
    throw new InvalidTokenError('invalid bearer token, service account token has expired');
  if (Number(claims['nbf']) * 1000 > now)
    throw new InvalidTokenError('invalid bearer token, service account token is not valid yet');
  const audiences = ((claims['aud'] ?? []) as string[]).filter((audience) => accepted.includes(audience));
  if (audiences.length === 0) throw new InvalidTokenError('invalid bearer token, Token audience is invalid');
  const own = recordIn(claims, 'kubernetes.io');
  const account = recordIn(own, 'serviceaccount');
  const namespace = String(own['namespace']);
  const stored = registry.store.get(groupResource(serviceAccounts), namespace, String(account['name']));
  if (stored === undefined || stored.metadata.uid !== account['uid'])
    throw new InvalidTokenError('invalid bearer token, service account token has been invalidated');
  assertBound(registry, namespace, own);
  const pod = own['pod'];
  return {
    user: {
      name: serviceAccountUsername(namespace, stored.metadata.name),
      uid: stored.metadata.uid,
      groups: serviceAccountGroups(namespace),
      extra: {
        'authentication.kubernetes.io/credential-id': [`JTI=${String(claims['jti'])}`],
        ...(isRecord(pod)
          ? {
              'authentication.kubernetes.io/pod-name': [String(pod['name'])],
              'authentication.kubernetes.io/pod-uid': [String(pod['uid'])],
            }
          : {}),
      },
    },
    audiences,
  };
}

function assertBound(registry: TokenVerifier, namespace: string, own: JsonRecord): void {
  for (const [kind, resource] of [
    ['pod', pods],
    ['secret', secrets],
  ] as const) {
    if (own[kind] === undefined) continue;
    const reference = recordIn(own, kind);
    const stored = registry.store.get(groupResource(resource), namespace, String(reference['name']));
    const ended = stored?.metadata.deletionTimestamp;
    const over = ended !== undefined && Date.parse(ended) + leewayMs < registry.clock.now();
    if (stored === undefined || over || stored.metadata.uid !== reference['uid'])
      throw new InvalidTokenError(`invalid bearer token, service account token's ${kind} was deleted`);
  }
}

function recordIn(record: JsonRecord, key: string): JsonRecord {
  const value = record[key];
  return isRecord(value) ? value : {};
}
