import type { PushTarget } from './push-arguments.ts';

/**
 * Returns the options of a command that pushes in the same way (push-arguments.ts). Credentials are in a file
 * and never among the options.
 */
export function pushWords({ mountFrom, authFile, caFile, origin }: PushTarget): readonly string[] {
  return [
    ...mountFrom.flatMap((repository) => ['--mount-from', repository]),
    ...(authFile === undefined ? [] : ['--authfile', authFile]),
    ...(caFile === undefined ? [] : ['--registry-ca', caFile]),
    ...(origin.startsWith('http:') ? ['--plain-http'] : []),
  ];
}
