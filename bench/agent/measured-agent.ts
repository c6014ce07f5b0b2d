import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { DavServer } from '../../src/agent/testing/dav-server.ts';
import type { NatsDirector } from '../../src/agent/testing/nats-director.ts';
import type { TestNatsServer } from '../../src/agent/testing/nats-server.ts';
import { ReleaseOfJob } from '../../test/director/scripted/release-of-job.ts';
import { type InstanceRequest, ScriptedDirector } from '../../test/director/scripted/scripted-director.ts';
import { uploadStemcell } from '../../test/director/scripted/upload-stemcell.ts';
import { checkout, EmbeddedEnvironment } from '../../test/support/embedded-environment.ts';
import { processesOf } from '../../test/support/machine.ts';
import { residentMemory } from '../broker/child-server.ts';
import type { Contestant } from './contestants.ts';

export interface AgentPorts {
  readonly server: TestNatsServer;
  readonly bus: NatsDirector;
  readonly dav: DavServer;
  /** When the first heartbeat of an agent arrived, on the clock of performance.now(). */
  readonly firstHeartbeats: ReadonlyMap<string, number>;
  /** An address of a manual network that no other VM has. */
  readonly address: string;
  /** How long a VM is left alone before its memory is measured, in milliseconds. */
  readonly restMs: number;
}

/** The life of one VM, in milliseconds and MiB. */
export interface Sample {
  readonly heartbeat: number;
  readonly running: number;
  readonly update: number;
  readonly memory: number;
}

type Packages = Awaited<ReturnType<ScriptedDirector['compile']>>;

/** An embedded cluster whose VMs have one agent, and the director that deploys to it. */
export class MeasuredAgent {
  readonly contestant: Contestant;
  readonly #ports: AgentPorts;
  readonly #line: EmbeddedEnvironment;
  readonly #director: ScriptedDirector;
  readonly #steps: { readonly name: string; readonly ms: number; readonly end: number }[] = [];
  #began = 0;
  #release: ReleaseOfJob | undefined;

  private constructor(contestant: Contestant, ports: AgentPorts, line: EmbeddedEnvironment) {
    this.contestant = contestant;
    this.#ports = ports;
    this.#line = line;
    const cpi = (method: string, ...args: readonly unknown[]): Promise<unknown> => {
      if (method === 'create_vm') this.#began = performance.now();
      return line.call(method, ...args);
    };
    this.#director = new ScriptedDirector({ ...ports, cpi, out: (text) => this.#note(text) });
  }

  static async start(contestant: Contestant, ports: AgentPorts): Promise<MeasuredAgent> {
    const line = await EmbeddedEnvironment.start({ agent: contestant.agent, mbus: ports.server.url });
    return new MeasuredAgent(contestant, ports, line);
  }

  /** Compiles the example, and returns a function that deploys and deletes an instance of it. */
  async prepare(): Promise<() => Promise<Sample>> {
    const scratch = join(this.#line.directory, 'director');
    await mkdir(scratch);
    const stemcellCid = await uploadStemcell((...call) => this.#line.call(...call), scratch);
    const release = await ReleaseOfJob.open(join(checkout, 'dist', 'hello-release.tgz'), 'hello', scratch);
    this.#release = release;
    const { address } = this.#ports;
    const request: InstanceRequest = {
      ...{ deployment: 'hello', group: 'hello', index: 0, stemcellCid, address },
      vmProperties: { profile: 'sys-admin' },
      networks: { default: { type: 'manual', ip: address, netmask: '255.255.255.0', cloud_properties: {} } },
    };
    const compilation = await this.#director.createVm(request);
    const packages = await this.#director.compile(compilation, release);
    await this.#director.deleteVm(compilation);
    return () => this.#live(request, release, packages);
  }

  async close(): Promise<void> {
    await this.#release?.close();
    await this.#line.destroy();
    await this.#line.remove();
  }

  async #live(request: InstanceRequest, release: ReleaseOfJob, packages: Packages): Promise<Sample> {
    this.#steps.length = 0;
    const vm = await this.#director.createVm(request);
    await this.#director.update(vm, release, packages, { hello: { port: 8080, audience: 'operators' } });
    await delay(this.#ports.restMs);
    const memory = await this.#memory();
    const update = this.#steps.findIndex(({ name }) => name === 'update_settings');
    const sample = {
      heartbeat: (this.#ports.firstHeartbeats.get(vm.agentId) ?? NaN) - this.#began,
      running: (this.#steps.find(({ name }) => name === 'running')?.end ?? NaN) - this.#began,
      // with the answer to the request after it: an agent that restarts does not get that request
      update: (this.#steps[update]?.ms ?? NaN) + (this.#steps[update + 1]?.ms ?? NaN),
      memory,
    };
    await this.#director.deleteVm(vm);
    return sample;
  }

  /** Reads the time of a request to the agent from the line that the director prints at its end. */
  #note(text: string): void {
    const [, name, ms] = /^agent \S+ (\S+) (\d+) ms$/u.exec(text) ?? [];
    if (name !== undefined) this.#steps.push({ name, ms: Number(ms), end: performance.now() });
  }

  async #memory(): Promise<number> {
    const { programs } = this.contestant;
    const processes = (await processesOf(this.#line.directory)).filter(({ command }) =>
      programs.includes(command.split(' ')[0] ?? ''),
    );
    if (processes.length !== programs.length)
      throw new Error(`${this.contestant.name} has ${processes.length} processes`);
    const memories = await Promise.all(processes.map(({ pid }) => residentMemory(pid)));
    return memories.reduce((sum, each) => sum + each, 0);
  }
}
