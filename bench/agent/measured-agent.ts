import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { DirectorSetup } from '../../test/director/scripted/director-setup.ts';
import type { ReleaseOfJob } from '../../test/director/scripted/release-of-job.ts';
import type { ScriptedDeployment } from '../../test/director/scripted/scripted-deployment.ts';
import { checkout, EmbeddedEnvironment } from '../../test/support/embedded-environment.ts';
import { processesOf } from '../../test/support/machine.ts';
import { residentMemory } from '../broker/child-server.ts';
import type { Contestant } from './contestants.ts';

export interface AgentPorts {
  readonly setup: DirectorSetup;
  readonly release: ReleaseOfJob;
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

/** An embedded cluster whose VMs have one agent, and the deployment on it. */
export class MeasuredAgent {
  readonly #contestant: Contestant;
  readonly #ports: AgentPorts;
  readonly #line: EmbeddedEnvironment;
  /** The requests of the newest VM. */
  readonly #steps: { readonly name: string; readonly ms: number; readonly end: number }[] = [];
  #began = NaN;
  #deployment: ScriptedDeployment | undefined;

  private constructor(contestant: Contestant, ports: AgentPorts, line: EmbeddedEnvironment) {
    this.#contestant = contestant;
    this.#ports = ports;
    this.#line = line;
  }

  static async start(contestant: Contestant, ports: AgentPorts): Promise<MeasuredAgent> {
    const mbus = ports.setup.server.url;
    const line = await EmbeddedEnvironment.start({ agent: contestant.agent, mbus });
    return new MeasuredAgent(contestant, ports, line);
  }

  /** Deploys the example with one instance, and deletes it. The first time, it also compiles. */
  async live(): Promise<Sample> {
    const { release, address, restMs, firstHeartbeats } = this.#ports;
    this.#deployment ??= await this.#openDeployment();
    const properties = { hello: { port: 8080, audience: 'operators' } };
    const group = { name: 'hello', lifecycle: 'service', release, addresses: [address], properties } as const;
    await this.#deployment.deploy([group]);
    await delay(restMs);
    const [instance] = this.#deployment.instances;
    const update = this.#steps.findIndex(({ name }) => name === 'update_settings');
    const sample = {
      heartbeat: (firstHeartbeats.get(instance?.vm.agentId ?? '') ?? NaN) - this.#began,
      running: (this.#steps.find(({ name }) => name === 'running')?.end ?? NaN) - this.#began,
      // with the answer to the request after it: an agent that restarts does not get that request
      update: (this.#steps[update]?.ms ?? NaN) + (this.#steps[update + 1]?.ms ?? NaN),
      memory: await this.#memory(),
    };
    await this.#deployment.delete();
    return sample;
  }

  async close(): Promise<void> {
    await this.#line.destroy();
    await this.#line.remove();
  }

  #openDeployment(): Promise<ScriptedDeployment> {
    return this.#ports.setup.deployment({
      cpi: (method, ...args) => {
        if (method === 'create_vm') {
          this.#began = performance.now();
          this.#steps.length = 0;
        }
        return this.#line.call(method, ...args);
      },
      out: (text) => this.#note(text),
      stemcell: join(checkout, 'dist', 'embedded-stemcell.tgz'),
      vmProperties: { profile: 'sys-admin' },
      compilationAddress: this.#ports.address,
    });
  }

  /** Reads the time of a request to the agent from the line that the director prints at its end. */
  #note(text: string): void {
    const [, name, ms] = /^agent \S+ (\S+)(?: \S+)? (\d+) ms$/u.exec(text) ?? [];
    if (name !== undefined) this.#steps.push({ name, ms: Number(ms), end: performance.now() });
  }

  async #memory(): Promise<number> {
    const { name, programs } = this.#contestant;
    const all = await processesOf(this.#line.directory);
    const found = all.filter(({ command }) => programs.includes(command.split(' ')[0] ?? ''));
    if (found.length !== programs.length) throw new Error(`${name} has ${found.length} processes`);
    const memories = await Promise.all(found.map(({ pid }) => residentMemory(pid)));
    return memories.reduce((sum, each) => sum + each, 0);
  }
}
