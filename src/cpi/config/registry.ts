import { isHost, isRepository, registryUrlProblem } from '../../oci/registry/registry-location.ts';
import { pemProblem } from '../../kubernetes/pem.ts';
import type { Json, Place } from '../input.ts';
import {
  at,
  booleanAt,
  isUngiven,
  optionalStringAt,
  recordAt,
  refuseUnknownKeys,
  stringAt,
  wrong,
} from '../input.ts';

/** Where heavy stemcells are pushed to. */
export interface RegistryConfig {
  /** `https://host:port`. */
  readonly origin: string;
  readonly repository: string;
  /** Secret. Absent: nobody in particular. */
  readonly credentials: { readonly username: string; readonly password: string } | undefined;
  /** PEM; absent: the roots that the runtime trusts. */
  readonly ca: string | undefined;
  /** What nodes call the registry, in the image references that they pull. */
  readonly pullHost: string;
  /** `best-effort`: delete_stemcell succeeds where the registry deletes nothing. */
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

/** The section `registry`; undefined where none is configured. Throws INVALID_CONFIG. */
export function parseRegistry(value: unknown, place: Place): RegistryConfig | undefined {
  const section = recordAt(value, place);
  refuseUnknownKeys(section, keys, place);
  if (isUngiven(section, keys)) return undefined;
  const origin = originAt(section, place);
  const repository = stringAt(section['repository'], at(place, 'repository'));
  if (!isRepository(repository))
    throw wrong(at(place, 'repository'), 'has to be a repository such as bosh/stemcells, in lower case');
  const ca = optionalStringAt(section['ca'], at(place, 'ca'));
  const problem = ca && pemProblem(ca, 'certificate');
  if (problem !== undefined) throw wrong(at(place, 'ca'), problem);
  const pullHost = optionalStringAt(section['pull_host'], at(place, 'pull_host')) ?? new URL(origin).host;
  if (!isHost(pullHost))
    throw wrong(at(place, 'pull_host'), 'has to be host or host:port, as in an image reference');
  return {
    ...{ origin, repository, ca, pullHost },
    credentials: credentialsAt(section, place),
    deletion: deletionAt(section['delete'], at(place, 'delete')),
  };
}

function originAt(section: Json, place: Place): string {
  const text = optionalStringAt(section['url'], at(place, 'url'));
  if (text === undefined) throw wrong(place, 'needs url and repository');
  const allowsPlainHttp = booleanAt(section['plain_http'], at(place, 'plain_http')) ?? false;
  const problem = registryUrlProblem(text, allowsPlainHttp);
  if (problem !== undefined) throw wrong(at(place, 'url'), problem);
  return new URL(text).origin;
}

function credentialsAt(section: Json, place: Place): RegistryConfig['credentials'] {
  const username = optionalStringAt(section['username'], at(place, 'username'));
  const password = optionalStringAt(section['password'], at(place, 'password'));
  if (username === undefined && password === undefined) return undefined;
  if (username === undefined || password === undefined)
    throw wrong(place, 'has only one of username and password; it needs both');
  if (username.includes(':')) throw wrong(at(place, 'username'), 'must not have a colon');
  return { username, password };
}

function deletionAt(value: unknown, place: Place): RegistryConfig['deletion'] {
  if (value === undefined || value === null || value === 'required') return 'required';
  if (value !== 'best-effort') throw wrong(place, 'has to be required or best-effort');
  return value;
}
