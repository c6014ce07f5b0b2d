import assert from 'node:assert/strict';
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { entryScript } from '../cpi/vm/scripts/entry.ts';
import { createTestAuthority } from '../kubernetes/testing/certificates.ts';
import { directoriesOf } from './directories.ts';
import { errorText } from './file/error-code.ts';
import { AgentClient } from './testing/agent-client.ts';
import { eventually } from './testing/eventually.ts';
import { helloJob } from './testing/hello-job.ts';
import { compile, jobState, reaches, specWith } from './testing/specs.ts';

const run = promisify(execFile);
const namespaces = [
  '--user',
  '--map-root-user',
  '--mount',
  '--pid',
  '--fork',
  '--kill-child',
  '--propagation',
  'private',
];
const host = '127.0.0.1';

type AgentBuild = (outFile: string) => Promise<string>;

/** The builds of the agent: for the embedded cluster and for our stemcells. */
const builds: Readonly<Record<string, AgentBuild>> = {
  'a bundle on Node': async (outFile) => {
    await build({
      entryPoints: [join(import.meta.dirname, 'main.ts')],
      outfile: outFile,
      bundle: true,
      platform: 'node',
      format: 'cjs',
      logLevel: 'error',
    });
    return '/opt/node /opt/agent.cjs';
  },
  'one executable': async (outFile) => {
    await run(process.execPath, [join(import.meta.dirname, '../../scripts/build-agent.ts'), outFile]);
    return '/opt/agent.cjs';
  },
};

/** A VM pod: its own namespaces, the CPI's entry script as pid 1, and the bundled agent. */
class Container {
  readonly #work: string;
  readonly #ca: string;
  #child: ChildProcess | undefined;

  private constructor(work: string, ca: string) {
    this.#work = work;
    this.#ca = ca;
  }

  /** `buildAgent` builds the agent and returns the arguments that start it. */
  static async create(buildAgent: AgentBuild): Promise<Container> {
    const work = await mkdtemp(join(tmpdir(), 'agent-'));
    for (const name of ['root', 'volume/store', 'state/bosh/bin'])
      await mkdir(join(work, name), { recursive: true });
    const start = await buildAgent(join(work, 'agent.cjs'));
    const authority = await createTestAuthority();
    const pair = await authority.server({ ip: host });
    const settings = {
      agent_id: 'agent-1',
      vm: { name: 'vm-agent-1' },
      mbus: 'https://mbus:secret@0.0.0.0:0',
      networks: { default: { type: 'manual', ip: host } },
      env: { bosh: { mbus: { cert: { certificate: pair.certificate, private_key: pair.key } } } },
    };
    const source = { Type: 'File', SettingsPath: '/var/vcap/bosh/warden-cpi-agent-env.json' };
    const config = { Infrastructure: { Settings: { Sources: [source] } } };
    const bosh = join(work, 'state/bosh');
    await writeFile(join(bosh, 'agent.json'), JSON.stringify(config));
    await writeFile(join(bosh, 'warden-cpi-agent-env.json'), JSON.stringify(settings));
    await writeFile(join(bosh, 'bin/bosh-agent'), `#!/bin/sh\nexec ${start} "$@"\n`);
    await chmod(join(bosh, 'bin/bosh-agent'), 0o755);
    await writeFile(join(work, 'entry'), entryScript);
    return new Container(work, authority.ca);
  }

  /** Returns the path of a file on the persistent disk. */
  diskFile(name: string): string {
    return join(this.#work, 'volume/store', name);
  }

  async start(): Promise<AgentClient> {
    const script = join(import.meta.dirname, 'testing/container.sh');
    const list = [...namespaces, '/bin/sh', script, this.#work, process.execPath];
    const child = spawn('unshare', list, { stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child = child;
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (text: Buffer) => (output += text.toString()));
    const port = await eventually('the port of the agent', async () => {
      assert.equal(child.exitCode, null, output);
      return /listens on 127\.0\.0\.1:([0-9]+)/.exec(output)?.[1];
    });
    const authorization = `Basic ${Buffer.from('mbus:secret').toString('base64')}`;
    return new AgentClient({ host, port: Number(port), ca: this.#ca, authorization });
  }

  /** Kills every process of the container without a warning. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
  }

  async remove(): Promise<void> {
    await this.kill();
    await rm(this.#work, { recursive: true, force: true });
  }
}

for (const [name, agent] of Object.entries(builds)) {
  const isMissing = name === 'one executable' && (process.platform !== 'linux' || process.arch !== 'x64');
  const skip = isMissing && 'the executable is for Linux on x86-64';
  test(
    `a killed container comes back with its disk and its jobs, unless they were stopped: ${name}`,
    { skip },
    async (t) => {
      try {
        await run('unshare', [...namespaces, 'mount', '-t', 'tmpfs', 'none', '/mnt']);
      } catch (error) {
        t.skip(`needs user, mount and pid namespaces: ${errorText(error)}`);
        return;
      }
      const container = await Container.create(agent);
      t.after(() => container.remove());
      let client = await container.start();
      await client.task('add_persistent_disk', 'disk-1', { path: '/warden-cpi-dev/disks/disk-1/store' });
      await client.task('mount_disk', 'disk-1');
      const files = helloJob(directoriesOf('/var/vcap'));
      const ctl = files['./hello/bin/ctl'] ?? '';
      const writing = ctl.replace('  start)', '  start)\n    echo life >> /var/vcap/store/lives || exit 9');
      await client.task('stop');
      await client.task('apply', await specWith(client, { ...files, './hello/bin/ctl': writing }));
      await client.value('start');
      await reaches(client, 'running');

      for (const lives of ['life\nlife\n', 'life\nlife\nlife\n']) {
        await container.kill();
        client = await container.start();
        await reaches(client, 'running');
        assert.deepEqual(await client.value('list_disk'), ['disk-1']);
        assert.equal(await readFile(container.diskFile('lives'), 'utf8'), lives);
      }

      await client.task('run_script', 'pre-start', {});
      await client.task('fetch_logs', 'job', ['**/*.log']);
      await client.task('stop');
      await container.kill();
      client = await container.start();
      assert.equal(await jobState(client), 'stopped');
      assert.deepEqual(await client.task('unmount_disk', 'disk-1'), {
        message: 'Unmounted partition of disk disk-1',
      });
      assert.deepEqual(await client.value('list_disk'), []);

      const packaging = 'touch file && chown 1000:1000 file';
      await assert.rejects(
        compile(client, 'owned', {}, { packaging }),
        /This VM has a single user id, .* another user \(chown: .*Invalid argument\)/,
      );
    },
  );
}
