import { isProductError } from '../../errors/product-error.ts';
import { inClusterAccess } from '../../kubernetes/access/server-access.ts';
import { systemClock } from '../../platform/clock.ts';
import { apiAccessIn, install, isInstalled, uninstall } from './install.ts';
import { type InstallArguments, parseArguments, usage } from './arguments.ts';
import { Executable } from './executable.ts';
import { readDaemonSetState, runInstallLoop } from './daemon-set.ts';
import { isSystemError } from './system-error.ts';

const log = (line: string): void => void process.stdout.write(`${line}\n`);

/** Runs one command of the installer and returns the exit code. */
export async function runCommand(args: readonly string[]): Promise<number> {
  try {
    return await perform(parseArguments(args));
  } catch (error) {
    if (!isProductError(error) && !isSystemError(error)) throw error;
    process.stderr.write(`${error.message} [${error.code}]\n`);
    return 1;
  }
}

async function perform({ command, paths, daemonSet, keepInstalled }: InstallArguments): Promise<number> {
  // this executable itself is copied to the node
  const executable = new Executable(process.execPath);
  switch (command) {
    case 'help':
      process.stdout.write(usage);
      return 0;
    case 'installed':
      return (await isInstalled(paths, executable)) ? 0 : 1;
    case 'uninstall': {
      // listen for the signal before the log line: a caller that sends it after that line must not kill the
      // process
      const stop = keepInstalled ? stopSignal() : undefined;
      log(await uninstall(paths));
      if (stop !== undefined) await stopped(stop);
      return 0;
    }
    case 'guard':
    case 'install': {
      const access = daemonSet === undefined ? undefined : inClusterAccess({ environment: process.env });
      await runInstallLoop({
        install:
          command === 'guard'
            ? () => Promise.resolve('waiting until the DaemonSet is deleted')
            : () => install(paths, executable),
        uninstall: () => uninstall(paths),
        readDaemonSet:
          access === undefined || daemonSet === undefined
            ? undefined
            : () => readDaemonSetState(access, daemonSet),
        apiAccess: apiAccessIn(paths),
        clock: systemClock,
        log,
        stop: stopSignal(),
      });
      return 0;
    }
    default:
      return command satisfies never;
  }
}

async function stopped(stop: AbortSignal): Promise<void> {
  // a listener does not keep a process alive
  while (!stop.aborted) await systemClock.sleep(3_600_000, stop);
}

function stopSignal(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => controller.abort());
  return controller.signal;
}
