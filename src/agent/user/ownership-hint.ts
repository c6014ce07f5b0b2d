import type { Identities } from './identities.ts';

/**
 * Why a script could not give a file to another user, when that is what its stderr shows and this VM has a single
 * user id; the kernel itself only says "Invalid argument".
 */
export function ownershipHint(stderr: string, identities: Identities): string | undefined {
  if (!identities.hasSingleId) return undefined;
  const line = stderr.split('\n').findLast((text) => isRefusal.test(text));
  if (line === undefined) return undefined;
  return `This VM has a single user id, so nothing can belong to or run as another user (${line.trim()}).`;
}

const isRefusal =
  /\b(chown|chgrp|install|chpst|setpriv|su|sudo|runuser)\b.*(Invalid argument|Operation not permitted)/i;
