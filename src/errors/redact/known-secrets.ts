import type { Redact } from './redactor.ts';
import { redactor } from './redactor.ts';

/** What a process has learnt to be secret so far, and a redactor for it. */
export interface KnownSecrets {
  readonly add: (secrets: readonly string[]) => void;
  readonly redact: Redact;
}

export function knownSecrets(): KnownSecrets {
  const known = new Set<string>();
  let redact: Redact | undefined;
  return {
    add: (secrets) => {
      const before = known.size;
      for (const secret of secrets) known.add(secret);
      if (known.size > before) redact = undefined;
    },
    redact: (text) => {
      if (known.size === 0) return text;
      redact ??= redactor({ password: [...known] });
      return redact(text);
    },
  };
}
