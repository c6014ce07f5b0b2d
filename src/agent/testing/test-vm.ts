import { glob, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestAuthority, type KeyPair } from '../../kubernetes/testing/certificates.ts';
import { Agent } from '../agent.ts';
import { systemClock } from '../../platform/clock.ts';
import { directoriesOf, type Directories } from '../directories.ts';
import { systemProbes } from '../monit/probes.ts';
import { procProcessTable } from '../process/process-table.ts';
import { systemPrograms } from '../process/programs.ts';
import type { AgentPorts } from '../services.ts';
import { loadIdentities, type Identities } from '../user/identities.ts';
import { AgentClient } from './agent-client.ts';
import { FakeMountTable } from './fake-mount-table.ts';

const host = '127.0.0.1';

/** The agent's ports in a test: real processes, and files below the base directory only. */
export const testPorts = (
  directories: Directories,
  ports: Pick<AgentPorts, 'log' | 'mounts' | 'identities'>,
): AgentPorts => ({
  ...ports,
  clock: systemClock,
  programs: systemPrograms,
  table: procProcessTable,
  probes: systemProbes,
  ownAddress: async () => '10.0.0.7',
  hostname: 'vm-agent-1',
  systemFiles: {
    hosts: join(directories.base, 'hosts'),
    trustedCertificates: join(directories.base, 'ca-certificates'),
  },
});

/** A VM in a temporary directory with real HTTPS, processes and files. Its mounts are only recorded. */
export class TestVm {
  readonly directories: Directories;
  readonly mounts = new FakeMountTable();
  readonly lines: string[] = [];
  readonly password = 'secret-of-the-bus';
  readonly ca: string;
  readonly #identities: Identities;
  #agent: Agent | undefined;

  private constructor(base: string, ca: string, identities: Identities) {
    this.#identities = identities;
    this.directories = directoriesOf(base);
    this.ca = ca;
  }

  /** `bosh` is added to env.bosh, and `settings` to the settings. */
  static async create(identities?: Identities, bosh: object = {}, settings: object = {}): Promise<TestVm> {
    const base = await realpath(await mkdtemp(join(tmpdir(), 'agent-')));
    const authority = await createTestAuthority();
    const pair = await authority.server({ ip: host });
    const vm = new TestVm(base, authority.ca, identities ?? (await loadIdentities()));
    await mkdir(vm.directories.bosh);
    await writeFile(
      vm.configPath,
      JSON.stringify({
        Infrastructure: { Settings: { Sources: [{ Type: 'File', SettingsPath: vm.settingsPath }] } },
      }),
    );
    await writeFile(vm.settingsPath, JSON.stringify({ ...vm.#settings(pair, bosh), ...settings }));
    return vm;
  }

  get configPath(): string {
    return join(this.directories.bosh, 'agent.json');
  }

  get settingsPath(): string {
    return join(this.directories.bosh, 'warden-cpi-agent-env.json');
  }

  /** Returns the URL that create-env would call when the agent listens. */
  get mbusUrl(): string {
    return `https://mbus:${this.password}@${host}:${this.#agent?.port}`;
  }

  /** Starts the agent; a test may stop and start it several times. */
  async start(): Promise<AgentClient> {
    const write = (text: string): void => void this.lines.push(text);
    this.#agent = await Agent.start({
      directories: this.directories,
      configPath: this.configPath,
      ports: testPorts(this.directories, {
        log: { info: write, error: write },
        mounts: this.mounts,
        identities: this.#identities,
      }),
    });
    return this.client(this.#agent.port ?? 0);
  }

  /** Stops the agent and leaves its jobs running. */
  async stop(): Promise<void> {
    await this.#agent?.close();
    this.#agent = undefined;
  }

  /** Stops the agent and its jobs, and removes all files. */
  async remove(): Promise<void> {
    await this.stop();
    for await (const name of glob('*/*.pid', { cwd: this.directories.run })) {
      const pid = Number(await readFile(join(this.directories.run, name), 'utf8'));
      const live = await procProcessTable.find(pid);
      // Only kill processes that a job's start program started.
      if (live?.mark !== undefined) await procProcessTable.signal(live, 'SIGKILL');
    }
    await rm(this.directories.base, { recursive: true, force: true });
  }

  client(port: number): AgentClient {
    const authorization = `Basic ${Buffer.from(`mbus:${this.password}`).toString('base64')}`;
    return new AgentClient({ host, port, ca: this.ca, authorization });
  }

  #settings(pair: KeyPair, bosh: object): object {
    const cert = { ca: this.ca, certificate: pair.certificate, private_key: pair.key };
    return {
      agent_id: 'agent-1',
      vm: { name: 'vm-agent-1' },
      mbus: `https://mbus:${this.password}@0.0.0.0:0`,
      networks: { default: { type: 'manual', ip: host, netmask: '255.0.0.0', gateway: '127.0.0.254' } },
      disks: { persistent: {} },
      env: { bosh: { mbus: { cert }, ...bosh } },
    };
  }
}
