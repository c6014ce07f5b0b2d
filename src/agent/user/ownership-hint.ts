import type { Identities } from './identities.ts';

/**
 * Explains why a script could not change the owner of a file, if its stderr shows that and this VM has a
 * single user id. The kernel's own message is only "Invalid argument".
 */
export function ownershipHint(stderr: string, identities: Identities): string | undefined {
  if (!identities.hasSingleId) return undefined;
  const line = stderr.split('\n').findLast((text) => isRefusal.test(text));
  if (line === undefined) return undefined;
  return `This VM has a single user id, so nothing can belong to or run as another user (${line.trim()}).`;
}

const isRefusal =
  /\b(chown|chgrp|install|chpst|setpriv|su|sudo|runuser)\b.*(Invalid argument|Operation not permitted)/i;
