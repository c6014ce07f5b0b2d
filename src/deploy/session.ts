import { existsSync } from 'node:fs';
import { access, realpath, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { AgentClient } from '../bosh/agent-client/agent-client.ts';
import type { ErrorCode } from '../errors/error-table.ts';
import { ProductError } from '../errors/product-error.ts';
import type { Clock } from '../platform/clock.ts';
import { ensurePrivateDirectory } from '../platform/private-directory.ts';
import type { CpiClient } from './cpi/cpi-client.ts';
import {
  installationDirectory,
  prepareInstallation,
  type InstallationDirectory,
} from './install/installation-directory.ts';
import { acquireLock } from './lock.ts';
import type { EnvOptions, EnvPorts } from './options.ts';
import { type ChildWatch, waitForLeftoverProcess } from './process/leftover-process.ts';
import { PrintedStage, type Stage } from './stage/stage.ts';
import { DeploymentFiles } from './state/deployment-files.ts';
import { PendingFile } from './state/pending-file.ts';
import { StateFile } from './state/state-file.ts';

/** The resources of one run, from its first line to its last. */
export interface Session {
  readonly options: EnvOptions;
  /** True if none of the deployment's files existed before this run. */
  readonly isNew: boolean;
  readonly ports: EnvPorts;
  readonly stage: Stage;
  readonly files: DeploymentFiles;
  readonly state: StateFile;
  readonly pending: PendingFile;
  readonly directory: InstallationDirectory;
  readonly children: ChildWatch;
}

/**
 * Prints the header, takes the lock, opens the state and runs `action`. With `existing`, returns undefined
 * and writes nothing if the deployment has no state file.
 */
export async function withSession<T>(
  options: EnvOptions,
  ports: EnvPorts,
  action: (session: Session) => Promise<T>,
  { existing: requireExisting = false }: { readonly existing?: boolean } = {},
): Promise<T | undefined> {
  const { write, clock } = ports;
  const manifestPath = resolve(options.manifestPath);
  const files = await DeploymentFiles.find(manifestPath, options.statePath);
  const { statePath } = files;
  write(`Deployment manifest: '${manifestPath}'\nDeployment state: '${statePath}'\n`);
  await checkPaths(manifestPath, files);
  // Programs that are installed there run as this user.
  const workspace = await ensurePrivateDirectory(resolve(options.workspace), { mayBeLink: true });
  const lock = await acquireLock(statePath, { clock, locks: join(workspace, 'locks') });
  try {
    await waitForLeftoverProcess(lock.leftoverProcess, { clock, signal: options.signal, write });
    if (requireExisting && (await files.readState()) === undefined) {
      write('No deployment state file found.\n');
      return undefined;
    }
    await assertNoLegacyState(manifestPath, files);
    const stage = new PrintedStage({ clock, write, signal: options.signal, live: ports.live });
    const children: ChildWatch = {
      onStart: (pid, purpose) => lock.recordChild(pid, purpose),
    };
    const absolute = { ...options, workspace, manifestPath, statePath };
    const isNew = !files.paths.some((path) => existsSync(path));
    const opened = await openFiles(files, absolute, ports);
    return await action({ options: absolute, isNew, ports, stage, children, files, ...opened });
  } finally {
    await lock.release();
  }
}

async function openFiles(
  { statePath }: DeploymentFiles,
  options: EnvOptions,
  ports: EnvPorts,
): Promise<Pick<Session, 'state' | 'pending' | 'directory'>> {
  const state = await StateFile.open(statePath, ports.uuid);
  const pending = await PendingFile.open(statePath);
  // The bosh CLI, which does not read the pending file, may have created another VM than the pending one, so
  // the pending VM may still exist.
  const { vm } = pending.pending;
  if (vm?.cid !== undefined && vm.cid === state.state.current_vm_cid) await pending.setVm(undefined);
  const recorded = new Set(state.state.disks.map(({ id }) => id));
  for (const { id } of pending.pending.disks) if (recorded.has(id)) await pending.removeDisk(id);
  const directory = installationDirectory(options.workspace, state.installationId);
  await prepareInstallation(directory);
  return { state, pending, directory };
}

/**
 * Throws if there is a state file in bosh's format from before 2015. bosh migrates it; we do not, and must
 * not treat its deployment as a new one.
 */
async function assertNoLegacyState(manifestPath: string, files: DeploymentFiles): Promise<void> {
  const legacy = join(dirname(manifestPath), 'bosh-deployments.yml');
  if ((await files.readState()) !== undefined || !existsSync(legacy)) return;
  throw new ProductError(
    'STATE_INVALID',
    `'${legacy}' holds the state of this deployment in a format that only the bosh CLI migrates; run bosh create-env once, or remove the file if none of its resources exists any more`,
  );
}

/**
 * Throws FILE_NOT_FOUND if there is no manifest, and STATE_INVALID if the folder of the state file does not
 * exist or the state file cannot be read.
 */
export async function checkPaths(manifestPath: string, files: DeploymentFiles): Promise<void> {
  await rejectIfMissing(access(manifestPath), 'FILE_NOT_FOUND', `There is no manifest '${manifestPath}'`);
  if ((await stat(manifestPath)).isDirectory())
    throw new ProductError('FILE_NOT_FOUND', `'${manifestPath}' is a directory; name the manifest file`);
  await rejectIfMissing(
    realpath(dirname(files.statePath)),
    'STATE_INVALID',
    `There is no folder for the deployment state file '${files.statePath}'`,
  );
  // Read the state before taking the lock, whose file would be created beside it.
  await files.readState();
}

async function rejectIfMissing(check: Promise<unknown>, code: ErrorCode, message: string): Promise<void> {
  await check.catch((error: unknown) => {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
    throw new ProductError(code, message, { cause: error });
  });
}

/** The dependencies of a step that only talks to the agent. */
export type AgentRun = Pick<Run, 'agent' | 'state' | 'clock' | 'signal' | 'commandInVm' | 'warn'>;

/** The dependencies of every step of a run. */
export interface Run {
  readonly files: DeploymentFiles;
  readonly cloud: CpiClient;
  readonly agent: AgentClient;
  readonly state: StateFile;
  readonly pending: PendingFile;
  readonly clock: Clock;
  readonly uuid: () => string;
  readonly signal: AbortSignal | undefined;
  readonly commandInVm: EnvOptions['commandInVm'];
  /** Reports a problem that does not end the run. */
  readonly warn: (message: string) => void;
}
