import { knownSecrets } from '../../errors/redact/redactor.ts';
import type { CommandContext } from '../command.ts';

/** The context of a command, and what it has printed so far. */
export interface RecordedOutput {
  readonly context: CommandContext;
  out: string;
  readonly errors: string[];
}

/** Returns a context for a command without input that needs nothing from its installation. */
export function recordOutput(environment: Record<string, string> = {}): RecordedOutput {
  const result: RecordedOutput = {
    out: '',
    errors: [],
    context: {
      terminal: {
        out: (text) => void (result.out += text),
        error: (line) => void result.errors.push(line),
        canAsk: false,
        ask: () => Promise.reject(new Error('a recorded terminal answers no question')),
      },
      secrets: knownSecrets(),
      environment: { HOME: '/nonexistent', ...environment },
      signal: new AbortController().signal,
      installation: undefined as unknown as CommandContext['installation'],
    },
  };
  return result;
}
