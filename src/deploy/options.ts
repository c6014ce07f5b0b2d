import type { Socks5Proxy } from '../bosh/agent-client/socks5-connect.ts';
import type { LoadManifestOptions } from '../bosh/manifest/load-manifest.ts';
import type { Manifest } from '../bosh/manifest/manifest.ts';
import type { Clock } from '../platform/clock.ts';
import type { LiveLine } from '../platform/live-progress.ts';
import type { ClusterIdentity } from './state/recorded-cluster.ts';

/**
 * Options that create-env and delete-env have in common: the flags of the bosh CLI, and the paths on this
 * machine.
 */
export interface EnvOptions extends Omit<LoadManifestOptions, 'path' | 'now' | 'environment'> {
  readonly manifestPath: string;
  /** `--state`. The default is `<manifest>-state.json` beside the manifest. */
  readonly statePath?: string;
  /**
   * `--skip-drain` skips only drain; pre-stop and post-stop run. The bosh CLI does the same, although its
   * help says otherwise.
   */
  readonly skipDrain?: boolean;
  /** Absolute path of the directory with installed CPIs and downloads. */
  readonly workspace: string;
  /** Returns the operator's command for running a program in a VM. Errors show it if the caller sets this. */
  readonly commandInVm?: ((vmCid: string, args: readonly string[]) => string) | undefined;
  /** Timeout of one CPI call, in milliseconds. The default is 30 minutes. */
  readonly cpiDeadline?: number;
  /** Milliseconds that a running CPI call may continue after an interrupt. The default is 30 s. */
  readonly interruptGrace?: number;
  /** The proxy through which agents are reached. If absent, they are reached directly. */
  readonly proxy?: Socks5Proxy | undefined;
  /**
   * Aborted by Ctrl-C. The run then ends at the next safe point with INTERRUPTED, and the next run continues
   * from there.
   */
  readonly signal?: AbortSignal | undefined;
}

export interface CreateEnvOptions extends EnvOptions {
  /** `--recreate`: recreate the VM even if nothing has changed. */
  readonly recreate?: boolean;
  /**
   * `--recreate-persistent-disks`: create a new disk and move the content to it, even if nothing has changed.
   */
  readonly recreatePersistentDisks?: boolean;
  /**
   * Throws if the caller does not support something in the manifest. Called together with bosh's own rules,
   * before anything is changed.
   */
  readonly checkManifest?: (manifest: Manifest) => void;
  /**
   * The cluster that the CPI uses, if the caller knows it. It is recorded beside the state file, and a state
   * of another cluster is rejected.
   */
  readonly cluster?: ClusterIdentity;
}

export interface EnvPorts {
  /** Writes progress as bosh prints it. */
  readonly write: (text: string) => void;
  /** Set if the operator sees a terminal: shows the running step. */
  readonly live?: LiveLine | undefined;
  /** Reports a problem that does not end the run. */
  readonly warn: (message: string) => void;
  /** Removes the secrets of the run from a text that is written to a file. */
  readonly redact: (text: string) => string;
  readonly clock: Clock;
  readonly uuid: () => string;
  /** The environment that the CPI and packaging scripts inherit. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export const defaultCpiDeadline = 30 * 60_000;
export const defaultInterruptGrace = 30_000;
