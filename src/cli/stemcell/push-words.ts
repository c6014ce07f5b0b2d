import type { PushTarget } from './push-arguments.ts';

/** The options of a command that pushes there in the same way (push-arguments.ts); a login is in a file, and never among them. */
export function pushWords({ mountFrom, authFile, caFile, origin }: PushTarget): readonly string[] {
  return [
    ...mountFrom.flatMap((repository) => ['--mount-from', repository]),
    ...(authFile === undefined ? [] : ['--authfile', authFile]),
    ...(caFile === undefined ? [] : ['--registry-ca', caFile]),
    ...(origin.startsWith('http:') ? ['--plain-http'] : []),
  ];
}
