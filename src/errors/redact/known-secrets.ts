import type { Redact } from './redactor.ts';
import { redactor } from './redactor.ts';

/** The secrets that a process knows so far, and a redactor for them. */
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
