import type { KnownSecrets } from '../errors/redact/known-secrets.ts';
import type { Installation } from './installation.ts';
import type { Terminal } from './terminal.ts';

export interface CommandContext {
  readonly installation: Installation;
  /** Does not show what is in `secrets`. */
  readonly terminal: Terminal;
  readonly secrets: KnownSecrets;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Aborted by the first Ctrl-C or SIGTERM. */
  readonly signal: AbortSignal;
}

/**
 * One sub-command of `bosh-kubernetes`. `run` resolves with the exit code; what it rejects with is printed as
 * an error.
 */
export interface Command {
  readonly name: string;
  /** Other names, of the bosh CLI. */
  readonly aliases?: readonly string[];
  /** What stands behind the name in a usage line. */
  readonly usage: string;
  readonly summary: string;
  /** Takes `--json`, which `run` is not told of: the terminal is another one then. */
  readonly json?: boolean;
  /** Usage and summary of each sub-command, where help has a line for each. */
  readonly subCommands?: readonly (readonly [usage: string, summary: string])[];
  /** Usage of each sub-command, for the help of this command alone. */
  readonly verbs?: readonly string[];
  /** Path of the page in this repository that explains the flags. */
  readonly documentation?: string;
  run(words: readonly string[], context: CommandContext): Promise<number>;
}
