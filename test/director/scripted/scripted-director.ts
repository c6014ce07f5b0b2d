import { createHash, randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { isObject } from '../../../src/platform/json.ts';
import type { NatsDirector } from '../../../src/agent/testing/nats-director.ts';
import type { TestNatsServer } from '../../../src/agent/testing/nats-server.ts';
import type { BusCertificate } from '../../../src/agent/settings/settings.ts';
import type { DavServer } from '../../../src/agent/testing/dav-server.ts';
import type { ReleaseOfJob } from './release-of-job.ts';

type Json = Readonly<Record<string, unknown>>;

export interface ScriptedDirectorOptions {
  readonly server: TestNatsServer;
  readonly bus: NatsDirector;
  readonly dav: DavServer;
  /** Calls one CPI method in a process of its own, and returns its result. */
  readonly cpi: (method: string, ...args: readonly unknown[]) => Promise<unknown>;
  readonly out: (line: string) => void;
}

/** What the manifest says about an instance. */
export interface InstanceRequest {
  readonly deployment: string;
  readonly group: string;
  readonly index: number;
  readonly stemcellCid: string;
  readonly vmProperties?: Json;
  readonly networks: Json;
  readonly address: string;
  /** In MiB; undefined: no persistent disk. */
  readonly diskSize?: number;
}

/** One VM of the director. */
export interface ScriptedVm {
  readonly agentId: string;
  readonly id: string;
  readonly cid: string;
  readonly request: InstanceRequest;
  diskCid: string | undefined;
}

type CompiledPackages = Readonly<Record<string, Json>>;

/**
 * Does what a director does for its VMs, in the same order and with the same arguments (bosh-director:
 * deployment_plan/steps, agent_client.rb). It keeps no database: a test or the demo says which step comes next.
 */
export class ScriptedDirector {
  readonly #options: ScriptedDirectorOptions;
  readonly vms: ScriptedVm[] = [];
  /** The agents of which the short-lived certificate is still in use. */
  readonly #bootstrapping = new Set<string>();
  #recordsVersion = 0;

  constructor(options: ScriptedDirectorOptions) {
    this.#options = options;
  }

  /** Creates a VM, waits for its agent, attaches its disk and gives it its lasting certificate. */
  async createVm(request: InstanceRequest): Promise<ScriptedVm> {
    const { server, dav } = this.#options;
    const agentId = randomUUID();
    const cert = certificateOf(await server.agentCertificate(agentId, 'bootstrap'));
    const group = `director-${request.deployment}-${request.group}`;
    const env = { bosh: { mbus: { cert }, blobstores: [dav.settings], ntp: [], group } };
    await this.#cpi('info');
    const created = await this.#cpi(
      'create_vm',
      ...[agentId, request.stemcellCid, request.vmProperties ?? {}, request.networks, [], env],
    );
    const [cid] = created as [string];
    const vm: ScriptedVm = { agentId, id: randomUUID(), cid, request, diskCid: undefined };
    this.vms.push(vm);
    await this.#cpi('set_vm_metadata', cid, {
      ...{ director: 'director', deployment: request.deployment, job: request.group },
      ...{ index: String(request.index), id: vm.id, name: `${request.group}/${vm.id}` },
    });
    this.#bootstrapping.add(agentId);
    // nats-sync sees the VM only now, so that the agent's first connections are refused
    await this.#syncUsers();
    await this.#step(`agent ${vm.cid} ping`, () => this.#options.bus.waitUntilReady(agentId));
    await this.#othersForget(vm);
    if (request.diskSize !== undefined) await this.#attachNewDisk(vm, request.diskSize);
    await this.updateSettings(vm);
    const { deployment, group: job, index } = request;
    await this.agent(vm, 'apply', {
      deployment,
      job: { name: job },
      index,
      id: vm.id,
      networks: request.networks,
    });
    await this.agent(vm, 'get_state');
    return vm;
  }

  /** Sends the lasting certificate, after which nats-sync removes the user of the short-lived one. */
  async updateSettings(vm: ScriptedVm): Promise<void> {
    const certificate = await this.#options.server.agentCertificate(vm.agentId, 'permanent');
    await this.agent(vm, 'update_settings', {
      ...{ trusted_certs: '', disk_associations: [], mbus: { cert: certificateOf(certificate) } },
      blobstores: [this.#options.dav.settings],
    });
    this.#bootstrapping.delete(vm.agentId);
    await this.#syncUsers();
  }

  /** Compiles the packages of a release on a VM, each after those that it needs. */
  async compile(vm: ScriptedVm, release: ReleaseOfJob): Promise<CompiledPackages> {
    const compiled: Record<string, Json> = {};
    for (const source of release.packages) {
      const blobId = randomUUID();
      this.#options.dav.add(blobId, await readFile(source.archivePath));
      const { name, fingerprint } = source;
      const dependencies = Object.fromEntries(source.dependencies.map((one) => [one, compiled[one]]));
      const value = await this.agent(
        vm,
        'compile_package',
        blobId,
        source.digest,
        name,
        fingerprint,
        dependencies,
      );
      const result = isObject(value) ? value['result'] : undefined;
      if (!isObject(result)) throw new Error(`compile_package of ${name} has no result`);
      compiled[name] = { name, version: fingerprint, ...result };
    }
    return compiled;
  }

  /** Renders the templates and updates the instance until its jobs run. */
  async update(
    vm: ScriptedVm,
    release: ReleaseOfJob,
    packages: CompiledPackages,
    properties: Json,
  ): Promise<void> {
    const { deployment, group, index, address } = vm.request;
    const templates = await release.render({ deployment, id: vm.id, address, properties });
    const blobId = randomUUID();
    const spec = {
      ...{ deployment, name: group, index, id: vm.id, az: 'z1', networks: vm.request.networks },
      job: {
        name: group,
        templates: [{ name: release.job.name, version: release.job.fingerprint, sha1: '', blobstore_id: '' }],
      },
      packages,
      configuration_hash: createHash('sha1').update(templates.archive).digest('hex'),
      rendered_templates_archive: { blobstore_id: blobId, sha1: templates.sha1 },
      persistent_disk: vm.request.diskSize ?? 0,
    };
    // without jobs, because the templates are not there yet (bosh-director: prepare_instance_step.rb)
    await this.agent(vm, 'prepare', { ...spec, job: {}, rendered_templates_archive: {} });
    await this.stop(vm);
    await this.#uploadTemplates(vm, blobId, templates);
    await this.agent(vm, 'apply', spec);
    await this.start(vm);
  }

  /** Runs the scripts and starts the jobs, and waits until they run. */
  async start(vm: ScriptedVm): Promise<void> {
    await this.agent(vm, 'run_script', 'pre-start', {});
    await this.agent(vm, 'start');
    await this.#step(`agent ${vm.cid} running`, async () => {
      for (let count = 0; count < 600; count += 1) {
        const state = await this.#options.bus.call(vm.agentId, 'get_state');
        if (isObject(state) && state['job_state'] === 'running') return;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      throw new Error(`the jobs of ${vm.cid} do not run`);
    });
    await this.agent(vm, 'run_script', 'post-start', {});
    await this.agent(vm, 'run_script', 'post-deploy', {});
  }

  async stop(vm: ScriptedVm): Promise<void> {
    await this.agent(vm, 'run_script', 'pre-stop', { env: {} });
    await this.agent(vm, 'drain', 'shutdown');
    await this.agent(vm, 'stop');
    await this.agent(vm, 'run_script', 'post-stop', {});
  }

  /** Sends the addresses of all VMs to all VMs. */
  async syncDns(): Promise<void> {
    this.#recordsVersion += 1;
    const records = this.vms.map(({ request, id }) => [
      request.address,
      `${id}.${request.group}.default.${request.deployment}.bosh`,
    ]);
    const blob = Buffer.from(JSON.stringify({ records, version: this.#recordsVersion }));
    const blobId = randomUUID();
    this.#options.dav.add(blobId, blob);
    const sha1 = createHash('sha1').update(blob).digest('hex');
    for (const vm of this.vms) await this.agent(vm, 'sync_dns', blobId, sha1, this.#recordsVersion);
  }

  /** Deletes a VM with its disk. */
  async deleteVm(vm: ScriptedVm): Promise<void> {
    await this.stop(vm);
    if (vm.diskCid !== undefined) {
      await this.agent(vm, 'unmount_disk', vm.diskCid);
      await this.agent(vm, 'remove_persistent_disk', vm.diskCid);
      await this.#cpi('detach_disk', vm.cid, vm.diskCid);
    }
    await this.#cpi('delete_vm', vm.cid);
    if (vm.diskCid !== undefined) await this.#cpi('delete_disk', vm.diskCid);
    this.vms.splice(this.vms.indexOf(vm), 1);
    await this.#syncUsers();
  }

  /** Calls a method of an agent and follows its task. Prints a line. */
  agent(vm: ScriptedVm, method: string, ...args: readonly unknown[]): Promise<unknown> {
    return this.#step(`agent ${vm.cid} ${method}`, () => this.#options.bus.call(vm.agentId, method, ...args));
  }

  async #attachNewDisk(vm: ScriptedVm, size: number): Promise<void> {
    const diskCid = String(await this.#cpi('create_disk', size, {}, vm.cid));
    vm.diskCid = diskCid;
    const hint = await this.#cpi('attach_disk', vm.cid, diskCid);
    await this.agent(vm, 'ping');
    await this.agent(vm, 'add_persistent_disk', diskCid, hint);
    await this.#cpi('set_disk_metadata', diskCid, {
      director: 'director',
      deployment: vm.request.deployment,
    });
    await this.agent(vm, 'ping');
    await this.agent(vm, 'mount_disk', diskCid);
  }

  #uploadTemplates(
    vm: ScriptedVm,
    blobId: string,
    { archive, sha1 }: { readonly archive: Buffer; readonly sha1: string },
  ): Promise<unknown> {
    // base64 with line breaks, as Ruby's Base64.encode64 writes it
    const payload = archive.toString('base64').replaceAll(/.{60}/gu, '$&\n');
    return this.agent(vm, 'upload_blob', { blob_id: blobId, checksum: sha1, payload });
  }

  async #othersForget(vm: ScriptedVm): Promise<void> {
    for (const other of this.vms) {
      if (other !== vm) await this.agent(other, 'delete_arp_entries', { ips: [vm.request.address] });
    }
  }

  async #syncUsers(): Promise<void> {
    await this.#options.server.admit(
      this.vms.map(({ agentId }) => ({
        id: agentId,
        kinds: this.#bootstrapping.has(agentId) ? ['bootstrap', 'permanent'] : ['permanent'],
      })),
    );
  }

  #cpi(method: string, ...args: readonly unknown[]): Promise<unknown> {
    return this.#step(`cpi ${method}`, () => this.#options.cpi(method, ...args));
  }

  async #step<T>(name: string, work: () => Promise<T>): Promise<T> {
    const begin = performance.now();
    const result = await work();
    this.#options.out(`${name} ${Math.round(performance.now() - begin)} ms`);
    return result;
  }
}

const certificateOf = ({ ca, certificate, privateKey }: BusCertificate): Json => ({
  ...{ ca, certificate, private_key: privateKey },
});
