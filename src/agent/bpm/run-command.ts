import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ProductError, isProductError } from '../../errors/product-error.ts';
import type { PathSegment } from '../../platform/path-segment.ts';
import { parsePathSegment } from '../../platform/path-segment.ts';
import { openPlainFile } from '../file/directory-handle.ts';
import { errorCode } from '../file/error-code.ts';
import { isVariableName, parseBpmConfig, validateVolumePath } from './bpm-config.ts';
import type { BpmProcessConfig, VolumePolicy } from './bpm-config.ts';
import { BpmProcess } from './bpm-process.ts';
import type { BpmPorts } from './bpm-process.ts';
import { parseCommand } from './parse-command.ts';
import type { BpmCommand, ProcessName } from './parse-command.ts';

const helpText = `bpm of the embedded node: runs processes of jobs in bpm's form, without containers
  bpm start JOB [-p PROCESS]
  bpm stop JOB [-p PROCESS]
  bpm pid JOB [-p PROCESS]
  bpm list
  bpm run JOB [-p PROCESS] [-v PATH[:OPTIONS]]... [-e NAME=VALUE]...
`;
const configLimit = 1024 ** 2;

/** Runs the bpm command of these arguments. Returns the exit code. */
export async function runBpm(args: readonly string[], ports: BpmPorts): Promise<number> {
  try {
    const command = parseCommand(args);
    if (process.geteuid?.() !== 0) throw failed("bpm must be run as root. Run 'sudo -i' to become root");
    return await run(command, ports);
  } catch (error) {
    if (!isProductError(error)) throw error;
    ports.stderr.write(`Error: ${error.message}\n`);
    return 1;
  }
}

async function run(command: BpmCommand, ports: BpmPorts): Promise<number> {
  switch (command.kind) {
    case 'help':
      ports.stdout.write(helpText);
      return 0;
    case 'version':
      ports.stdout.write(`bosh-kubernetes ${ports.version}\n`);
      return 0;
    case 'list':
      ports.stdout.write(await listText(ports));
      return 0;
    case 'pid': {
      const { live } = await new BpmProcess(command, ports).status();
      if (live === undefined) throw failed('process is not running or could not be found');
      ports.stdout.write(`${live.pid}\n`);
      return 0;
    }
    case 'start': {
      const config = await requireConfig(command, ports);
      warnUnsupported(command, config, ports);
      await new BpmProcess(command, ports).start(config);
      return 0;
    }
    case 'stop':
      await new BpmProcess(command, ports).stop(() => requireConfig(command, ports));
      return 0;
    case 'run': {
      const config = withFlags(
        await requireConfig(command, ports),
        command,
        volumePolicy(command.job, ports),
      );
      warnUnsupported(command, config, ports);
      const code = await new BpmProcess(command, ports).run(config);
      if (code !== 0) ports.stderr.write(`Error: failed to run job-process: exit status ${code}\n`);
      return code;
    }
  }
}

function warnUnsupported({ job, process }: ProcessName, config: BpmProcessConfig, ports: BpmPorts): void {
  const user = config.isPrivileged || ports.identities.hasSingleId ? 'root' : 'vcap';
  const without = ['container', ...config.unsupported].join(', ');
  ports.stderr.write(
    `bpm: ${job}/${process} runs as ${user} in the VM itself; not supported on the embedded node: ${without}\n`,
  );
}

async function requireConfig(name: ProcessName, ports: BpmPorts): Promise<BpmProcessConfig> {
  const path = configPath(name.job, ports);
  const processes = await readConfig(name.job, ports);
  if (processes === undefined) throw failed(`failed to parse job configuration: there is no ${path}`);
  const found = processes.find((process) => process.name === name.process);
  if (found === undefined) {
    throw failed(`process "${name.process}" not present in job configuration (${path})`);
  }
  return found;
}

/** Returns the processes of a job, or undefined if the job has no bpm.yml. */
async function readConfig(
  job: PathSegment,
  ports: BpmPorts,
): Promise<readonly BpmProcessConfig[] | undefined> {
  const path = configPath(job, ports);
  try {
    await using file = await openPlainFile(path, 'read');
    if ((await file.stat()).size > configLimit) throw failed(`${path} is larger than 1 MiB`);
    return parseBpmConfig(await file.readFile('utf8'), path, volumePolicy(job, ports));
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

const configPath = (job: PathSegment, { directories }: BpmPorts): string =>
  join(directories.jobs, job, 'config', 'bpm.yml');

function volumePolicy(job: PathSegment, { directories }: BpmPorts): VolumePolicy {
  const { base, data, store } = directories;
  return { base, own: [join(data, job), join(store, job)] };
}

const volumeOptions = new Set(['writable', 'mount_only', 'allow_executions', 'shared']);

/** Returns the configuration of a process with the volumes and variables of `bpm run` added. */
function withFlags(
  config: BpmProcessConfig,
  { volumes, variables }: Extract<BpmCommand, { kind: 'run' }>,
  bounds: VolumePolicy,
): BpmProcessConfig {
  const added = volumes.flatMap((text) => {
    const [path = '', options, ...rest] = text.split(':');
    const names = options?.split(',') ?? [];
    const wrong = names.find((name) => !volumeOptions.has(name));
    if (rest.length > 0) throw failed(`invalid volume definition (format: <path>[:<options>]): ${text}`);
    if (wrong !== undefined) throw failed(`invalid volume option: ${wrong}`);
    const problem = validateVolumePath(path, bounds);
    if (problem !== undefined) throw failed(problem);
    return names.includes('mount_only') ? [] : [path];
  });
  const environment = variables.map((text) => {
    const end = text.indexOf('=');
    const name = text.slice(0, Math.max(0, end));
    if (!isVariableName(name)) throw failed('an environment variable must have the form KEY=value');
    return [name, text.slice(end + 1)] as const;
  });
  return {
    ...config,
    volumes: [...config.volumes, ...added],
    environment: { ...config.environment, ...Object.fromEntries(environment) },
  };
}

/** Returns a table with every bpm process of every job. */
async function listText(ports: BpmPorts): Promise<string> {
  const rows: (readonly [string, string, string])[] = [['Name', 'Pid', 'Status']];
  for (const name of (await readdir(ports.directories.jobs)).toSorted()) {
    const job = parsePathSegment(name);
    if (job === undefined) continue;
    for (const process of await configuredProcesses(job, ports)) {
      const { kind, live } = await new BpmProcess({ job, process: process.name }, ports).status();
      const shown = process.name === job ? job : `${job}.${process.name}`;
      rows.push([shown, live === undefined ? '-' : String(live.pid), kind]);
    }
  }
  const widths = [0, 1].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)) + 1);
  return rows
    .map(
      ([first, second, third]) => `${first.padEnd(widths[0] ?? 0)}${second.padEnd(widths[1] ?? 0)}${third}\n`,
    )
    .join('');
}

async function configuredProcesses(job: PathSegment, ports: BpmPorts): Promise<readonly BpmProcessConfig[]> {
  try {
    return (await readConfig(job, ports)) ?? [];
  } catch (error) {
    if (!isProductError(error)) throw error;
    ports.stderr.write(`invalid config for ${job}: ${error.message}\n`);
    return [];
  }
}

function failed(cause: string): ProductError {
  return new ProductError('AGENT_BPM_FAILED', cause);
}
