import type { Socks5Proxy } from '../bosh/agent-client/socks5-connect.ts';
import type { Clock } from './clock.ts';
import type { LoadManifestOptions } from '../bosh/manifest/load-manifest.ts';
import type { Manifest } from '../bosh/manifest/manifest.ts';
import type { ClusterIdentity } from './state/cluster-note.ts';

/** What create-env and delete-env have in common: the bosh CLI's flags, and where this machine keeps things. */
export interface EnvOptions extends Omit<LoadManifestOptions, 'path' | 'now' | 'environment'> {
  readonly manifestPath: string;
  /** `--state`; default `<manifest>-state.json` beside the manifest. */
  readonly statePath?: string;
  /** `--skip-drain`: only drain is skipped, pre-stop and post-stop run, as with the bosh CLI, whose help says otherwise. */
  readonly skipDrain?: boolean;
  /** Installed CPIs and downloads; absolute. */
  readonly workspace: string;
  /** How an operator runs a command in a VM, where the caller knows: errors name it. */
  readonly commandInVm?: ((vmCid: string, words: readonly string[]) => string) | undefined;
  /** How long one CPI call may take, in milliseconds; default 30 minutes. */
  readonly cpiDeadline?: number;
  /** How long a CPI call in flight may go on after an interrupt, in milliseconds; default 30 s. */
  readonly interruptGrace?: number;
  /** By way of which agents are reached; absent: directly. */
  readonly proxy?: Socks5Proxy | undefined;
  /** Aborted by Ctrl-C: the run ends at the next safe point with INTERRUPTED, and the next run goes on from there. */
  readonly signal?: AbortSignal | undefined;
}

export interface CreateEnvOptions extends EnvOptions {
  /** `--recreate`: even when nothing has changed. */
  readonly recreate?: boolean;
  /**
   * `--recreate-persistent-disks`: even when nothing has changed; the disk is made anew and its content moves
   * to it.
   */
  readonly recreatePersistentDisks?: boolean;
  /** Throws what the caller does not take of a manifest; asked with bosh's own rules, before anything is changed. */
  readonly checkManifest?: (manifest: Manifest) => void;
  /** Where the CPI works, when the caller knows: noted beside the state file, and a state of another one is refused. */
  readonly cluster?: ClusterIdentity;
}

export interface EnvPorts {
  /** Progress, as bosh prints it. */
  readonly write: (text: string) => void;
  /** What went wrong although the run goes on. */
  readonly warn: (message: string) => void;
  readonly clock: Clock;
  readonly uuid: () => string;
  /** Inherited by the CPI and by packaging scripts. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export const defaultCpiDeadline = 30 * 60_000;
export const defaultInterruptGrace = 30_000;
