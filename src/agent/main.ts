import { systemClock } from '../platform/clock.ts';
import { Agent } from './agent.ts';
import { directoriesOf } from './directories.ts';
import { systemMountTable } from './disk/mount-table.ts';
import { errorCode, errorMessage } from './file/error-code.ts';
import { lineLog, routeConsole } from './log.ts';
import { callAgent } from './monit/command/command-socket.ts';
import { systemProbes } from './monit/probes.ts';
import { procProcessTable } from './process/process-table.ts';
import { systemPrograms } from './process/programs.ts';
import { ownAddress } from './apply/networks.ts';
import { loadIdentities } from './user/identities.ts';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import product from '../../package.json' with { type: 'json' };

const { version } = product;
const log = lineLog(
  (line) => process.stdout.write(line),
  () => systemClock.now(),
);

// A log whose reader has closed the pipe must not end the agent.
process.stdout.on('error', (error) => {
  if (errorCode(error) !== 'EPIPE') throw error;
});

/** `monit SOCKET ARGS`: the script /var/vcap/bosh/bin/monit runs this. */
async function monit([socket = '', ...args]: readonly string[]): Promise<void> {
  const { code, output, error } = await callAgent(socket, args);
  process.stdout.write(output);
  process.stderr.write(error);
  process.exitCode = code;
}

/** `bpm BASE ARGS`: the replacement of bpm runs this (embedded-cluster/node/host-root/host-root-files.ts). */
async function bpm([base = '', ...args]: readonly string[]): Promise<void> {
  const { runBpm } = await import('./bpm/run-command.ts');
  process.umask(0o022);
  process.exitCode = await runBpm(args, {
    directories: directoriesOf(base),
    identities: await loadIdentities(),
    table: procProcessTable,
    clock: systemClock,
    stdout: process.stdout,
    stderr: process.stderr,
    version,
  });
}

async function main(): Promise<void> {
  const [first, ...rest] = process.argv.slice(2);
  if (first === 'monit') return monit(rest);
  if (first === 'bpm') return bpm(rest);
  const commandLine = parseCommandLine(process.argv.slice(2));
  if (commandLine.showVersion)
    return void process.stdout.write(`bosh-kubernetes embedded agent ${version}\n`);
  if (process.pid === 1)
    throw new Error(
      'the agent must not be PID 1, because it does not reap processes; start it under an init',
    );
  process.umask(0o022);
  routeConsole(log);
  const identities = await loadIdentities();
  if (identities.hasSingleId)
    log.info('this VM has a single user id: the kernel refuses chown to any other user');
  const directories = directoriesOf(commandLine.base);
  const agent = await Agent.start({
    directories,
    configPath: commandLine.configPath,
    ports: {
      clock: systemClock,
      log,
      programs: systemPrograms,
      table: procProcessTable,
      probes: systemProbes,
      mounts: systemMountTable([directories.store, directories.storeMigrationTarget]),
      identities,
      ownAddress,
      hostname: hostname(),
      systemFiles: {
        hosts: '/etc/hosts',
        trustedCertificates: '/usr/local/share/ca-certificates',
      },
    },
  });
  for (const name of ['SIGTERM', 'SIGINT'] as const) {
    process.once(name, () => {
      log.info(`${name}: the agent ends, jobs keep running`);
      agent.close().then(() => process.exit(0), fail);
    });
  }
}

function fail(error: unknown): void {
  log.error(`agent: ${errorMessage(error)}`);
  process.exit(1);
}

main().catch(fail);

export interface CommandLine {
  readonly base: string;
  readonly configPath: string;
  readonly showVersion: boolean;
}

/**
 * Reads upstream's flags (bosh-agent: app/options.go): `-b` base directory, `-C` agent.json, `-v`. In
 * upstream, `-P` and `-M` name the platform and the job supervisor. This agent is both, so it ignores their
 * values. Throws a TypeError of node:util for any other argument.
 */
function parseCommandLine(args: readonly string[]): CommandLine {
  const { values } = parseArgs({
    args: [...args],
    options: {
      base: { type: 'string', short: 'b', default: '/var/vcap' },
      config: { type: 'string', short: 'C' },
      platform: { type: 'string', short: 'P' },
      supervisor: { type: 'string', short: 'M' },
      version: { type: 'boolean', short: 'v', default: false },
    },
  });
  const base = resolve(values.base);
  return {
    base,
    configPath: values.config ?? join(base, 'bosh', 'agent.json'),
    showVersion: values.version,
  };
}
