import type { ApiError } from '../../../src/kubernetes/client/api-error.ts';
import { pods, secrets, serviceAccounts } from '../../../src/kubernetes/resources.ts';
import { invalidValue, type Cause } from '../errors/field-causes.ts';
import { badRequest, conflict, invalid } from '../errors/status-errors.ts';
import { valueAt } from '../kinds/columns.ts';
import { getObject, kindOf, timestamp, type Location, type Registry } from '../registry/registry.ts';
import { decodeObject } from '../schema/decode.ts';
import { fields, integer, kindSchema, array, string, time } from '../schema/schema.ts';
import type { JsonRecord } from '../schema/json.ts';
import type { StoredObject } from '../store/stored-object.ts';
import { issueToken, tokenIssuer } from './account-token.ts';

const group = 'authentication.k8s.io';
const schema = kindSchema({
  spec: fields({
    audiences: array(string),
    expirationSeconds: integer,
    boundObjectRef: fields({ kind: string, apiVersion: string, name: string, uid: string }),
  }),
  status: fields({ token: string, expirationTimestamp: time }),
});

interface TokenSpec {
  audiences?: string[];
  expirationSeconds?: number;
  boundObjectRef?: { kind?: string; apiVersion?: string; name?: string; uid?: string };
}

const leastSeconds = 600;
const mostSeconds = 2 ** 32;

/**
 * Serves POST serviceaccounts/token (kubernetes: pkg/registry/core/serviceaccount/storage/token.go): returns
 * a signed token that expires after `expirationSeconds` (default: an hour), and with the object that it is
 * bound to. It never lasts longer than requested: the real server extends tokens of old clients to a year,
 * this one does not. Throws ApiError 400, 404 (account or bound object), 409 (another uid), 422.
 */
export function requestToken(registry: Registry, location: Location, body: unknown): JsonRecord {
  const request = decodeObject(schema, body ?? {}, 'TokenRequest', `${group}/v1`);
  const account = getObject(registry, kindOf(registry, serviceAccounts), location);
  assertSame(request, account);
  const spec: TokenSpec = { ...(request['spec'] as TokenSpec | undefined) };
  const seconds = (spec.expirationSeconds ??= 3600);
  const audiences = (spec.audiences ??= [tokenIssuer]);
  const causes = checkSeconds(seconds);
  if (causes.length > 0) throw invalid('TokenRequest', group, '', causes);
  const bound = boundObject(registry, location, spec.boundObjectRef);
  const token = issueToken(registry, { account, bound, audiences, seconds });
  const now = registry.clock.now();
  const { namespace, name, uid } = account.metadata;
  return {
    kind: 'TokenRequest',
    apiVersion: `${group}/v1`,
    metadata: { name, namespace, uid, creationTimestamp: timestamp(now) },
    spec,
    status: { token, expirationTimestamp: timestamp(now + seconds * 1000) },
  };
}

function assertSame(request: JsonRecord, account: StoredObject): void {
  const metadata = (request['metadata'] ?? {}) as { name?: string; namespace?: string; uid?: string };
  const wrong = (['name', 'namespace'] as const).filter(
    (key) => (metadata[key] ?? account.metadata[key]) !== account.metadata[key],
  );
  const causes = wrong.map((key) =>
    invalidValue(`metadata.${key}`, metadata[key], `must match the service account ${key} if specified`),
  );
  if (causes.length > 0) throw invalid('TokenRequest', group, account.metadata.name, causes);
  if (metadata.uid !== undefined && metadata.uid !== account.metadata.uid) {
    throw otherUid(
      account.metadata.name,
      `the UID in the token request (${metadata.uid}) does not match the UID of the service account (${account.metadata.uid})`,
    );
  }
}

function checkSeconds(seconds: number): Cause[] {
  const field = 'spec.expirationSeconds';
  if (seconds < leastSeconds)
    return [invalidValue(field, seconds, 'may not specify a duration less than 10 minutes')];
  return seconds > mostSeconds
    ? [invalidValue(field, seconds, 'may not specify a duration larger than 2^32 seconds')]
    : [];
}

function boundObject(
  registry: Registry,
  { namespace, name: account }: Location,
  reference: TokenSpec['boundObjectRef'],
): { kind: 'pod' | 'secret'; object: StoredObject } | undefined {
  if (reference === undefined) return undefined;
  const { kind = '', apiVersion = '', name = '', uid } = reference;
  if (apiVersion !== 'v1' || (kind !== 'Pod' && kind !== 'Secret'))
    throw badRequest(`cannot bind token to object of type ${apiVersion}, Kind=${kind}`);
  const resource = kind === 'Pod' ? pods : secrets;
  const object = getObject(registry, kindOf(registry, resource), { namespace, name });
  if (kind === 'Pod' && valueAt(object, 'spec', 'serviceAccountName') !== account) {
    throw badRequest(
      `cannot bind token for serviceaccount ${JSON.stringify(account)} to pod running with different serviceaccount name.`,
    );
  }
  if (uid !== undefined && uid !== object.metadata.uid) {
    throw otherUid(
      name,
      `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`,
    );
  }
  return { kind: kind === 'Pod' ? 'pod' : 'secret', object };
}

function otherUid(name: string, why: string): ApiError {
  return conflict({ group, version: 'v1', plural: 'tokenrequests', namespaced: true }, name, why);
}
