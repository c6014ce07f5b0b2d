import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { isAbsolute, normalize } from 'node:path';
import { parseArgs } from 'node:util';
import { ProductError } from '../../errors/product-error.ts';
import { readOwnFile } from '../../platform/read-file.ts';
import { parsePathSegment, segmentProblem } from '../../platform/path-segment.ts';
import { Volman } from '../volman/volman.ts';
import { parseVolumeMounts } from '../options/volume-mount.ts';
import { withDirectory } from './open-directory.ts';
import { cleanUpOrphans } from './containers.ts';
import { type CellPorts, type ContainerSpec, runApp } from './run-app.ts';
import { cellFlags } from './cell-flags.ts';

/** The output and stop signal of the command. */
interface CellRunPorts {
  readonly out: (text: string) => void;
  /** Aborted when the app has to stop. */
  readonly signal: AbortSignal;
}

const cellUsage = 'cell run --binding FILE [OPTIONS] -- COMMAND... | cell repair | cell purge | cell drivers';

type CellArguments = ReturnType<typeof parseFlags>;

/** Timeouts of calls to drivers in seconds. The drivers' own timeout of a mount is half a minute. */
const deadlines = { short: 15, mount: 90 };

/**
 * Runs an app with volumes, or repairs, purges or lists. Returns the exit code, which is that of the app if
 * one ran.
 */
export async function runCell([verb = '', ...rest]: readonly string[], ports: CellRunPorts): Promise<number> {
  const args = parseFlags(rest);
  if (process.geteuid?.() !== 0)
    throw new ProductError(
      'NOT_SUPPORTED',
      'volumes cell must run as root, because it mounts; run it with sudo',
    );
  const log = (line: string): void => ports.out(`${line}\n`);
  const volman = createVolman(args, log);
  if (verb === 'run') {
    const spec = await parseContainerSpec(args);
    return run(spec, cellPorts(args, volman, { ...ports, log }));
  }
  if (args.command.length > 0) throw usage();
  const { state } = args.values;
  switch (verb) {
    case 'repair': {
      await volman.scan();
      return reportProblems(
        await cleanUpOrphans({ volman, state, onStep: () => undefined, log }),
        () => undefined,
      );
    }
    case 'purge':
      await volman.scan();
      return reportProblems(await volman.purge(), log);
    case 'drivers':
      await volman.scan();
      for (const name of volman.listDrivers()) log(name);
      if (volman.listDrivers().length === 0)
        log(`no driver responds that has a spec file in ${args.values.drivers}`);
      return 0;
    default:
      throw usage();
  }
}

/** Runs an app. First unmounts the volumes of killed cells; a failure of that does not stop the app. */
async function run(spec: ContainerSpec, ports: CellPorts): Promise<number> {
  await ports.volman.scan();
  await cleanUpOrphans(ports);
  return runApp(spec, ports);
}

function reportProblems(problems: readonly string[], log: (line: string) => void): number {
  for (const problem of problems) log(problem);
  return problems.length === 0 ? 0 : 1;
}

function createVolman({ values }: CellArguments, log: (line: string) => void): Volman {
  return new Volman({
    directories: values.drivers.split(':'),
    mountDirectories: values.mounts.split(':'),
    deadlines,
    metrics: {
      count: (name) => log(JSON.stringify({ metric: name, count: 1 })),
      time: (name, milliseconds) =>
        log(JSON.stringify({ metric: name, milliseconds: Math.round(milliseconds) })),
    },
    log,
    clock: () => performance.now(),
  });
}

function cellPorts(
  { values }: CellArguments,
  volman: Volman,
  { signal, log }: CellRunPorts & { readonly log: (line: string) => void },
): CellPorts {
  const grace = parseSeconds('grace', values.grace, 3600);
  return {
    volman,
    state: values.state,
    deadlines: { start: 60, grace, kill: 10, watch: 5 },
    log,
    onStep: () => undefined,
    signal,
  };
}

async function parseContainerSpec({ values, command }: CellArguments): Promise<ContainerSpec> {
  const { binding, name = `app-${randomUUID()}`, root } = values;
  if (binding === undefined || command.length === 0) throw usage();
  const container = parsePathSegment(name);
  if (container === undefined) throw invalidOption('name', segmentProblem(name));
  if (!isAbsolute(root) || (root !== '/' && normalize(`${root}/`) !== `${root}/`))
    throw invalidOption('root', 'must be an absolute path without ".." and without a slash at its end');
  if (withDirectory(root, () => true) === undefined) throw invalidOption('root', `'${root}' does not exist`);
  // the file may contain a password
  const text = binding === '-' ? await readFile('/dev/stdin', 'utf8') : await textOfFile(binding);
  const [uid, gid] = [
    parseSeconds('uid', values.uid, 4_294_967_294),
    parseSeconds('gid', values.gid, 4_294_967_294),
  ];
  return { container, volumes: parseVolumeMounts(text), command, uid, gid, root };
}

async function textOfFile(path: string): Promise<string> {
  const next = 'give the file with the response to a bind as --binding';
  try {
    const text = await readOwnFile(path);
    if (text !== undefined) return text;
  } catch (error) {
    if (error instanceof ProductError || !(error instanceof Error && 'code' in error)) throw error;
    throw new ProductError('FILE_NOT_FOUND', `'${path}' cannot be read (${String(error.code)}); ${next}`);
  }
  throw new ProductError('FILE_NOT_FOUND', `'${path}' does not exist; ${next}`);
}

function parseSeconds(name: string, text: string, max: number): number {
  if (/^[1-9]\d{0,9}$/u.test(text) && Number(text) <= max) return Number(text);
  throw invalidOption(name, `must be a number from 1 to ${max}`);
}

function parseFlags(args: readonly string[]) {
  const end = args.indexOf('--');
  const [own, command] = end === -1 ? [args, []] : [args.slice(0, end), args.slice(end + 1)];
  try {
    const { values } = parseArgs({ args: [...own], options: cellFlags, strict: true });
    return { values, command };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw usage();
  }
}

const invalidOption = (name: string, what: string): ProductError =>
  new ProductError('INVALID_ARGUMENT', `volumes cell: --${name} ${what}; correct it`);

const usage = (): ProductError =>
  new ProductError('INVALID_ARGUMENT', `volumes takes: ${cellUsage}; see docs/volumes/cell.md`);
