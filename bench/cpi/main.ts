import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildCpi, executableSetting } from '../../scripts/build-cpi.ts';
import { formatTable } from '../../src/cli/output/table.ts';
import { buildGoProgram } from './build-go-program.ts';
import { startBenchServer } from './bench-server.ts';
import { measure, type Contestant, type Times } from './measure.ts';

const runs = Number(process.argv[2] ?? 60);

/** The input of each program on stdin: `info`, and a call that does one GET and one POST. */
const calls: Readonly<Record<string, object>> = {
  info: { method: 'info', arguments: [], context: {} },
  'GET + POST': {
    method: 'create_disk',
    arguments: [64, { storage_class: 'bench' }, null],
    context: {},
    api_version: 2,
  },
};

const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-bench-'));
const server = await startBenchServer();
try {
  const config = join(directory, 'cpi.json');
  await writeFile(config, JSON.stringify(server.config), { mode: 0o600 });
  const contestants = await prepare(directory, config);
  const { path: stopwatch } = await buildGoProgram('stopwatch', join(directory, 'stopwatch'));
  for (const [name, call] of Object.entries(calls)) {
    const times = await measure(contestants, { input: JSON.stringify(call), runs, stopwatch });
    process.stdout.write(`${name}, stdin to exit, ${runs} interleaved runs\n${table(times)}\n\n`);
  }
} finally {
  await server.close();
  await rm(directory, { recursive: true });
}

async function prepare(scratch: string, config: string): Promise<Contestant[]> {
  const { bundle, executable } = await buildCpi({ outDirectory: join(scratch, 'cpi') });
  const clientGo = await buildGoProgram('client-go', join(scratch, 'client-go'));
  if (clientGo.path === undefined)
    process.stdout.write(
      `Go with client-go: skipped, needs go (1.26 or newer) and the Go module proxy: ${clientGo.missing}\n`,
    );
  const programs: readonly (readonly [string, readonly (string | undefined)[], ...string[]])[] = [
    ['Go with client-go 0.36', [clientGo.path]],
    // as the job's bin/cpi starts it
    ['Bun executable', [executable], executableSetting],
    ['Node bundle', [process.execPath, bundle]],
  ];
  const contestants = programs.flatMap(([name, args, ...environment]) => {
    const command = args.filter((word) => word !== undefined);
    return command.length < args.length ? [] : [{ name, command: [...command, config], environment }];
  });
  return Promise.all(
    contestants.map((contestant, index) => asInstalled(contestant, join(scratch, `installed-${index}`))),
  );
}

/**
 * Copies the program, as an installation does. How a file was written changes its start-up time by up to a
 * sixth, because its pages are then in the kernel's cache in large or in small pieces.
 */
async function asInstalled(contestant: Contestant, copy: string): Promise<Contestant> {
  const [program = '', ...args] = contestant.command;
  await copyFile(program, copy);
  return { ...contestant, command: [copy, ...args] };
}

/** Formats the table. Ratios refer to the first line: client-go if it was built. */
function table(times: readonly Times[]): string {
  const [first] = times;
  const figure = (value: number): string => value.toFixed(1);
  const ratio = (value: number, base: number | undefined): string =>
    base === undefined ? '-' : (value / base).toFixed(2);
  return formatTable(
    ['', 'min ms', 'median ms', 'min ratio', 'median ratio'],
    times.map(({ name, min, median }) => [
      name,
      figure(min),
      figure(median),
      ratio(min, first?.min),
      ratio(median, first?.median),
    ]),
  );
}
