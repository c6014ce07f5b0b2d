// `killed-agent.ts BASE STEP`: the agent of a TestVm as a process, which kills itself before that change of a
// file of update_settings, as a kill -9 would. It logs `step N` for each one. Without STEP it only logs.
import files from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { Agent } from '../agent.ts';
import { directoriesOf } from '../directories.ts';
import { systemPrograms, type Programs } from '../process/programs.ts';
import { loadIdentities } from '../user/identities.ts';
import { FakeMountTable } from './fake-mount-table.ts';
import { testPorts } from './test-vm.ts';

const [base = '', lastStep = ''] = process.argv.slice(2);
const directories = directoriesOf(base);
let steps = 0;

function step(what: string): void {
  steps += 1;
  process.stdout.write(`step ${steps}: ${what}\n`);
  if (String(steps) === lastStep) process.kill(process.pid, 'SIGKILL');
}

const isPart = (path: unknown): boolean =>
  typeof path === 'string' && /\/ca-certificates\/|\/update_settings\.json/u.test(path);

for (const name of ['open', 'writeFile', 'rename', 'rm'] as const) {
  const original = files[name] as (...args: unknown[]) => Promise<unknown>;
  const stepping = async (...args: unknown[]): Promise<unknown> => {
    const isStep = args.some(isPart) && args[1] !== 'r';
    if (isStep) step(`${name} ${String(args[0]).slice(base.length)}`);
    const result = await original(...args);
    if (isStep && name === 'rename') step(`after ${name}`);
    return result;
  };
  Object.assign(files, { [name]: stepping });
}
syncBuiltinESMExports();

/** The store of this machine stays as it is. */
const programs: Programs = {
  start(request) {
    if (request.file !== 'update-ca-certificates') return systemPrograms.start(request);
    step('update-ca-certificates');
    return {
      exit: Promise.resolve({ code: 0, signal: undefined, failure: undefined }),
      signal: () => {},
    };
  },
};

function log(line: string): void {
  process.stdout.write(`${line}\n`);
  if (line.includes('update_settings done')) step('answer');
}

await Agent.start({
  directories,
  configPath: join(directories.bosh, 'agent.json'),
  ports: {
    ...testPorts(directories, {
      log: { info: log, error: log },
      mounts: new FakeMountTable(),
      identities: await loadIdentities(),
    }),
    programs,
  },
});
