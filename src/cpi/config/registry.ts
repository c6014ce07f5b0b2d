import { isHost, isRepository, registryUrlProblem } from '../../oci/image-reference.ts';
import { pemProblem } from '../../kubernetes/access/pem.ts';
import {
  type Json,
  type Location,
  child,
  booleanAt,
  isUnset,
  optionalStringAt,
  recordAt,
  rejectUnknownKeys,
  stringAt,
  invalidValue,
} from '../input.ts';

/** The registry that heavy stemcells are pushed to. */
export interface RegistryConfig {
  /** `https://host:port`. */
  readonly origin: string;
  readonly repository: string;
  /** Secret. Undefined: anonymous. */
  readonly credentials: { readonly username: string; readonly password: string } | undefined;
  /** PEM. Undefined: the root certificates that the runtime trusts. */
  readonly ca: string | undefined;
  /** The host of the registry in the image references that nodes pull. */
  readonly pullHost: string;
  /** `best-effort`: delete_stemcell succeeds if the registry does not delete. */
  readonly deletion: 'required' | 'best-effort';
}

const keys = [
  'url',
  'repository',
  'username',
  'password',
  'ca',
  'pull_host',
  'plain_http',
  'delete',
] as const;

/** Parses the section `registry`; undefined if no registry is configured. Throws INVALID_CONFIG. */
export function parseRegistry(value: unknown, place: Location): RegistryConfig | undefined {
  const section = recordAt(value, place);
  rejectUnknownKeys(section, keys, place);
  if (isUnset(section, keys)) return undefined;
  const origin = readOrigin(section, place);
  const repository = stringAt(section['repository'], child(place, 'repository'));
  if (!isRepository(repository))
    throw invalidValue(
      child(place, 'repository'),
      'has to be a repository such as bosh/stemcells, in lower case',
    );
  const ca = optionalStringAt(section['ca'], child(place, 'ca'));
  const problem = ca && pemProblem(ca, 'certificate');
  if (problem !== undefined) throw invalidValue(child(place, 'ca'), problem);
  const pullHost = optionalStringAt(section['pull_host'], child(place, 'pull_host')) ?? new URL(origin).host;
  if (!isHost(pullHost))
    throw invalidValue(child(place, 'pull_host'), 'has to be host or host:port, as in an image reference');
  return {
    ...{ origin, repository, ca, pullHost },
    credentials: readCredentials(section, place),
    deletion: readDeletionPolicy(section['delete'], child(place, 'delete')),
  };
}

function readOrigin(section: Json, place: Location): string {
  const text = optionalStringAt(section['url'], child(place, 'url'));
  if (text === undefined) throw invalidValue(place, 'needs url and repository');
  const allowsPlainHttp = booleanAt(section['plain_http'], child(place, 'plain_http')) ?? false;
  const problem = registryUrlProblem(text, allowsPlainHttp);
  if (problem !== undefined) throw invalidValue(child(place, 'url'), problem);
  return new URL(text).origin;
}

function readCredentials(section: Json, place: Location): RegistryConfig['credentials'] {
  const username = optionalStringAt(section['username'], child(place, 'username'));
  const password = optionalStringAt(section['password'], child(place, 'password'));
  if (username === undefined && password === undefined) return undefined;
  if (username === undefined || password === undefined)
    throw invalidValue(place, 'has only one of username and password; it needs both');
  if (username.includes(':')) throw invalidValue(child(place, 'username'), 'must not have a colon');
  return { username, password };
}

function readDeletionPolicy(value: unknown, place: Location): RegistryConfig['deletion'] {
  if (value === undefined || value === null || value === 'required') return 'required';
  if (value !== 'best-effort') throw invalidValue(place, 'has to be required or best-effort');
  return value;
}
