import { isHost, isRepository, registryUrlProblem } from '../../oci/image-reference.ts';
import { pemProblem } from '../../kubernetes/access/pem.ts';
import type { Field } from '../../platform/field.ts';

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
export function parseRegistry(section: Field): RegistryConfig | undefined {
  section.rejectUnknownKeys(keys);
  // the job renders null for each property that is not set
  if (!keys.some((key) => section.get(key).isPresent)) return undefined;
  const origin = readOrigin(section);
  const repository = section
    .get('repository')
    .stringThat(isRepository, 'must be a repository such as bosh/stemcells, in lower case');
  const ca = section.get('ca').optional()?.nonEmptyString();
  const problem = ca && pemProblem(ca, 'certificate');
  if (problem !== undefined) throw section.get('ca').error(problem);
  const pullHost = section
    .get('pull_host')
    .optional()
    ?.stringThat(isHost, 'must be host or host:port, as in an image reference');
  return {
    ...{ origin, repository, ca },
    pullHost: pullHost ?? new URL(origin).host,
    credentials: readCredentials(section),
    deletion: section.get('delete').optional()?.oneOf(['required', 'best-effort']) ?? 'required',
  };
}

function readOrigin(section: Field): string {
  const url = section.get('url');
  if (!url.isPresent) throw section.error('needs url and repository');
  const text = url.nonEmptyString();
  const allowsPlainHttp = section.get('plain_http').optional()?.boolean() ?? false;
  const problem = registryUrlProblem(text, allowsPlainHttp);
  if (problem !== undefined) throw url.error(problem);
  return new URL(text).origin;
}

function readCredentials(section: Field): RegistryConfig['credentials'] {
  const username = section.get('username').optional()?.nonEmptyString();
  const password = section.get('password').optional()?.nonEmptyString();
  if (username === undefined && password === undefined) return undefined;
  if (username === undefined || password === undefined)
    throw section.error('has only one of username and password; it needs both');
  if (username.includes(':')) throw section.get('username').error('must not have a colon');
  return { username, password };
}
