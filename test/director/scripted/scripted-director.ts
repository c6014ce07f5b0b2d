import { createHash, randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { systemClock } from '../../../src/platform/clock.ts';
import type { BusCertificate } from '../../../src/agent/settings/settings.ts';
import type { NatsDirector } from '../../../src/agent/testing/nats-director.ts';
import type { TestNatsServer } from '../../../src/agent/testing/nats-server.ts';
import { until } from '../../support/until.ts';
import { type CompiledPackages, type DirectorBlobstore, type Json, keyOf } from './director-blobstore.ts';
import { dnsBlob } from './dns-blob.ts';
import type { ReleaseOfJob } from './release-of-job.ts';
import type { InstanceState, JobRequest, ScriptedDisk, ScriptedVm, VmRequest } from './scripted-vm.ts';

export interface ScriptedDirectorOptions {
  readonly server: TestNatsServer;
  readonly bus: NatsDirector;
  readonly blobstore: DirectorBlobstore;
  /** Calls one CPI method in a process of its own, and returns its result. */
  readonly cpi: (method: string, ...args: readonly unknown[]) => Promise<unknown>;
  readonly out: (line: string) => void;
}

/** What follows for an instance after its jobs are stopped. */
export type StopIntent = 'keep_vm' | 'delete_vm' | 'delete_instance' | 'delete_deployment';

/**
 * Does what a director does for its VMs, in the same order and with the same arguments (bosh-director:
 * deployment_plan/steps, instance_updater, stopper.rb, disk_manager.rb). It keeps no database: the caller
 * says which step comes next.
 */
export class ScriptedDirector {
  readonly #options: ScriptedDirectorOptions;
  readonly vms: ScriptedVm[] = [];
  /** The agents that still use their first certificate, which is short-lived. */
  readonly #withFirstCertificate = new Set<string>();
  #records: { readonly version: number; readonly blob: Buffer } = { version: 0, blob: Buffer.alloc(0) };

  constructor(options: ScriptedDirectorOptions) {
    this.#options = options;
  }

  /** Creates a VM, waits for its agent, attaches the instance's disk and sends the settings. */
  async createVm(
    request: VmRequest,
    { id, disk }: InstanceState = { id: randomUUID(), disk: undefined },
  ): Promise<ScriptedVm> {
    const { server, blobstore } = this.#options;
    const agentId = randomUUID();
    const cert = certificateOf(await server.agentCertificate(agentId, 'bootstrap'));
    const group = `director-${request.deployment}-${request.group}`;
    const env = { bosh: { mbus: { cert }, blobstores: blobstore.settings, ntp: [], group } };
    await this.cpi('info');
    const created = await this.cpi(
      'create_vm',
      ...[agentId, request.stemcellCid, request.vmProperties ?? {}, request.networks],
      ...[disk === undefined ? [] : [disk.cid], env],
    );
    const [cid] = created as [string];
    const spec = { deployment: request.deployment, job: { name: request.group }, index: request.index };
    const vm: ScriptedVm = { agentId, id, cid, request, disk, spec: { ...spec, id } };
    this.vms.push(vm);
    await this.cpi('set_vm_metadata', cid, {
      ...{ director: 'director', deployment: request.deployment, job: request.group },
      ...{ index: String(request.index), id, name: `${request.group}/${id}` },
    });
    this.#withFirstCertificate.add(agentId);
    // nats-sync sees the VM only now, so that the agent's first connections are refused
    await this.#syncUsers();
    await this.#step(`agent ${cid} ping`, () => this.#options.bus.waitUntilReady(agentId, 120_000));
    await this.#othersForget(vm);
    if (disk !== undefined) await this.attachDisk(vm, disk.cid);
    await this.updateSettings(vm);
    await this.agent(vm, 'apply', { ...vm.spec, networks: request.networks });
    await this.agent(vm, 'get_state');
    return vm;
  }

  /**
   * Sends the settings. The first time they contain the lasting certificate, and then nats-sync removes the
   * user of the short-lived one.
   */
  async updateSettings(vm: ScriptedVm): Promise<void> {
    const settings = { trusted_certs: '', disk_associations: [] };
    if (!this.#withFirstCertificate.has(vm.agentId) || vm.request.isCompilation === true) {
      await this.agent(vm, 'update_settings', settings);
      return;
    }
    const cert = certificateOf(await this.#options.server.agentCertificate(vm.agentId, 'permanent'));
    await this.agent(vm, 'update_settings', { ...settings, mbus: { cert } });
    this.#withFirstCertificate.delete(vm.agentId);
    await this.#syncUsers();
  }

  /** Compiles the packages of a release on a VM, each after those that it needs. */
  async compile(vm: ScriptedVm, release: ReleaseOfJob): Promise<CompiledPackages> {
    const { blobstore } = this.#options;
    const compiled: Record<string, Json> = {};
    for (const source of release.packages) {
      const { name, digest, dependencies } = source;
      const version = `${source.fingerprint}.1`;
      const blobId = blobstore.add(await readFile(source.archivePath));
      const needed = Object.fromEntries(dependencies.map((one) => [one, compiled[one] ?? {}]));
      if (blobstore.hasSignedUrls) {
        const compiledId = randomUUID();
        const answer = await this.agent(vm, 'compile_package_with_signed_url', {
          ...{ package_get_signed_url: blobstore.sign('GET', blobId), digest, name, version },
          upload_signed_url: blobstore.sign('PUT', compiledId),
          deps: blobstore.signedPackages(needed, 'package_get_signed_url'),
        });
        const sha1 = keyOf(keyOf(answer, 'result'), 'sha1');
        compiled[name] = { name, version, sha1, blobstore_id: compiledId };
      } else {
        const answer = await this.agent(vm, 'compile_package', blobId, digest, name, version, needed);
        const result = keyOf(answer, 'result');
        const [sha1, id] = [keyOf(result, 'sha1'), keyOf(result, 'blobstore_id')];
        compiled[name] = { name, version, sha1, blobstore_id: id };
      }
      blobstore.read(String(compiled[name]['blobstore_id']));
    }
    return compiled;
  }

  /** Updates an instance whose VM stays, until its jobs run. */
  async update(vm: ScriptedVm, job: JobRequest): Promise<void> {
    await this.prepare(vm, job);
    const isDiskChanged = vm.disk?.size !== job.diskSize;
    await this.stop(vm, 'keep_vm', isDiskChanged ? 'shutdown' : 'update');
    await this.changeDisk(vm, job);
    await this.updateSettings(vm);
    await this.applyJob(vm, job);
    await this.start(vm);
  }

  /** Sends what the next apply needs, while the previous jobs run. */
  async prepare(vm: ScriptedVm, job: JobRequest): Promise<void> {
    await this.agent(vm, 'prepare', await this.#specOf(vm, job));
  }

  /** Sends the records of all VMs, the templates and the spec. The jobs have stopped. */
  async applyJob(vm: ScriptedVm, job: JobRequest): Promise<void> {
    await this.syncDns();
    vm.spec = await this.#specOf(vm, job);
    await this.agent(vm, 'apply', vm.spec);
  }

  /** Runs the scripts and starts the jobs, and waits until they run. */
  async start(vm: ScriptedVm): Promise<void> {
    await this.agent(vm, 'run_script', 'pre-start', {});
    await this.agent(vm, 'start');
    await this.#untilRunning(vm);
    await this.agent(vm, 'run_script', 'post-start', {});
  }

  async stop(vm: ScriptedVm, intent: StopIntent, drain: 'update' | 'shutdown' = 'shutdown'): Promise<void> {
    await this.agent(vm, 'run_script', 'pre-stop', { env: nextStates(intent) });
    let seconds = Number(await this.agent(vm, 'drain', drain, vm.spec));
    while (seconds < 0) {
      await systemClock.sleep(-seconds * 1000);
      seconds = Number(await this.agent(vm, 'drain', 'status'));
    }
    await systemClock.sleep(seconds * 1000);
    await this.agent(vm, 'stop');
    await this.agent(vm, 'run_script', 'post-stop', {});
  }

  async jobState(vm: ScriptedVm): Promise<unknown> {
    return keyOf(await this.#options.bus.call(vm.agentId, 'get_state'), 'job_state');
  }

  /** Sends the addresses of all VMs to all VMs, if they have changed. */
  async syncDns(): Promise<void> {
    const { blobstore } = this.#options;
    const { version } = this.#records;
    if (dnsBlob(this.vms, version).equals(this.#records.blob)) return;
    const records = { version: version + 1, blob: dnsBlob(this.vms, version + 1) };
    this.#records = records;
    const blobId = blobstore.add(records.blob);
    const digest = `sha256:${createHash('sha256').update(records.blob).digest('hex')}`;
    const signedUrl = blobstore.sign('GET', blobId);
    for (const vm of this.vms) {
      if (blobstore.hasSignedUrls) {
        const request = { signed_url: signedUrl, multi_digest: digest, version: records.version };
        await this.agent(vm, 'sync_dns_with_signed_url', request);
      } else await this.agent(vm, 'sync_dns', blobId, digest, records.version);
    }
  }

  /** The blob of the last sync_dns. */
  get dnsBlob(): Buffer {
    return this.#records.blob;
  }

  /** What `bosh cloud-check` does for a VM that does not respond, if the operator chooses its reboot. */
  async reboot(vm: ScriptedVm): Promise<void> {
    await this.cpi('reboot_vm', vm.cid);
    await this.#step(`agent ${vm.cid} ping`, () => this.#options.bus.waitUntilReady(vm.agentId, 120_000));
    await this.#untilRunning(vm);
  }

  /** Deletes a VM. Its disk stays, also if it is mounted. */
  async deleteVm(vm: ScriptedVm): Promise<void> {
    await this.cpi('delete_vm', vm.cid);
    this.vms.splice(this.vms.indexOf(vm), 1);
    await this.#syncUsers();
  }

  /** Stops the jobs of an instance, and deletes its VM, its disk and its name. */
  async deleteInstance(vm: ScriptedVm, intent: StopIntent = 'delete_instance'): Promise<void> {
    await this.stop(vm, intent);
    await this.deleteVm(vm);
    if (vm.disk !== undefined) await this.cpi('delete_disk', vm.disk.cid);
    await this.syncDns();
  }

  /** Gives the instance a disk of the wanted size, with the content of its previous one. */
  async changeDisk(vm: ScriptedVm, { diskSize: size, diskProperties = {} }: JobRequest): Promise<void> {
    const { disk: previous } = vm;
    if (previous !== undefined) await this.#assertMounted(vm, previous);
    if (previous?.size === size) return;
    if (size !== undefined) {
      const cid = String(await this.cpi('create_disk', size, diskProperties, vm.cid));
      vm.disk = { cid, size };
      await this.attachDisk(vm, cid);
      if (previous !== undefined) await this.agent(vm, 'migrate_disk', previous.cid, cid);
    } else vm.disk = undefined;
    if (previous === undefined) return;
    await this.detachDisk(vm, previous.cid);
    await this.cpi('delete_disk', previous.cid);
  }

  /** Attaches a disk and mounts it. */
  async attachDisk(vm: ScriptedVm, diskCid: string): Promise<void> {
    const hint = await this.cpi('attach_disk', vm.cid, diskCid);
    await this.#step(`agent ${vm.cid} ping`, () => this.#options.bus.waitUntilReady(vm.agentId));
    await this.agent(vm, 'add_persistent_disk', diskCid, hint);
    const { deployment } = vm.request;
    await this.cpi('set_disk_metadata', diskCid, { director: 'director', deployment });
    await this.agent(vm, 'ping');
    await this.agent(vm, 'mount_disk', diskCid);
  }

  /** Unmounts a disk and detaches it. */
  async detachDisk(vm: ScriptedVm, diskCid: string): Promise<void> {
    const mounted = await this.agent(vm, 'list_disk');
    if (Array.isArray(mounted) && mounted.includes(diskCid)) await this.agent(vm, 'unmount_disk', diskCid);
    await this.agent(vm, 'remove_persistent_disk', diskCid);
    await this.cpi('detach_disk', vm.cid, diskCid);
  }

  /** Calls a method of an agent and follows its task. Prints a line. */
  agent(vm: ScriptedVm, method: string, ...args: readonly unknown[]): Promise<unknown> {
    const name = method === 'run_script' ? `${method} ${String(args[0])}` : method;
    return this.#step(`agent ${vm.cid} ${name}`, () => this.#options.bus.call(vm.agentId, method, ...args));
  }

  /** Calls a method of the CPI. Prints a line. */
  cpi(method: string, ...args: readonly unknown[]): Promise<unknown> {
    return this.#step(`cpi ${method}`, () => this.#options.cpi(method, ...args));
  }

  /** A director refuses to continue if the agent has mounted another disk than it knows. */
  async #assertMounted(vm: ScriptedVm, { cid }: ScriptedDisk): Promise<void> {
    const mounted = await this.agent(vm, 'list_disk');
    const first: unknown = Array.isArray(mounted) ? mounted[0] : undefined;
    if (first !== cid) throw new Error(`${vm.cid} has mounted disk ${String(first)} instead of ${cid}`);
  }

  /** Renders the templates and sends them to the agent. Returns the spec with them. */
  async #specOf(vm: ScriptedVm, job: JobRequest): Promise<Json> {
    const { deployment, group, index, address, networks } = vm.request;
    const { release, properties, packages, diskSize = 0 } = job;
    const { archive, sha1 } = await release.render({ deployment, id: vm.id, address, properties });
    const blobId = randomUUID();
    // base64 with line breaks, as Ruby's Base64.encode64 writes it
    const payload = archive.toString('base64').replaceAll(/.{60}/gu, '$&\n');
    await this.agent(vm, 'upload_blob', { blob_id: blobId, checksum: sha1, payload });
    const { name, fingerprint: version } = release.job;
    return {
      ...{ deployment, name: group, index, id: vm.id, az: 'z1', networks },
      job: { name: group, template: name, templates: [{ name, version, sha1: '', blobstore_id: '' }] },
      packages: this.#options.blobstore.signedPackages(packages, 'signed_url'),
      configuration_hash: createHash('sha1').update(archive).digest('hex'),
      rendered_templates_archive: { blobstore_id: blobId, sha1 },
      persistent_disk: diskSize,
    };
  }

  async #untilRunning(vm: ScriptedVm): Promise<void> {
    await this.#step(`agent ${vm.cid} running`, () =>
      until(`running jobs of ${vm.cid}`, async () => (await this.jobState(vm)) === 'running'),
    );
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
        kinds: this.#withFirstCertificate.has(agentId) ? ['bootstrap', 'permanent'] : ['permanent'],
      })),
    );
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

/** The environment of pre-stop scripts (stopper.rb). */
function nextStates(intent: StopIntent): Readonly<Record<string, string>> {
  const order: readonly StopIntent[] = ['keep_vm', 'delete_vm', 'delete_instance', 'delete_deployment'];
  const state = (from: StopIntent): string =>
    order.indexOf(intent) >= order.indexOf(from) ? 'delete' : 'keep';
  return {
    BOSH_VM_NEXT_STATE: state('delete_vm'),
    BOSH_INSTANCE_NEXT_STATE: state('delete_instance'),
    BOSH_DEPLOYMENT_NEXT_STATE: state('delete_deployment'),
  };
}
