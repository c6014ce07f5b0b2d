import { resolve } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import {
  type ImageName,
  parseImageName,
  isRepository,
  registryUrlProblem,
} from '../../oci/image-reference.ts';
import { expandHome } from '../args/parse-command-line.ts';

/** The destination of an image, and how to connect to its registry. */
export interface PushTarget {
  readonly image: ImageName;
  /** For example `https://host:port`. */
  readonly origin: string;
  readonly mountFrom: readonly string[];
  readonly authFile: string | undefined;
  /** The path of a file in PEM. */
  readonly caFile: string | undefined;
}

/** Flags of every command that pushes. */
export const pushOptions = {
  'mount-from': {
    type: 'string',
    multiple: true,
    value: 'REPOSITORY',
    isRare: true,
    help: 'Repository of the registry that may have layers already',
  },
  authfile: { type: 'string', value: 'FILE', help: 'The only file with the login', isRare: true },
  'registry-ca': {
    type: 'string',
    value: 'FILE',
    help: 'Certificates that are trusted, in PEM',
    isRare: true,
  },
  'plain-http': { type: 'boolean', help: 'http instead of https', isRare: true },
} as const;

/** The values of pushOptions, as parseArgs returns them. */
export interface PushValues {
  readonly 'mount-from'?: readonly string[] | undefined;
  readonly authfile?: string | undefined;
  readonly 'registry-ca'?: string | undefined;
  readonly 'plain-http'?: boolean | undefined;
}

/**
 * Throws INVALID_ARGUMENT, which names the first of these options, for a command that may run without a push:
 * without a target the options have no effect.
 */
export function rejectPushOptions(values: PushValues): undefined {
  const names = ['mount-from', 'authfile', 'registry-ca', 'plain-http'] as const;
  const option = names.find((name) => values[name] !== undefined);
  if (option !== undefined) throw new ProductError('INVALID_ARGUMENT', `--${option} needs --push`);
}

/** Parses `HOST/REPOSITORY[:TAG]` and its options. Throws INVALID_ARGUMENT with the problem. */
export function parsePushTarget(text: string, values: PushValues): PushTarget {
  const image = parseImageName(text);
  const isPlain = values['plain-http'] === true;
  const origin = `${isPlain ? 'http' : 'https'}://${image.host === 'docker.io' ? 'registry-1.docker.io' : image.host}`;
  const problem = registryUrlProblem(origin, isPlain);
  if (problem !== undefined) throw new ProductError('INVALID_ARGUMENT', `The registry ${origin} ${problem}`);
  const mountFrom = values['mount-from'] ?? [];
  for (const repository of mountFrom)
    if (!isRepository(repository))
      throw new ProductError(
        'INVALID_ARGUMENT',
        `--mount-from needs a repository of the same registry, without its host; '${repository}' is not a valid repository`,
      );
  return {
    ...{ image, origin, mountFrom },
    authFile: values.authfile === undefined ? undefined : resolve(expandHome(values.authfile)),
    caFile: values['registry-ca'] === undefined ? undefined : resolve(expandHome(values['registry-ca'])),
  };
}

/**
 * Returns the options of a command that pushes in the same way (push-arguments.ts). Credentials are in a file
 * and never among the options.
 */
export function pushArgs({ mountFrom, authFile, caFile, origin }: PushTarget): readonly string[] {
  return [
    ...mountFrom.flatMap((repository) => ['--mount-from', repository]),
    ...(authFile === undefined ? [] : ['--authfile', authFile]),
    ...(caFile === undefined ? [] : ['--registry-ca', caFile]),
    ...(origin.startsWith('http:') ? ['--plain-http'] : []),
  ];
}
