import assert from 'node:assert/strict';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { createTestAuthority } from '../../kubernetes/testing/certificates.ts';
import { forEachLimit } from '../../platform/for-each-limit.ts';
import { parseJsonObject } from '../../platform/json.ts';
import { readFileIfPresent } from '../file/files.ts';
import { AgentProcess } from '../testing/agent-process.ts';
import { NatsDirector } from '../testing/nats-director.ts';
import { mbusSettings, noNatsServer, TestNatsServer } from '../testing/nats-server.ts';
import { TestVm } from '../testing/test-vm.ts';
import type { BusCertificate } from './settings.ts';

const skip = noNatsServer;
const program = join(import.meta.dirname, '../testing/killed-agent.ts');
const trusted = (await createTestAuthority({ name: 'trusted' })).ca;

/** One VM whose agent is killed in the middle of update_settings. */
class KilledVm {
  readonly id: string;
  readonly vm: TestVm;
  readonly #director: NatsDirector;
  readonly #permanent: BusCertificate;
  #agent: AgentProcess | undefined;

  constructor(id: string, vm: TestVm, director: NatsDirector, permanent: BusCertificate) {
    this.id = id;
    this.vm = vm;
    this.#director = director;
    this.#permanent = permanent;
  }

  /** Starts the agent, which is killed before that step, and waits until it answers. */
  async start(step = ''): Promise<AgentProcess> {
    const { base } = this.vm.directories;
    this.#agent = AgentProcess.spawn([process.execPath, program, base, step]);
    await this.#director.waitUntilReady(this.id);
    return this.#agent;
  }

  get settings(): object {
    return { trusted_certs: trusted, disk_associations: [], mbus: mbusSettings(this.#permanent) };
  }

  update(): Promise<unknown> {
    return this.#director.call(this.id, 'update_settings', this.settings);
  }

  /** Sends the request of an update, without a task to wait for. */
  send(): Promise<unknown> {
    return this.#director.request(this.id, 'update_settings', [this.settings], { timeoutMs: 1 });
  }

  getTask(taskId: string): Promise<unknown> {
    return this.#director.request(this.id, 'get_task', [taskId], { timeoutMs: 10_000 });
  }

  ping(): Promise<unknown> {
    return this.#director.request(this.id, 'ping', [], { timeoutMs: 10_000 });
  }

  /** The task of the update that was written; undefined if none was. */
  async writtenTask(): Promise<string | undefined> {
    const text = await readFileIfPresent(join(this.vm.directories.bosh, 'update_settings.json'));
    return text === undefined ? undefined : String(parseJsonObject(text)?.['task_id']);
  }

  /** The files of the certificate store. */
  async store(): Promise<readonly string[]> {
    return (await readdir(join(this.vm.directories.base, 'ca-certificates'))).toSorted();
  }

  async end(): Promise<void> {
    await this.#agent?.end('SIGKILL');
    await this.vm.remove();
  }
}

test(
  'an agent that is killed at any step of update_settings comes back, has all of the update or nothing, and loses no task',
  { skip },
  async (t) => {
    const server = await TestNatsServer.start();
    t.after(() => server.stop());
    const first = await server.agentCertificate('of the first authority', 'bootstrap');
    assert.ok(first.ca);
    // The CA is rotated: the server has a certificate of the new one, and accepts those of both.
    const before = new Map<string, BusCertificate>();
    const idOf = (step: number): string => `agent-${step}`;
    const mostSteps = 20;
    for (let step = 0; step <= mostSteps; step += 1)
      before.set(idOf(step), await server.agentCertificate(idOf(step), 'bootstrap'));
    await server.rotateAuthority();
    await server.kill();
    await server.run();
    const admit = (kinds: readonly ('bootstrap' | 'permanent')[]): Promise<void> =>
      server.admit([...before.keys()].map((id) => ({ id, kinds })));
    await admit(['bootstrap', 'permanent']);
    const director = await NatsDirector.connect(server);
    t.after(() => director.close());
    const create = async (id: string): Promise<KilledVm> => {
      const bootstrap = before.get(id);
      assert.ok(bootstrap);
      const mbus = mbusSettings({ ...bootstrap, ca: server.ca });
      const vm = await TestVm.create(undefined, { mbus }, { mbus: server.url, agent_id: id });
      const permanent = { ...(await server.agentCertificate(id, 'permanent')), ca: server.newestCa };
      const killed = new KilledVm(id, vm, director, permanent);
      t.after(() => killed.end());
      return killed;
    };

    const whole = await create(idOf(0));
    const agent = await whole.start();
    assert.equal(await whole.update(), 'ok');
    const steps = [...agent.output.matchAll(/^step ([0-9]+): (.*)$/gmu)];
    assert.ok(steps.length >= 8 && steps.length <= mostSteps, agent.output);
    await agent.end('SIGKILL');
    // as after a restart of the container, whose root is the stemcell's again
    await rm(join(whole.vm.directories.base, 'ca-certificates'), { recursive: true });
    await whole.start();
    assert.deepEqual(await whole.store(), ['bosh-trusted-cert-1.crt']);
    assert.deepEqual(await whole.getTask(String(await whole.writtenTask())), { value: 'ok' });

    const vms = [whole];
    let written = 0;
    await forEachLimit(3, steps, async ([, step = '', what]) => {
      const killed = await create(idOf(Number(step)));
      vms.push(killed);
      const process = await killed.start(step);
      await killed.send();
      assert.equal(await process.ended(), 'SIGKILL');
      await killed.start();
      const taskId = await killed.writtenTask();
      if (taskId === undefined) assert.deepEqual(await killed.store(), [], what);
      else {
        written += 1;
        assert.deepEqual(await killed.getTask(taskId), { value: 'ok' }, what);
      }
      // a director repeats what was not done
      assert.equal(await killed.update(), 'ok');
      assert.deepEqual(await killed.store(), ['bosh-trusted-cert-1.crt'], what);
    });
    assert.ok(written >= 2 && written < steps.length);
    await admit(['permanent']);
    for (const vm of vms) assert.deepEqual(await vm.ping(), { value: 'pong' });
    assert.deepEqual(await server.violations(), []);
  },
);
